"""Judging a session that is over, as though its events came live."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from loopguard_cli.core.events import (
    Event,
    TextDelta,
    TextSnapshot,
    ToolAsked,
    ToolStarted,
    UsageReported,
)
from loopguard_cli.core.ids import RequestId, SessionId
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.study.replay import Found, Judge
from loopguard_cli.study.traces import Moment

PIECE = 1_024
"""A whole text is fed in pieces of so many characters, as a stream would bring it, so that an alarm
has a place in it."""


class Raised(NamedTuple):
    """Something the guard would have said."""

    found: Found
    event: Event
    """The event as it would have come live: a call that asks, a piece of a text."""
    at: int
    """Characters of the text that had come; 0 for what is no text."""


class Hindsight:
    """Judges one session that is over, as though its events came live.

    A call that ran would have been asked for, and a text would have come in pieces.
    """

    def __init__(self, session: SessionId, settings: GuardSettings) -> None:
        self._judge = Judge(session, settings)

    def take(self, index: int, time: float, event: Event) -> Iterator[Raised]:
        match event:
            case ToolStarted():
                asked = ToolAsked(
                    session=event.session,
                    request=RequestId(event.call),
                    call=event.call,
                    tool=event.tool,
                    args=event.args,
                )
                yield from self._judged(index, time, asked, 0)
            case TextSnapshot(synthetic=False):
                for start in range(0, len(event.text), PIECE):
                    piece = TextDelta(
                        session=event.session,
                        message=event.message,
                        part=event.part,
                        channel=event.channel,
                        delta=event.text[start : start + PIECE],
                    )
                    yield from self._judged(index, time, piece, start + len(piece.delta))
            case UsageReported():
                pass
            case _:
                yield from self._judged(index, time, event, 0)

    def _judged(self, index: int, time: float, event: Event, at: int) -> Iterator[Raised]:
        for found in self._judge.take(Moment(index, time, (event,))):
            yield Raised(found, event, at)
