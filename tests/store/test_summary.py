from __future__ import annotations

from loopguard_cli.core.records import (
    AgentSeen,
    CallEnded,
    CallSeen,
    Record,
    RecordsLost,
    RunEnded,
    RunStarted,
)
from loopguard_cli.store.lines import Entry
from loopguard_cli.store.summary import calls, runs

STARTED = RunStarted(agent="opencode", argv0="opencode", mode="on", preset="pi", version="0")


def entry(record: Record, *, at: float = 0.0, run: str = "r1", restated: bool = False) -> Entry:
    return Entry(seq=1, time=at, run=run, record=record, restated=restated)  # type: ignore[arg-type]


def call(session: str, key: str, count: int, verdict: str = "allow") -> CallSeen:
    return CallSeen(session=session, tool="t", key=key, count=count, verdict=verdict, event=0)  # type: ignore[arg-type]


def test_a_run_counts_from_its_start_even_if_that_is_only_restated() -> None:
    found = runs(
        [
            entry(STARTED, at=5.0, restated=True),
            entry(call("s", "k", 1), at=90.0),
            entry(RecordsLost(count=4), at=91.0),
            entry(RunEnded(code=0), at=95.0),
        ]
    )
    assert [(r.run, r.since, r.last, r.ended, r.code, r.lost) for r in found] == [
        ("r1", 5.0, 95.0, 95.0, 0, 4)
    ]
    assert found[0].total("calls") == 1


def test_what_only_wrote_goals_is_no_run() -> None:
    assert runs([entry(AgentSeen(connected=False), run="cli")]) == []


def test_runs_come_in_the_order_of_their_beginning() -> None:
    found = runs([entry(STARTED, run="b"), entry(STARTED, run="a"), entry(RunEnded(code=1), run="b")])
    assert [r.run for r in found] == ["b", "a"]


def test_calls_are_told_apart_by_session_and_key_and_run() -> None:
    found = calls(
        [
            entry(call("s1", "k1", 1), at=1.0),
            entry(call("s2", "k1", 1), at=2.0),
            entry(call("s1", "k2", 1), at=3.0),
            entry(call("s1", "k1", 9), run="other"),
            entry(CallEnded(session="s1", tool="t", key="k1", ok=False, outcome="o", seconds=1)),  # type: ignore[arg-type]
            entry(CallEnded(session="s1", tool="t", key="never seen", ok=True, outcome="", seconds=1)),  # type: ignore[arg-type]
            entry(call("s1", "k1", 2, "block"), at=4.0),
        ],
        "r1",
    )
    assert [(c.session, c.key, c.count, c.blocked, c.ok, c.last_seen) for c in found] == [
        ("s2", "k1", 1, False, None, 2.0),
        ("s1", "k2", 1, False, None, 3.0),
        ("s1", "k1", 2, True, False, 4.0),
    ]
