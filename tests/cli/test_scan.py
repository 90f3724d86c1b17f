from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from tests.bench.synthetic import histories
from tests.cli.conftest import Cli
from tests.history import places
from tests.history.stories import Story

from loopguard_cli.cli.commands import report, scan
from loopguard_cli.errors import InputError, UsageError
from loopguard_cli.study.scan import IN_PROCESS_BYTES

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture(autouse=True)
def home() -> Path:
    """Pi's sessions of two projects on this machine: one looped, one did not."""
    place = Path.home() / ".pi" / "agent" / "sessions"
    story = Story(place / "a" / "looped.jsonl", folder="/home/dev/shop").person("do it")
    for _ in range(5):
        story.calls("bash", "the secret answer", command="the secret command", tokens=1_000)
    story.says("done").write()
    Story(place / "b" / "fine.jsonl", folder="/home/dev/other").person("hi").says("hello").write()
    return Path.home()


def test_what_a_guard_would_have_saved(capsys: pytest.CaptureFixture[str]) -> None:
    assert scan.command() == 0
    said = capsys.readouterr().out
    assert "2 sessions (pi 2) with 5 tool calls and 5,200 tokens" in said
    assert "would have stopped 1 loop in 1 session." in said
    assert "at least 3 calls, 3,000 tokens, $3.00, 6 s" in said
    assert "bash was called 5 times with the same arguments within 60 s." in said
    assert "~/.pi/agent/sessions/a/looped.jsonl event" in said
    assert "secret" not in said


