"""``loopguard replay`` as a person and a script use it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.conftest import Cli


def lines(times: int = 5) -> list[str]:
    """The lines of a trace in which one call comes back with one answer."""
    told: list[dict[str, object]] = [
        {"trace": "t", "label": "loop", "loop_kind": "identical_call", "loop_at": 6}
    ]
    told.append({"kind": "user", "text": "go"})
    for n in range(times):
        told.append({"kind": "tool_call", "tool": "bash", "args": {"command": "make"}, "id": n})
        told.append({"kind": "tool_result", "tool": "bash", "id": n, "ok": True, "output": "nothing to do"})
    return [json.dumps(one) for one in told]


@pytest.fixture
def looped(project: Path) -> Path:
    path = project / "looped.jsonl"
    path.write_text("\n".join(lines()) + "\n")
    return path


@pytest.fixture
def damaged(project: Path) -> Path:
    path = project / "damaged.jsonl"
    told = lines()
    told[4] = '{"kind": "tool_call", "tool": '
    path.write_text("\n".join(told) + "\n")
    return path


def test_it_says_what_would_have_been_done_and_where(cli: Cli, looped: Path) -> None:
    done = cli("replay", str(looped))
    assert done.returncode == 0
    assert "repeat-call" in done.stdout
    assert "bash was called 3 times with the same arguments" in done.stdout
    assert done.stderr == ""


def test_json_is_one_object_a_line_with_the_promised_fields(cli: Cli, looped: Path) -> None:
    done = cli("replay", str(looped), "--json")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["event"] for one in found] == [5, 7, 9]
    first = found[0]
    assert (first["rule"], first["action"], first["events"]) == ("repeat-call", "block", [1, 3, 5])
    assert {"key", "explanation"} <= first.keys()
    assert "\x1b" not in done.stdout


def test_json_of_a_trace_without_loops_is_empty(cli: Cli, project: Path) -> None:
    path = project / "fine.jsonl"
    path.write_text("\n".join(lines(2)))
    done = cli("replay", str(path), "--json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("--set", "guard.calls.repeat_threshold=4"), 7),
        (("--preset", "infinity"), 5),
        (("--set", "guard.rules.repeat-call=off"), None),
        (("--set", "guard.mode=off"), None),
    ],
)
def test_what_if_other_settings_held(
    cli: Cli, looped: Path, words: tuple[str, ...], first: int | None
) -> None:
    done = cli("replay", str(looped), "--json", *words)
    assert done.returncode == 0
    found = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert next(iter(found), None) == first


def test_the_settings_of_the_folder_hold_unless_a_file_is_given(
    cli: Cli, looped: Path, project: Path
) -> None:
    (project / "loopguard.toml").write_text('[guard]\nmode = "off"\n')
    (project / "other.toml").write_text("[guard.calls]\nrepeat_threshold = 4\n")
    assert cli("replay", str(looped), "--json").stdout == ""
    done = cli("replay", str(looped), "--json", "--config", "other.toml")
    assert json.loads(done.stdout.splitlines()[0])["event"] == 7


def test_a_damaged_line_ends_it_with_one_line_that_names_file_and_line(cli: Cli, damaged: Path) -> None:
    done = cli("replay", str(damaged))
    assert done.returncode == 2
    assert f"{damaged}:5: " in done.stderr
    assert "--keep-going" in done.stderr
    assert "Traceback" not in done.stderr


def test_keep_going_reports_the_damaged_line_and_judges_the_rest(cli: Cli, damaged: Path) -> None:
    done = cli("replay", str(damaged), "--keep-going", "--json")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "damaged.jsonl:5: " in done.stderr
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == [7, 9]


def test_a_pipe_is_refused_and_not_half_read(cli: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    done = cli("replay", str(tmp_path / "pipe.jsonl"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "pipe.jsonl: not a regular file (write it into a file first)" in done.stderr
    assert ": is a directory (" in cli("replay", str(tmp_path)).stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "no such file"),
        (b"", ":1: "),
        (b"\x89PNG\r\n\x1a\n", ":1: "),
        (b'{"unrelated": 1}\n', "neither a recording nor a trace"),
        (b'{"format": "loopguard-record", "version": 99}\n', "version 99"),
    ],
)
def test_what_is_no_trace_is_refused(cli: Cli, project: Path, content: bytes | None, says: str) -> None:
    path = project / "odd.jsonl"
    if content is not None:
        path.write_bytes(content)
    done = cli("replay", str(path))
    assert done.returncode == 2
    assert says in done.stderr
    assert "odd.jsonl" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_setting_is_refused_with_the_nearest_known_one(cli: Cli, looped: Path) -> None:
    done = cli("replay", str(looped), "--set", "guard.calls.repeat_treshold=4")
    assert done.returncode == 2
    assert "repeat_threshold" in done.stderr
