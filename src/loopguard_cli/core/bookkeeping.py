"""What the ledger gets to know of one session: its turns, and each call with its outcome."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from loopguard_cli.core.effects import Record
from loopguard_cli.core.events import (
    Origin,
    Status,
    StatusChanged,
    ToolAsked,
    ToolFinished,
    ToolStarted,
    UserSpoke,
)
from loopguard_cli.core.findings import LABELS, CallView
from loopguard_cli.core.ids import CallId, CallKey
from loopguard_cli.core.policy import Verdict
from loopguard_cli.core.records import CallEnded, CallSeen, TurnDone, UserTurn
from loopguard_cli.core.session import SessionState

REMEMBERED_CALLS = 64
"""Calls whose end is still to be written down."""


class Bookkeeping:
    """Writes one session's turns and calls down."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._started: OrderedDict[CallId, tuple[CallKey, float]] = OrderedDict()
        self._turn_from: dict[str, float] | None = None

    def turn(self, event: UserSpoke | StatusChanged) -> Iterator[Record]:
        """A person's message; the end of a turn, with what it has cost."""
        session = self._state.id
        match event:
            case UserSpoke(origin=Origin.PERSON):
                yield Record(session=session, record=UserTurn(session=session))
            case StatusChanged(status=Status.BUSY) if self._turn_from is None:
                self._turn_from = self._state.totals()
            case StatusChanged(status=Status.IDLE) if self._turn_from is not None:
                before, after = self._turn_from, self._state.totals()
                self._turn_from = None
                record = TurnDone(
                    session=session,
                    calls=int(after["calls"] - before["calls"]),
                    tokens=int(after["tokens"] - before["tokens"]),
                    cost=round(after["cost"] - before["cost"], 6),
                )
                yield Record(session=session, record=record)
            case _:
                pass

    def call(
        self,
        event: ToolAsked | ToolStarted | ToolFinished,
        view: CallView,
        verdict: Verdict | None,
        seq: int,
        now: float,
        *,
        leaked: bool = False,
    ) -> Record | None:
        """A call, when it is first heard of, and its end; ``leaked``: it ran although it was refused."""
        session = self._state.id
        if isinstance(event, ToolFinished):
            key, since = self._started.pop(event.call, (view.key, now))
            ended = CallEnded(
                session=session,
                tool=event.tool,
                key=key,
                ok=event.ok,
                outcome=view.outcome,
                seconds=round(now - since, 3),
                leaked=leaked,
            )
            return Record(session=session, record=ended)
        if event.call in self._started:
            return None
        self._started[event.call] = (view.key, now)
        while len(self._started) > REMEMBERED_CALLS:
            self._started.popitem(last=False)
        seen = CallSeen(
            session=session,
            tool=event.tool,
            key=view.key,
            count=view.count,
            verdict=LABELS[verdict.action] if verdict else "allow",
            event=seq,
        )
        return Record(session=session, record=seen)
