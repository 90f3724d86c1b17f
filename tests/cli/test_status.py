from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.cli.looking import ENDED, GOAL, GOAL_WENT_ON, LOOPED, STARTED, live_run, record

from loopguard_cli.cli import look
from loopguard_cli.cli.commands import status
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import Fault
from loopguard_cli.errors import StoreError
from loopguard_cli.goal.records import Kind, Set, Stopped, pack

LIVE = {
    "guard.status": {
        "connected": True, "agent": "opencode", "agent_version": "1.18.33", "mode": "observe",
        "preset": "pi", "unparsed": 0, "cap_reached": "", "totals": {"calls": 4},
        "sessions": [
            {"session": "ses_1", "parent": "", "status": "busy", "agent": "build", "model": "m",
             "calls": 40, "turns": 2, "tokens": 0, "cost": 0.0, "blocks": 3, "aborts": 1, "nudges": 0,
             "continuations": 1, "recovery": "none", "stopped": False, "muted": False},
            {"session": "ses_2", "parent": "ses_1", "status": "idle", "recovery": "verifying", "later": 1},
        ],
    }
}  # fmt: skip


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    status.command()
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], **options: Any) -> Any:
    status.command(as_json=True, **options)
    return json.loads(capsys.readouterr().out)


def test_without_any_run_it_says_how_to_start_one(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "start one with 'loopguard run -- opencode'" in shown(capsys)
    assert not (project / ".loopguard").exists()
    found = as_json(capsys)
    assert (found["runs"], found["last_run"], found["goals"], found["damage"]) == ([], None, [], [])


def test_after_the_end_it_tells_about_the_last_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, STARTED, run="older", at=10.0)
    record(project, *LOOPED, ENDED)
    text = shown(capsys)
    assert "Run aaaa1111  opencode 1.18.33" in text
    assert "exit status 80" in text
    assert "looped again" in text
    assert "mode observe" in text
    assert "loops found: prose-block 1, repeat-call 1" in text
    run = as_json(capsys)["last_run"]
    session = run["sessions"][0]
    assert (run["live"], run["code"], run["ended"], run["connected"]) == (False, 80, 1016.0, True)
    assert run["loops"] == {"repeat-call": 1, "prose-block": 1}
    assert {k: session[k] for k in ("calls", "blocks", "aborts", "continuations", "turns", "tokens")} == {
        "calls": 4, "blocks": 1, "aborts": 1, "continuations": 1, "turns": 1, "tokens": 12_345,
    }  # fmt: skip


def test_a_killed_run_is_told_from_one_that_ended(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, *LOOPED)
    assert "killed, last heard of" in shown(capsys)
    run = as_json(capsys)["last_run"]
    assert (run["ended"], run["code"], run["last"]) == (None, None, 1015.0)


def test_of_a_live_run_it_tells_the_present(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, *LOOPED, ENDED, run="bbbb2222")
    with live_run(project, "aaaa1111", LIVE):
        text = shown(capsys)
        found = as_json(capsys)
    assert "Run aaaa1111  opencode 1.18.33  running" in text
    assert "bbbb2222" not in text
    assert "mode observe, preset pi" in text
    assert "↳ ses_2" in text
    assert "recovering (verifying)" in text
    assert found["runs"][0]["sessions"][0]["calls"] == 40
    assert found["runs"][0]["live"]
    assert found["last_run"]["run"] == "bbbb2222"


