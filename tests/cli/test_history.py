from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.cli.looking import ENDED, GOAL, LOOPED, STARTED, call, record

from loopguard_cli.cli.commands import history
from loopguard_cli.errors import UsageError
from loopguard_cli.store.ledger import Ledger


def lines(capsys: pytest.CaptureFixture[str], **options: Any) -> list[str]:
    history.command(**options)
    return capsys.readouterr().out.splitlines()


def objects(capsys: pytest.CaptureFixture[str], **options: Any) -> list[dict[str, Any]]:
    return [json.loads(text) for text in lines(capsys, as_json=True, **options)]


def test_loops_and_what_was_done_are_told_in_order(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, *LOOPED, ENDED)
    texts = [text.split("  ", 2)[2] for text in lines(capsys)]
    assert texts == [
        "run of opencode started, mode on, preset balanced",
        "opencode 1.18.33 is guarded",
        "ses_1  message from a person",
        "ses_1  repeat-call -> block: bash was called 3 times with the same arguments within 60 s",
        "ses_1  prose-block -> abort: The same passage was written 3 times in a row (sentences: 1)",
        "ses_1  turn cut off: prose-block",
        "ses_1  told to go on",
        "guard.mode observe (cli)",
        "run ended with status 80: looped again",
    ]


def test_all_includes_single_calls_and_turns(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, *LOOPED)
    texts = [text.split("  ", 2)[2] for text in lines(capsys, everything=True)]
    assert "ses_1  bash deadbeef call 2" in texts
    assert "ses_1  bash deadbeef failed after 1 min 10 s" in texts
    assert "ses_1  bash deadbeef call 3 refused" in texts
    assert "ses_1  turn ended: 3 calls, 12,345 tokens, $0.25" in texts
    assert "ses_1  agent confirmed idle" in texts


def test_json_is_one_object_a_line_with_the_ledgers_names(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(project, *LOOPED)
    found = [item for item in objects(capsys) if item["type"] == "loop"]
    assert found[0] == {
        "seq": 10, "time": 1008.0, "run": "aaaa1111", "type": "loop", "session": "ses_1",
        "rule": "repeat-call", "verdict": "block", "key": "deadbeef" * 4, "tool": "bash", "count": 3,
        "facts": {"window_seconds": 60.0},
    }  # fmt: skip


def test_runs_sessions_times_and_numbers_narrow_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, STARTED, call(1, "block"), run="aaaa1111", at=1000.0)
    record(project, STARTED, GOAL, run="bbbb2222", at=time.time() - 100)
    assert {item["run"] for item in objects(capsys, run="bb")} == {"bbbb2222"}
    assert {item["run"] for item in objects(capsys, since="10m")} == {"bbbb2222"}
    assert objects(capsys, since="1s") == []
    assert [item["type"] for item in objects(capsys, session="ses_1", everything=True)] == ["call"]
    assert [item["type"] for item in objects(capsys, limit=1)] == ["goal"]
    assert len(objects(capsys, limit=0)) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", 910.0),
        ("10m", 400.0),
        ("1.5 h", -4400.0),
        ("2d", 1000.0 - 172_800),
        ("2026-08-02T14:00", datetime.fromisoformat("2026-08-02T14:00").astimezone().timestamp()),
        ("2026-08-02 14:00+00:00", 1785679200.0),
    ],
)
def test_since_takes_spans_and_moments(text: str, expected: float) -> None:
    assert history.moment(text, 1000.0) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "10", "-5m", "10m later", "2026-99-99", "1e9d", "9" * 400])
def test_since_says_what_it_takes(text: str) -> None:
    with pytest.raises(UsageError, match="say 90s, 10m"):
        history.moment(text, 1000.0)


def test_what_a_new_file_restates_is_not_told_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Ledger.open(project / ".loopguard", run="r", max_bytes=3000) as ledger:
        ledger.append(STARTED)
        ledger.append(GOAL)
        for number in range(40):
            ledger.append(call(number))
    kinds = [item["type"] for item in objects(capsys, everything=True)]
    assert kinds == ["run.started", "goal", *["call"] * 40]


def test_damage_is_mentioned_beside_the_history(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, *LOOPED)
    with (project / ".loopguard" / "ledger.jsonl").open("ab") as file:
        file.write(b"garbage\nmore\n")
    history.command()
    captured = capsys.readouterr()
    assert "skipped 2 damaged lines" in captured.err
    assert "garbage" not in captured.out


def test_without_a_ledger_there_is_no_history_and_no_error(cli: Cli) -> None:
    done = cli("history")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_bad_time_is_a_usage_error(cli: Cli) -> None:
    done = cli("history", "--since", "soon")
    assert done.returncode == 2
    assert "--since 'soon' is no time" in done.stderr


def test_following_shows_what_comes(project: Path) -> None:
    record(project, STARTED)
    process = subprocess.Popen(
        [sys.executable, "-m", "loopguard_cli", "history", "-f", "--json"],
        stdout=subprocess.PIPE, text=True, cwd=project, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        assert json.loads(process.stdout.readline())["type"] == "run.started"
        record(project, call(1), GOAL, run="bbbb2222")
        followed = json.loads(process.stdout.readline())
        assert (followed["run"], followed["type"]) == ("bbbb2222", "goal")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("words", [("history", "--all"), ("history", "--json"), ("status",), ("--help",)])
def test_a_reader_that_has_seen_enough_ends_it_quietly(project: Path, words: tuple[str, ...]) -> None:
    record(project, *LOOPED * 50)
    closed, output = os.pipe()
    os.close(closed)
    done = subprocess.run(
        [sys.executable, "-m", "loopguard_cli", *words],
        cwd=project, stdout=output, stderr=subprocess.PIPE, timeout=30, check=False,
    )  # fmt: skip
    os.close(output)
    assert (done.returncode, done.stderr) == (141, b"")
