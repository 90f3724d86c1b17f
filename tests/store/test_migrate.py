from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from loopguard_cli.core.ids import SessionId
from loopguard_cli.errors import InputError
from loopguard_cli.goal.model import Mode, StopReason
from loopguard_cli.goal.records import Kind, Set, pack
from loopguard_cli.store.goals import stored_goals
from loopguard_cli.store.lease import Leases
from loopguard_cli.store.ledger import Ledger
from loopguard_cli.store.migrate import find, read, state_files, write
from loopguard_cli.store.plugin_state import Fields, goal_of

START = 1_790_000_000_000
"""Milliseconds, as the plugin counts."""

GOAL = {
    "sessionID": "s1", "goalId": "g1", "runId": "r1", "condition": "rotate the certificates",
    "successCriteria": "all green", "constraints": "no downtime", "mode": "sisyphus", "turnCount": 3,
    "startedAt": START, "pausedAt": START + 60_000, "totalTokens": 5000,
    "usage": {"input": 10, "output": 20, "cacheRead": 5, "cost": 0.5, "costKnown": True},
    "options": {"maxTurns": 7, "maxDurationMs": 120_000, "noToolCallTurnsBeforePause": 0, "maxTokens": "x"},
    "executionContext": {"agent": "build", "model": {"providerID": "p", "modelID": "m"}, "variant": "v"},
    "stopped": True, "stopReason": "max turns reached (7)", "lastStatus": "limit", "focused": True,
    "history": [{"type": "set", "detail": "begun", "timestamp": START}],
    "checkpoints": [{"summary": "half way", "timestamp": START + 1000}, {"summary": ""}, 7],
    "lastAssistantText": "x" * 10_000, "messageIDs": ["m1"],
}  # fmt: skip
RESULT = {
    "sessionID": "s1", "condition": "done before", "state": "achieved", "evidence": "tests pass",
    "turnCount": 2, "startedAt": START - 10_000, "finishedAt": START - 1000,
}  # fmt: skip


def state(**parts: Any) -> dict[str, Any]:
    return {"version": 1, "goals": [], "results": [], "archives": [], "orderedSessions": [], **parts}


def save(project: Path, content: Any, *, shard: str = "") -> Path:
    place = project / ".opencode" / "goals" / "state.json"
    if shard:
        place = place.with_name("state.json.sessions") / shard / "state.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content if isinstance(content, str) else json.dumps(content))
    return place


def test_a_goal_arrives_with_all_that_matters(tmp_path: Path) -> None:
    found = read(save(tmp_path, state(goals=[GOAL], results=[RESULT], orderedSessions=["s1", "other"])))
    book = found.books[SessionId("s1")]
    (goal,) = book.goals
    assert (book.focus, book.ordered) == ("g1", True)
    assert (goal.objective, goal.success, goal.constraints, goal.mode) == (
        "rotate the certificates", "all green", "no downtime", Mode.ORDERED,
    )  # fmt: skip
    assert (goal.stop, goal.turns, goal.elapsed) == (StopReason.MAX_TURNS, 3, 60.0)
    assert (goal.limits.turns, goal.limits.seconds, goal.limits.talk_turns) == (7, 120.0, 0)
    assert goal.limits.context_tokens == 200_000
    assert (goal.context.agent, goal.context.model, goal.context.variant) == ("build", "p/m", "v")
    assert (goal.meters.usage.total, goal.meters.usage.cost) == (35, 0.5)
    assert [(e.kind, e.at) for e in goal.history] == [("set", START / 1000)]
    assert [c.text for c in goal.checkpoints] == ["half way"]
    assert [(r.objective, r.evidence, r.elapsed) for r in book.archive] == [
        ("done before", "tests pass", 9.0)
    ]
    assert book.last_result == book.archive[-1]


@pytest.mark.parametrize(
    ("stopped", "said", "expected"),
    [
        (False, "", StopReason.RECOVERED),
        (True, "", StopReason.RECOVERED),
        (True, "something new", StopReason.RECOVERED),
        (True, "blocked", StopReason.BLOCKED),
        (True, "paused", StopReason.USER_PAUSED),
        (True, "queued", StopReason.QUEUED),
        (True, "recovered after restart", StopReason.RECOVERED),
    ],
)
def test_everything_arrives_stopped_and_known_reasons_stay(
    stopped: bool, said: str, expected: StopReason
) -> None:
    raw = {**GOAL, "stopped": stopped, "stopReason": said, "blockedReason": "no key"}
    goal = goal_of(Fields(raw))
    assert goal is not None
    assert goal.stop is expected
    assert goal.blocker == ("no key" if said == "blocked" else "")