def test_show_prints_a_piece(capsys: pytest.CaptureFixture[str]) -> None:
    scan.command(show=True)
    assert 'bash {"command":"the secret command"}' in capsys.readouterr().out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    scan.command(as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "loopguard.scan/1"
    assert found["finished"] is True
    assert found["saved"]["calls"] == 3
    assert found["largest"][0]["loop"]["time"].endswith("Z")
    assert "secret" not in json.dumps(found)


def test_filters(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scan.command(project=Path("/home/dev/other"))
    assert "1 session (pi 1)" in capsys.readouterr().out
    scan.command(agents=["codex"])
    assert "No sessions were found" in capsys.readouterr().out
    scan.command(since="2099-01-01")
    assert "No sessions were found" in capsys.readouterr().out
    scan.command(paths=[home / ".pi" / "agent" / "sessions" / "b"])
    assert "No loops found" in capsys.readouterr().out


def test_where_nothing_was_found_it_says_where_it_looked(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scan.command(agents=["codex"])
    said = capsys.readouterr().out
    assert "where OpenCode, Claude Code, Codex, Gemini CLI, pi keep theirs" in said
    assert "Widen --since, --agent or --project, or name a file or folder." in said
    notes = project / "notes.jsonl"
    notes.write_text('{"text": "no session"}\n')
    scan.command(paths=[notes])
    said = capsys.readouterr().out
    assert f"No sessions were found in {notes}" in said
    assert "--since" not in said


def test_a_loop_in_a_database_is_named_as_the_report_takes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = places.database(tmp_path / "opencode.db")
    scan.command(paths=[path])
    found = re.search(r"^    (\S+opencode\.db#ses_\w+) event \d+$", capsys.readouterr().out, re.MULTILINE)
    assert found is not None
    report.command(found[1], output="-")
    assert "repeat-call" in capsys.readouterr().out


def test_a_folder_is_known_by_a_link_to_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    Story(Path.home() / ".pi/agent/sessions/c/here.jsonl", folder=str(real)).person("hi").says("ho").write()
    scan.command(project=tmp_path / "link")
    assert "1 session (pi 1)" in capsys.readouterr().out


def test_cents_are_not_said_to_be_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story = Story(home / ".pi/agent/sessions/a/looped.jsonl").person("do it")
    for _ in range(5):
        story.calls("bash", "same", command="ls", tokens=1)
    story.says("done").write()
    scan.command()
    assert "at least 3 calls, 3 tokens, <$0.01, 6 s" in capsys.readouterr().out


def test_what_is_shown_does_not_command_the_terminal(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story = Story(home / ".pi/agent/sessions/a/looped.jsonl").person("do it")
    story.says("\x1b]0;title\x07 I look at it \x1b[2J again. " * 60).write()
    scan.command(show=True)
    said = capsys.readouterr().out
    assert "I look at it" in said
    assert "\x1b" not in said


def test_what_if(capsys: pytest.CaptureFixture[str]) -> None:
    loose = [
        "guard.calls.repeat_threshold=9",
        "guard.calls.consecutive_threshold=9",
        "guard.calls.frequency_threshold=9",
    ]
    scan.command(assignments=loose)
    assert "No loops found" in capsys.readouterr().out


def test_a_guard_that_only_observes_is_still_judged_as_if_it_acted(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "loopguard.toml").write_text('[guard]\nmode = "observe"\n')
    scan.command()
    assert "would have stopped 1 loop" in capsys.readouterr().out


def test_an_interrupted_scan_says_what_it_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from loopguard_cli.study import scan as scanning

    done = []

    def study(*args: object, **more: object) -> object:
        if done:
            raise KeyboardInterrupt
        done.append(1)
        return real(*args, **more)  # type: ignore[arg-type]

    real = scanning.study
    monkeypatch.setattr(scanning, "study", study)
    assert scan.command() == 130
    said = capsys.readouterr().out
    assert said.startswith("Interrupted")
    assert "1 session (pi 1)" in said


def test_interrupted_before_anything_was_read_it_says_no_more_than_that(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from loopguard_cli.study import scan as scanning

    def study(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(scanning, "study", study)
    assert scan.command() == 130
    assert capsys.readouterr().out == "Interrupted: nothing was read yet.\n"


@pytest.mark.slow
@pytest.mark.parametrize("beginning", [True, False], ids=["as workers start", "as they work"])
def test_interrupting_workers_is_quiet_and_prints_what_was_found(tmp_path: Path, beginning: bool) -> None:
    """^C reaches the whole process group, also workers that are just starting."""
    histories.write(tmp_path, 4 * IN_PROCESS_BYTES)
    with subprocess.Popen(
        [sys.executable, "-m", "loopguard_cli", "scan", "--json"], cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        command, tick = psutil.Process(process.pid), threading.Event()
        while process.poll() is None and not _at_work(command, beginning=beginning):
            tick.wait(0.005)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert json.loads(out)["finished"] is False


@pytest.mark.slow
def test_a_reader_that_hangs_does_not_keep_an_interrupted_scan(tmp_path: Path) -> None:
    """As where a history lies in a network folder that is gone."""
    histories.write(tmp_path, 2 * IN_PROCESS_BYTES)
    stuck = Story(tmp_path / ".pi" / "agent" / "sessions" / "c" / "stuck.jsonl").person("hi").write()
    (tmp_path / "sitecustomize.py").write_text(HANGS)
    with subprocess.Popen(
        [sys.executable, "-m", "loopguard_cli", "scan"], cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)},
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        tick = threading.Event()
        while process.poll() is None and not (tmp_path / "hangs").exists():
            tick.wait(0.01)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert out.startswith("Interrupted")
    assert f"~/{stuck.relative_to(tmp_path)}: reading it did not come to an end" in out


HANGS = """
import threading
from pathlib import Path

from loopguard_cli.history import lines

opened = lines.opened


def hangs(path):
    if path.name == "stuck.jsonl":
        Path(__file__).with_name("hangs").touch()
        threading.Event().wait()
    return opened(path)


lines.opened = hangs
"""


def _at_work(command: psutil.Process, *, beginning: bool) -> bool:
    """Its workers are there, and, but at the beginning, have done something."""
    workers = command.children()
    return bool(workers) and (beginning or sum(one.cpu_times().user for one in workers) > 0.8)


def test_mistakes_are_named(project: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        scan.command(paths=[project / "nothing"])
    with pytest.raises(UsageError, match=r"unknown agent 'klaude'.*did you mean 'claude'"):
        scan.command(agents=["klaude"])
    with pytest.raises(UsageError, match="--since"):
        scan.command(since="yesterday")


def test_damage_is_counted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (home / ".pi/agent/sessions/b/fine.jsonl").open("ab") as file:
        file.write(b'{"type":"mess')
    scan.command()
    assert "Not read: 1 damaged record." in capsys.readouterr().out


def test_as_a_program(cli: Cli) -> None:
    done = cli("scan", "--top", "1")
    assert done.returncode == 0
    assert "would have stopped 1 loop" in done.stdout
    assert done.stderr == ""
