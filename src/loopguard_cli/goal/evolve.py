"""State x record -> state. Total, deterministic, and blind: what may happen is decided elsewhere.

The same fold runs in memory while a run goes on and over the ledger after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from loopguard_cli.core.ids import NO_SESSION, MessageId, SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.goal import records as r
from loopguard_cli.goal.model import (
    MAX_ARCHIVE,
    MAX_CHECKPOINTS,
    MAX_HISTORY,
    Book,
    Checkpoint,
    Entry,
    Goal,
    Meters,
    StopReason,
)
from loopguard_cli.goal.records import Kind

Books = dict[SessionId, Book]


def fold(books: Mapping[SessionId, Book], records: Iterable[GoalRecord]) -> tuple[Books, int]:
    """All sessions after ``records``, and how many of these could not be understood."""
    state, bad = dict(books), 0
    for record in records:
        try:
            kind, payload = r.unpack(record)
        except ValueError:
            bad += 1
            continue
        if isinstance(payload, r.Attached):
            source = SessionId(payload.source)
            own = state.get(record.session, Book())
            state[record.session] = join(state.pop(source, Book()), own, payload.at)
        elif isinstance(payload, r.Snapshot):
            state[record.session] = payload.book
        else:
            state[record.session] = evolve(state.get(record.session, Book()), record, kind, payload)
    return state, bad


def evolve(book: Book, record: GoalRecord, kind: Kind, payload: r.Payload) -> Book:
    """One session's book after one record."""
    if isinstance(payload, r.Set):
        return _set(book, record, payload)
    goal = book.find(record.goal)
    if goal is None:
        return _late(book, record, kind)
    goal = _noted(goal, record, kind, payload)
    match payload:
        case r.Completed():
            return _completed(book, goal, payload)
        case r.Cleared():
            return _dropped(book, goal.id, forget=kind is Kind.CLEARED)
        case r.Focused():
            goal = _focused(goal, payload)
            return replace(_put(book, goal), focus=goal.id)
    change = CHANGES.get(kind)
    return _put(book, change(goal, payload) if change else goal)


# --- whole books -------------------------------------------------------------------------------


def join(arriving: Book, own: Book, at: float) -> Book:
    """Goals that arrive come behind a session's own and have the focus; their time begins."""
    if not arriving.goals:
        return own
    resting = tuple(_stopped(g, StopReason.BACKGROUNDED, g.seen) if g.active else g for g in own.goals)
    begun = tuple(replace(g, since=at, seen=at) if g.active else g for g in arriving.goals)
    return Book(
        goals=(*resting, *begun),
        focus=arriving.focus or own.focus,
        ordered=arriving.ordered,
        archive=(*own.archive, *arriving.archive)[-MAX_ARCHIVE:],
        last_result=arriving.last_result or own.last_result,
    )


def _set(book: Book, record: GoalRecord, p: r.Set) -> Book:
    goal = Goal(
        id=record.goal,
        objective=p.objective,
        success=p.success,
        constraints=p.constraints,
        mode=p.mode,
        checks=p.checks,
        limits=p.limits,
        context=p.context,
        meters=p.meters or Meters(),
        stop=StopReason.NONE if p.focus else StopReason.QUEUED,
        status=p.status or "",
        consumed=p.consumed,
        created=p.at,
        since=p.at if p.focus else 0.0,
        seen=p.at,
        history=(Entry(p.at, Kind.SET.value, record.detail),),
    )
    return replace(
        book,
        goals=(*(g for g in book.goals if g.id != goal.id), goal),
        focus=goal.id if p.focus else book.focus,
        ordered=book.ordered if p.ordered is None else p.ordered,
        last_result=None if p.forget_result else book.last_result,
    )


def _completed(book: Book, goal: Goal, p: r.Completed) -> Book:
    was = book
    book = _dropped(book, goal.id)
    promotes = p.promotes
    if p.result is None and was.ordered and was.focus == goal.id and book.goals:
        promotes = book.goals[0].id  # a bare record, written by another program
    promoted = book.find(promotes) if promotes else None
    if promoted is not None:
        fresh = replace(
            _reopened(promoted, p.at),
            elapsed=0.0,
            beneath=StopReason.NONE,
            consumed=p.message,
            history=_appended(promoted, Entry(p.at, Kind.FOCUSED.value, "next in the sequence")),
        )
        book = replace(_put(book, fresh), focus=fresh.id)
    book = replace(book, ordered=book.ordered and promoted is not None)
    if p.result is None:
        return book
    result = replace(p.result, history=goal.history)
    return replace(book, archive=(*book.archive, result)[-MAX_ARCHIVE:], last_result=result)


def _dropped(book: Book, goal: str, *, forget: bool = False) -> Book:
    return replace(
        book,
        goals=tuple(g for g in book.goals if g.id != goal),
        focus="" if book.focus == goal else book.focus,
        ordered=book.ordered and not forget,
        last_result=None if forget else book.last_result,
    )


def _late(book: Book, record: GoalRecord, kind: Kind) -> Book:
    """A record about a goal that is not live.

    A clear or replacement that was decided while the completion was on its way to the disk comes
    behind it there: the person's word counts, and the result is withdrawn.
    """
    if kind not in (Kind.CLEARED, Kind.REPLACED):
        return book
    if not record.goal:
        return replace(book, ordered=False, last_result=None)
    last = book.last_result
    return replace(
        book,
        archive=tuple(x for x in book.archive if x.id != record.goal),
        last_result=None if last is not None and last.id == record.goal else last,
    )


