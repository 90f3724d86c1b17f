"""Judging a session that is over, as though its events came live."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from loopguard_cli.core.events import (
    Event,
    TextDelta,
    TextSnapshot,
    ToolAsked,
    ToolFinished,
    ToolStarted,
    UsageReported,
)
from loopguard_cli.core.ids import RequestId, SessionId
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.study.replay import Found, Judge
from loopguard_cli.study.skimming import SkimmingPanel, Unremarkable

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
        self._panel = SkimmingPanel(session, settings)
        self._judge = Judge(settings, self._panel)

    def take(self, index: int, time: float, event: Event) -> Sequence[Raised]:
        if isinstance(event, TextSnapshot):
            if not event.synthetic:
                return self._text(index, time, event)
        elif isinstance(event, UsageReported):
            return ()
        elif isinstance(event, (ToolAsked, ToolFinished)):
            self._panel.acted()
        elif isinstance(event, ToolStarted):
            self._panel.acted()
            event = ToolAsked(
                session=event.session,
                request=RequestId(event.call),
                call=event.call,
                tool=event.tool,
                args=event.args,
            )
        # Hardly any event makes a finding, and there may be millions of events.
        if found := self._judge.judge(event, index, time):
            return [Raised(one, event, 0) for one in found]
        return ()

    def _text(self, index: int, time: float, event: TextSnapshot) -> Sequence[Raised]:
        text = event.text
        if self._panel.skim(event, index):
            whole = _piece(Unremarkable, event, text)
            if found := self._judge.judge(whole, index, time):
                # What is found is about something else, and would have been with the first piece.
                first = _piece(TextDelta, event, text[:PIECE])
                return [Raised(one, first, len(first.delta)) for one in found]
            return ()
        raised: list[Raised] = []
        for start in range(0, len(text), PIECE):
            piece = _piece(TextDelta, event, text[start : start + PIECE])
            end = start + len(piece.delta)
            raised += [Raised(one, piece, end) for one in self._judge.judge(piece, index, time)]
        return raised


def _piece(kind: type[TextDelta], event: TextSnapshot, text: str) -> TextDelta:
    return kind(
        session=event.session, message=event.message, part=event.part, channel=event.channel, delta=text
    )
