"""The diagram says what happens: every transition seen in our scenarios is in its table."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.goal.diagram import MOVES, PROMOTED, mermaid
from loopguard_cli.goal.evolve import Books, fold
from loopguard_cli.goal.model import STOPS, Book, State, StopReason
from loopguard_cli.goal.records import Kind
from loopguard_cli.testing.scenarios.cases import read_cases
from loopguard_cli.testing.scenarios.engine import Engine

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "scenarios" / "cases"


def _state(books: Books, session: SessionId, goal: str) -> State:
    book = books.get(session, Book())
    live = book.find(goal)
    if live is not None:
        return live.state
    return State.ACHIEVED if any(result.id == goal for result in book.archive) else State.NONE


def _transitions(records: list[tuple[str, GoalRecord]]) -> Iterator[tuple[State, str, State]]:
    books: Books = {}
    for name, record in records:
        session = SessionId(name)
        after, _ = fold(books, [record])
        for goal in {g.id for b in (books, after) for g in b.get(session, Book()).goals} | {record.goal}:
            before, now = _state(books, session, goal), _state(after, session, goal)
            if before is not now:
                yield before, record.event if goal == record.goal else PROMOTED, now
        books = after


def test_every_transition_is_in_the_table() -> None:
    seen = set()
    for case in read_cases(CASES):
        if case.table or case.persists:
            continue
        engine = Engine(case.data.get("given", {}))
        for step in case.data["steps"]:
            engine.step(step)
        seen |= set(_transitions(engine.records))
    assert seen <= set(MOVES)
    assert {(State.NONE, Kind.SET, State.ACTIVE), (State.PAUSED, PROMOTED, State.ACTIVE)} <= seen


def test_every_stop_reason_is_explained() -> None:
    assert set(STOPS) == set(StopReason) - {StopReason.NONE}
    assert all(stop.title and stop.cause and stop.action for stop in STOPS.values())


def test_every_state_is_in_the_picture() -> None:
    assert all(state.value in mermaid() for state in State if state is not State.NONE)


def test_the_page_is_what_the_code_says() -> None:
    spec = importlib.util.spec_from_file_location("goalpages", ROOT / "scripts" / "goalpages.py")
    assert spec is not None
    assert spec.loader is not None
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    text = pages.PAGE.read_text(encoding="utf-8")
    assert pages.filled(text) == text, "run: python scripts/goalpages.py"