def _put(book: Book, goal: Goal) -> Book:
    return replace(book, goals=tuple(goal if g.id == goal.id else g for g in book.goals))


# --- single goals ------------------------------------------------------------------------------


def _appended(goal: Goal, entry: Entry) -> tuple[Entry, ...]:
    return (*goal.history, entry)[-MAX_HISTORY:]


def _noted(goal: Goal, record: GoalRecord, kind: Kind, p: r.Payload) -> Goal:
    history = goal.history
    if kind not in r.BOOKKEEPING:
        history = _appended(goal, Entry(p.at, kind.value, record.detail))
    return replace(
        goal,
        revision=goal.revision + 1,
        seen=goal.seen if kind is Kind.RECOVERED else max(goal.seen, p.at),
        meters=goal.meters if p.meters is None else p.meters,
        status=goal.status if p.status is None else p.status,
        history=history,
    )


def _stopped(goal: Goal, reason: StopReason, at: float) -> Goal:
    return replace(goal, stop=reason, elapsed=goal.time_in_force(at), since=0.0, claim="", pending=False)


def _reopened(goal: Goal, at: float) -> Goal:
    return replace(goal, stop=StopReason.NONE, blocker="", since=goal.since or at, claim="", pending=False)


def _stop(goal: Goal, p: Any) -> Goal:
    stopped = replace(_stopped(goal, p.reason, p.at), blocker="")
    if p.handoff:
        stopped = replace(stopped, handoff_sent=True, claim=p.claim)
    return stopped


def _block(goal: Goal, p: Any) -> Goal:
    return replace(_stopped(goal, StopReason.BLOCKED, p.at), blocker=p.blocker or goal.history[-1].detail)


def _edit(goal: Goal, p: Any) -> Goal:
    edited = replace(
        goal,
        objective=goal.objective if p.objective is None else p.objective,
        success=goal.success if p.success is None else p.success,
        constraints=goal.constraints if p.constraints is None else p.constraints,
        mode=goal.mode if p.mode is None else p.mode,
        checks=goal.checks if p.checks is None else p.checks,
        limits=goal.limits if p.limits is None else p.limits,
    )
    if not p.activate:
        return edited
    return replace(_reopened(edited, p.at), handoff_sent=False, beneath=StopReason.NONE, consumed=p.consumed)


def _resume(goal: Goal, p: Any) -> Goal:
    resumed = replace(
        _reopened(goal, p.at),
        run=goal.run + 1,
        beneath=StopReason.NONE,
        limits=goal.limits if p.limits is None else p.limits,
        consumed=p.consumed,
        last_message=MessageId(""),
    )
    if not p.fresh:
        return resumed
    return replace(
        resumed, turns=0, handoff_sent=False, meters=Meters(), elapsed=0.0, since=p.at, continued=0.0
    )


def _background(goal: Goal, p: Any) -> Goal:
    beneath = goal.beneath if goal.stop is StopReason.BACKGROUNDED else goal.stop
    return replace(_stopped(goal, StopReason.BACKGROUNDED, p.at), beneath=beneath)


def _focused(goal: Goal, p: r.Focused) -> Goal:
    if p.reason is not StopReason.NONE:
        return replace(goal, stop=p.reason, beneath=StopReason.NONE)
    return replace(_reopened(goal, p.at), beneath=StopReason.NONE, consumed=p.consumed)


def _claim(goal: Goal, p: Any) -> Goal:
    return replace(goal, claim=p.claim, pending=bool(p.claim))


def _continue(goal: Goal, p: Any) -> Goal:
    return replace(goal, turns=goal.turns + (1 if p.counted else 0), continued=p.at, pending=False)


def _fail(goal: Goal, p: Any) -> Goal:
    return replace(goal, claim="", pending=False) if p.release else goal


def _recover(goal: Goal, p: Any) -> Goal:
    # A claimed prompt may have been sent before the end: it counts, so that no budget grows by a crash.
    turns = goal.turns + (1 if goal.pending else 0)
    # The clock stood still from the last thing that is known.
    return replace(_stopped(goal, StopReason.RECOVERED, goal.seen), turns=turns, seen=p.at)


def _mark(goal: Goal, p: Any) -> Goal:
    checkpoints = goal.checkpoints
    if p.text:
        checkpoints = (*checkpoints, Checkpoint(p.at, p.text))[-MAX_CHECKPOINTS:]
    return replace(goal, checkpoints=checkpoints, last_message=p.message, last_text=p.digest)


CHANGES: dict[Kind, Callable[[Goal, Any], Goal]] = {
    Kind.PAUSED: _stop,
    Kind.LIMIT: _stop,
    Kind.WRAPUP: _stop,
    Kind.AUDIT_REJECTED: _stop,
    Kind.BLOCKED: _block,
    Kind.EDITED: _edit,
    Kind.RESUMED: _resume,
    Kind.BACKGROUNDED: _background,
    Kind.CLAIMED: _claim,
    Kind.CONTINUED: _continue,
    Kind.ERROR: _fail,
    Kind.RECOVERED: _recover,
    Kind.CHECKPOINT: _mark,
}

WAITING = NO_SESSION
"""Goals set while there is no session wait under this id; they attach to the first session of a run."""
