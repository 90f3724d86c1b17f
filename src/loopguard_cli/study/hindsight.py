"""Judging a session that is over, as though its events came live."""

from __future__ import annotations

from collections.abc import Sequence
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

    def take(self, index: int, time: float, event: Event) -> Sequence[Raised]:
        if isinstance(event, ToolStarted):
            event = ToolAsked(
                session=event.session,
                request=RequestId(event.call),
                call=event.call,
                tool=event.tool,
                args=event.args,
            )
        elif isinstance(event, UsageReported):
            return ()
        elif isinstance(event, TextSnapshot) and not event.synthetic:
            return self._text(index, time, event)
        return self._judged(index, time, event)

    def _text(self, index: int, time: float, event: TextSnapshot) -> Sequence[Raised]:
        raised: list[Raised] = []
        for start in range(0, len(event.text), PIECE):
            piece = TextDelta(
                session=event.session,
                message=event.message,
                part=event.part,
                channel=event.channel,
                delta=event.text[start : start + PIECE],
            )
            raised += self._judged(index, time, piece, start + len(piece.delta))
        return raised

    def _judged(self, index: int, time: float, event: Event, at: int = 0) -> Sequence[Raised]:
        if found := self._judge.judge(event, index, time):
            return [Raised(one, event, at) for one in found]
        return ()
