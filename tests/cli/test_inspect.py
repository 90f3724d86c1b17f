from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.cli.looking import ENDED, LOOPED, STARTED, call, live_run, record

from loopguard_cli.cli import live
from loopguard_cli.cli.commands import inspect

LIVE = {
    "guard.inspect": {
        "calls": [
            {"session": "ses_1", "tool": "bash", "key": "k" * 32, "count": 3, "blocked": True,
             "last_seen": 5.0, "ok": None, "outcome": "", "age": 2.0},
            {"session": "ses_2", "tool": "read", "key": "q" * 32, "count": 1, "blocked": False,
             "last_seen": 1.0, "ok": True, "outcome": "o", "age": 90.0},
        ]
    }
}  # fmt: skip


def shown(capsys: pytest.CaptureFixture[str], **options: Any) -> str:
    inspect.command(**options)
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], **options: Any) -> Any:
    return json.loads(shown(capsys, as_json=True, **options))


def test_after_the_end_calls_come_from_the_ledger(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, *LOOPED, ENDED)
    text = shown(capsys)
    assert text.startswith("Run aaaa1111 (over)\n")
    rows = [line.split()[3:] for line in text.splitlines()[2:]]
    assert rows == [
        ["bash", "deadbeef", "3", "error,", "blocked", "now"],
        ["read", "feedface", "1", "no", "answer", "yet"],
    ]
    found = as_json(capsys)
    assert (found["run"], found["live"]) == ("aaaa1111", False)
    assert found["calls"][0] == {
        "session": "ses_1", "tool": "bash", "key": "deadbeef" * 4, "count": 3, "blocked": True,
        "last_seen": 1007.0, "ok": False, "outcome": "o2",
    }  # fmt: skip


def test_the_newest_run_is_meant_unless_another_is_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(project, STARTED, call(1), run="aaaa1111")
    record(project, STARTED, run="bbbb2222", at=2000.0)
    assert as_json(capsys)["run"] == "bbbb2222"
    assert as_json(capsys, run="aa")["calls"][0]["count"] == 1
    assert "no calls yet" in shown(capsys)


def test_a_live_run_is_asked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, *LOOPED, run="older")
    with live_run(project, "aaaa1111", LIVE) as asked:
        text = shown(capsys)
        found = as_json(capsys)
        one = as_json(capsys, session="ses_2")
        newest = as_json(capsys, limit=1)
    assert asked == ["guard.inspect"] * 4
    assert "Run aaaa1111 (live)" in text
    assert [call["tool"] for call in found["calls"]] == ["read", "bash"]
    assert [call["tool"] for call in one["calls"]] == ["read"]
    assert [call["tool"] for call in newest["calls"]] == ["bash"]
    assert "ses_2" in text


def test_without_any_run_it_says_so(project: Path) -> None:
    with pytest.raises(live.NoLiveRun, match=f"no run in {project}"):
        inspect.command()
    with pytest.raises(live.NoLiveRun, match="no run 'zz'"):
        inspect.command(run="zz")


def test_as_a_command(cli: Cli, project: Path) -> None:
    failed = cli("inspect")
    assert failed.returncode == 1
    assert "start one with" in failed.stderr
    record(project, *LOOPED, ENDED)
    done = cli("inspect", "--json")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["calls"]) == 2
