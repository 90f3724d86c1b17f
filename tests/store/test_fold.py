from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import CallSeen, GoalRecord, Record, RunEnded, RunStarted
from loopguard_cli.goal.evolve import Books, fold
from loopguard_cli.goal.model import Result
from loopguard_cli.goal.records import (
    Attached,
    Cleared,
    Completed,
    Focused,
    Kind,
    Payload,
    Set,
    Stopped,
    pack,
)
from loopguard_cli.store.fold import MAX_FINISHED_SESSIONS, RETENTION_SECONDS, compact
from loopguard_cli.store.lines import Entry, decode, encode

STARTED = RunStarted(agent="opencode", argv0="opencode", mode="on", preset="pi", version="0")


def entries(*records: Record, at: float = 1e9, run: str = "r1") -> list[Entry]:
    return [Entry(seq=n, time=at, run=run, record=record) for n, record in enumerate(records)]  # type: ignore[arg-type]


def books(found: Any) -> Books:
    state, bad = fold({}, [e.record for e in found if isinstance(e.record, GoalRecord)])
    assert bad == 0
    return {session: book for session, book in state.items() if book.goals or book.archive}


def _payload(kind: Kind, name: str) -> Payload:
    match kind:
        case Kind.SET:
            return Set(at=1e9, objective=f"aim {name}")
        case Kind.COMPLETED:
            return Completed(at=1e9, result=Result(id=name, objective="aim", evidence="e", finished=1e9))
        case Kind.BLOCKED:
            return Stopped(at=1e9, blocker="no key")
        case Kind.FOCUSED:
            return Focused(at=1e9)
        case Kind.ATTACHED:
            return Attached(at=1e9, source="")
        case _:
            return Cleared(at=1e9)


STEPS = st.tuples(
    st.sampled_from(["", "s1", "s2"]),
    st.sampled_from(["g1", "g2", "g3"]),
    st.sampled_from([Kind.SET, Kind.COMPLETED, Kind.BLOCKED, Kind.FOCUSED, Kind.CLEARED, Kind.ATTACHED]),
)


@given(st.lists(STEPS, max_size=30), st.integers(0, 30))
def test_compacting_anywhere_changes_no_goal(steps: list[tuple[str, str, Kind]], cut: int) -> None:
    whole = entries(*(pack(SessionId(s), g, kind, _payload(kind, g)) for s, g, kind in steps))
    restated = compact(whole[:cut])
    assert books([*restated, *whole[cut:]]) == books(whole)
    assert len(restated) <= 3


@given(st.lists(STEPS, max_size=20))
def test_what_is_restated_survives_the_way_to_the_disk(steps: list[tuple[str, str, Kind]]) -> None:
    restated = compact(entries(*(pack(SessionId(s), g, kind, _payload(kind, g)) for s, g, kind in steps)))
    read = [decode(encode(e.seq, e.time, e.run, e.record).rstrip(b"\n")) for e in restated]
    assert books(read) == books(restated)


def test_runs_that_have_not_ended_are_restated_with_their_time() -> None:
    call = CallSeen(tool="t", key="k", count=1, verdict="allow", event=0)  # type: ignore[arg-type]
    found = compact(
        [
            *entries(STARTED, call, run="lives", at=5.0),
            *entries(STARTED, RunEnded(code=0), run="over"),
        ]
    )
    assert [(e.run, e.time, e.record) for e in found] == [("lives", 5.0, STARTED)]


def test_killed_runs_do_not_pile_up() -> None:
    found = compact([e for n in range(100) for e in entries(STARTED, run=f"r{n}")])
    assert [e.run for e in found] == [f"r{n}" for n in range(84, 100)]


def finished(session: str, at: float) -> list[Entry]:
    result = Result(id="g", objective="aim", finished=at)
    return entries(
        pack(SessionId(session), "g", Kind.SET, Set(at=at, objective="aim")),
        pack(SessionId(session), "g", Kind.COMPLETED, Completed(at=at, result=result)),
        at=at,
    )


def test_old_results_go_and_live_goals_stay() -> None:
    live = entries(pack(SessionId("live"), "g", Kind.SET, Set(at=1.0, objective="aim")), at=1.0)
    found = books(compact([*live, *finished("old", 1.0), *finished("new", RETENTION_SECONDS + 2.0)]))
    assert set(found) == {"live", "new"}


def test_sessions_with_nothing_but_results_are_bounded() -> None:
    found = books(compact([e for n in range(250) for e in finished(f"s{n}", 1e9 + n)]))
    assert set(found) == {f"s{n}" for n in range(250 - MAX_FINISHED_SESSIONS, 250)}
