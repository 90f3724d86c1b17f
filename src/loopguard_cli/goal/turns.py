"""What the agent did since it was last asked: its newest words, its tools, its tokens.

A turn is everything that answers one user message. The words that can claim something are those of
the newest assistant message only; tools and tokens count for the whole turn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container

from loopguard_cli.core.events import (
    Channel,
    Event,
    ReplyStarted,
    TextDelta,
    TextSnapshot,
    ToolFinished,
    ToolStarted,
    UsageReported,
)
from loopguard_cli.core.ids import CallId, EffectId, MessageId, PartId
from loopguard_cli.goal.model import MAX_CHECKPOINT, shorten

MAX_PARTS = 32
MAX_CHARS = 65_536
"""Kept of one part, from its end: claims stand at the end."""


class Turn:
    """The present turn of one session."""

    def __init__(self) -> None:
        self.answers = MessageId("")
        self.message = MessageId("")
        """The newest assistant message; empty when there is none."""
        self.control = False
        """It only reports the result of a command of ours; it is no work."""
        self._calls: set[CallId] = set()
        self._parts: dict[PartId, list[str]] = {}
        self._figures: dict[MessageId, tuple[int, int]] = {}
        self._ended = False
        self._summaries: set[MessageId] = set()

    def observe(self, event: Event, controls: Container[MessageId | EffectId]) -> None:
        match event:
            case ReplyStarted():
                self._reply(event, controls)
            case TextDelta(channel=Channel.TEXT) | TextSnapshot(channel=Channel.TEXT, synthetic=False):
                self._text(event)
            case ToolStarted() | ToolFinished() if not getattr(event, "refused", False):
                self._begin()
                self._calls.add(event.call)
            case UsageReported(assistant=True) if event.message not in self._summaries:
                self._figures[event.message] = (event.output, event.reasoning)
            case _:
                pass

    def end(self) -> None:
        """The agent is idle: what comes next belongs to another turn."""
        self._ended = True

    @property
    def text(self) -> str:
        return "\n".join("".join(pieces) for pieces in self._parts.values()).strip()

    @property
    def tools(self) -> int:
        return len(self._calls)

    @property
    def output(self) -> int:
        """Output tokens."""
        return sum(max(0, output) for output, _ in self._figures.values())

    @property
    def reasoning(self) -> int:
        return sum(max(0, reasoning) for _, reasoning in self._figures.values())

    @property
    def summary(self) -> str:
        """The newest words on one line, for checkpoints."""
        return shorten(self.text, MAX_CHECKPOINT)

    @property
    def digest(self) -> str:
        """Tells equal summaries from different ones without keeping text."""
        return hashlib.blake2b(self.summary.encode(), digest_size=12).hexdigest() if self.summary else ""

    def _begin(self) -> None:
        if self._ended:
            self._ended = False
            self._calls, self._figures = set(), {}

    def _reply(self, event: ReplyStarted, controls: Container[MessageId | EffectId]) -> None:
        if event.summary:
            self._summaries.add(event.message)
            return
        if event.message == self.message:
            return
        if event.answers and event.answers != self.answers:
            self._ended = True
        self._begin()
        self.answers = event.answers or self.answers
        self.message = event.message
        self.control = event.answers in controls
        self._parts = {}

    def _text(self, event: TextDelta | TextSnapshot) -> None:
        if event.message in self._summaries:
            return
        if event.message != self.message:
            return  # a late piece of an earlier message
        known = event.part in self._parts
        if not known and len(self._parts) >= MAX_PARTS:
            self._parts.pop(next(iter(self._parts)))
        if isinstance(event, TextSnapshot):
            self._parts[event.part] = [event.text[-MAX_CHARS:]]
            return
        pieces = self._parts.setdefault(event.part, [])
        pieces.append(event.delta)
        if len(pieces) > 4096:
            self._parts[event.part] = ["".join(pieces)[-MAX_CHARS:]]