def test_an_unguarded_agent_is_pointed_out(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = {"guard.status": {**LIVE["guard.status"], "connected": False}}
    with live_run(project, "aaaa1111", answer):
        assert "the agent is not guarded" in shown(capsys)


def test_a_run_that_does_not_answer_is_shown_from_the_ledger(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look, "ANSWER_WITHIN_S", 0.01)
    record(project, *LOOPED)
    with live_run(project, "aaaa1111", None):
        assert "does not answer" in shown(capsys)
        run = as_json(capsys)["runs"][0]
    assert (run["live"], run["answers"]) == (True, False)
    assert run["sessions"][0]["calls"] == 4


@pytest.mark.usefixtures("project")
def test_runs_of_other_folders_are_shown_on_request_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with live_run(tmp_path / "elsewhere", "aaaa1111", LIVE):
        assert as_json(capsys)["runs"] == []
        assert [run["run"] for run in as_json(capsys, everywhere=True)["runs"]] == ["aaaa1111"]


def test_goals_are_summed_up(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = SessionId("ses_1")
    second = pack(session, "g2", Kind.SET, Set(at=1000.0, objective="publish"))
    stopped = pack(session, "g2", Kind.BLOCKED, Stopped(at=1060.0, blocker="no key for the registry"))
    record(project, GOAL, GOAL_WENT_ON, second, stopped)
    text = shown(capsys)
    assert "waits for the next run" in text
    assert "1 / 7" in text
    assert "blocked (no key for the registry)" in text
    waiting, blocked = as_json(capsys)["goals"]
    assert (waiting["objective"], waiting["state"], waiting["focused"]) == ("fix the tests", "active", True)
    # Nobody drives it, so its clock stands still since the newest record.
    assert waiting["seconds"] == 30.0
    assert (blocked["state"], blocked["session"], blocked["stop_reason"]) == ("blocked", "ses_1", "blocked")


def test_a_goal_that_a_run_drives_is_shown_as_the_run_has_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = SessionId("ses_1")
    record(project, pack(session, "g1", Kind.SET, Set(at=1000.0, objective="publish")))
    told = {
        "id": "g1", "state": "stopped", "stop_reason": "max_turns", "turns": {"used": 9, "limit": 10},
        "seconds": {"used": 61.5, "limit": 900}, "total_tokens": {"used": 7000, "limit": 0},
    }  # fmt: skip
    with live_run(project, "aaaa1111", {**LIVE, "goal.command": told}) as asked:
        (goal,) = as_json(capsys)["goals"]
    assert asked == ["guard.status", "goal.command"]
    assert (goal["state"], goal["turns"], goal["seconds"], goal["tokens"]) == ("stopped", 9, 61.5, 7000)


def test_a_run_is_not_asked_about_goals_of_sessions_it_does_not_have(project: Path) -> None:
    record(project, pack(SessionId("other"), "g1", Kind.SET, Set(at=1000.0, objective="publish")))
    with live_run(project, "aaaa1111", LIVE) as asked:
        assert [goal.turns for goal in look.look().goals] == [0]
    assert asked == ["guard.status"]


def test_damage_is_reported_with_its_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, *LOOPED)
    with (project / ".loopguard" / "ledger.jsonl").open("ab") as file:
        file.write(b"garbage\n")
    assert "ledger.jsonl:18: foreign" in shown(capsys)
    assert as_json(capsys)["damage"] == [
        {"file": "ledger.jsonl", "line": 18, "reason": "foreign", "detail": ""}
    ]


def test_our_own_faults_are_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, *LOOPED, Fault(component="detectors", error="KeyError"))
    assert "1 part of loopguard failed" in shown(capsys)


def test_nothing_recorded_can_control_the_terminal(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, pack(SessionId("s\x1b[2J"), "g", Kind.SET, Set(objective="a\x1b]0;x\x07\nb")))
    text = shown(capsys)
    assert "\x1b" not in text
    assert "\x07" not in text


def test_a_linked_state_folder_is_refused(project: Path, tmp_path: Path) -> None:
    (project / ".loopguard").symlink_to(tmp_path)
    with pytest.raises(StoreError, match="symbolic link"):
        status.command()


def test_as_a_command(cli: Cli, project: Path) -> None:
    record(project, *LOOPED, ENDED)
    done = cli("status")
    assert done.returncode == 0
    assert "Run aaaa1111" in done.stdout
    assert "\x1b" not in done.stdout
    assert json.loads(cli("status", "--json").stdout)["last_run"]["code"] == 80
    (project / ".loopguard").rename(project / "moved")
    (project / ".loopguard").symlink_to(project / "moved")
    failed = cli("status")
    assert failed.returncode == 125
    assert failed.stderr.count("\n") == 1