def test_bad_entries_are_left_out_and_counted(tmp_path: Path) -> None:
    bad: list[Any] = [
        {"sessionID": "", "condition": "no session"},
        {"sessionID": "s1", "condition": ""},
        {"sessionID": "s1", "condition": "x" * 4001},
        {"sessionID": "s1", "condition": 7},
        {**GOAL, "constraints": "x" * 2001},
        None,
        [],
    ]
    good = {"sessionID": "s1", "condition": "good goal", "options": {"maxTurns": 7}}
    found = read(save(tmp_path, state(goals=[good, *bad], results=[{"sessionID": "s1"}, 3])))
    (goal,) = found.books[SessionId("s1")].goals
    assert (goal.objective, goal.limits.turns) == ("good goal", 7)
    assert found.skipped == len(bad) + 2


@pytest.mark.parametrize("value", [-1, "7", None, True, [], {}, 1e400, float("nan")])
def test_values_of_another_kind_have_no_effect(value: Any) -> None:
    raw = {**GOAL, "turnCount": value, "startedAt": value, "options": {"maxTurns": value}, "usage": value}
    goal = goal_of(Fields(raw))
    assert goal is not None
    assert (goal.turns, goal.created, goal.limits.turns) == (0, 0.0, 10)


def test_what_the_plugins_ledger_knows_to_be_over_is_not_brought_back(tmp_path: Path) -> None:
    place = save(tmp_path, state(goals=[GOAL, {**GOAL, "goalId": "g2"}, {**GOAL, "goalId": "g3"}]))
    events = [
        {"ts": START, "sessionID": "s1", "goalId": "g1", "type": "completed"},
        {"ts": START, "sessionID": "s1", "goalId": "g2", "type": "blocked"},
        {"ts": START, "sessionID": "other", "goalId": "g2", "type": "cleared"},
    ]
    text = "garbage\n" + "".join(json.dumps(event) + "\n" for event in events)
    place.with_name("state.json.ledger.jsonl").write_text(text)
    assert [goal.id for goal in read(place).books[SessionId("s1")].goals] == ["g2", "g3"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no state file"),
        ('{"version":2,"goals":[],"results":[]}', "version 2"),
        ('{"version":1,"goals":{},"results":[]}', "must be lists"),
        ('{"goals":[],"results":[]}', "version None"),
    ],
)
def test_a_file_that_is_not_right_is_named(tmp_path: Path, content: str, complaint: str) -> None:
    place = save(tmp_path, content)
    with pytest.raises(InputError, match=complaint) as caught:
        read(place)
    assert str(place) in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("kind", ["missing", "link", "pipe", "folder"])
def test_only_regular_files_are_read(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "state.json"
    match kind:
        case "link":
            (tmp_path / "real.json").write_text(json.dumps(state()))
            place.symlink_to(tmp_path / "real.json")
        case "pipe":
            os.mkfifo(place)
        case "folder":
            place.mkdir()
        case _:
            pass
    with pytest.raises(InputError, match="cannot read"):
        read(place)


def test_both_layouts_of_a_project_are_found_and_a_sessions_own_file_wins(tmp_path: Path) -> None:
    assert find(tmp_path).books == {}
    save(tmp_path, state(goals=[GOAL, {**GOAL, "sessionID": "s2"}]))
    save(tmp_path, state(goals=[{**GOAL, "condition": "newer"}]), shard="a" * 64)
    assert len(state_files(tmp_path)) == 2
    found = find(tmp_path)
    assert {s: b.goals[0].objective for s, b in found.books.items()} == {
        "s1": "newer",
        "s2": "rotate the certificates",
    }


def test_from_elsewhere_only_named_sessions_are_taken(tmp_path: Path) -> None:
    place = save(tmp_path, state(goals=[GOAL, {**GOAL, "sessionID": "foreign"}], results=[RESULT]))
    assert set(read(place, sessions=["foreign"]).books) == {"foreign"}
    assert read(place, sessions=[]).books == {}


def test_importing_changes_neither_the_plugins_files_nor_what_is_here(tmp_path: Path) -> None:
    place = save(tmp_path, state(goals=[GOAL, {**GOAL, "sessionID": "s2"}, {**GOAL, "sessionID": "s3"}]))
    place.chmod(0o644)
    before = (place.read_bytes(), place.stat().st_mode, place.parent.stat().st_mode)
    folder = tmp_path / ".loopguard"
    with Ledger.open(folder, run="r") as ledger:
        ledger.append(pack(SessionId("s2"), "own", Kind.SET, Set(objective="own goal")))
    driver = Leases(folder, run="live")
    driver.acquire("s3")
    done = write(folder, find(tmp_path), run="import", now=1000.0)
    assert (done.goals, done.sessions, set(done.kept)) == (1, ("s1",), {"s2", "s3"})
    books = stored_goals(folder).books()
    assert books[SessionId("s1")].goals[0].objective == "rotate the certificates"
    assert [goal.objective for goal in books[SessionId("s2")].goals] == ["own goal"]
    assert "s3" not in books
    assert (place.read_bytes(), place.stat().st_mode, place.parent.stat().st_mode) == before
    again = write(folder, find(tmp_path), run="import", now=1001.0)
    assert (again.goals, again.sessions) == (0, ())
    assert Leases(folder, run="other").acquire("s1") is None
