"""The texts of a session's messages, from deltas and snapshots, within fixed limits.

Deltas extend a part, a snapshot replaces what they built up. What is new is handed to a `Reading`
exactly once: a snapshot that says what is known already (a repeated delivery, the agent's own
confirmation) hands over nothing, one that goes further hands over the rest, and only one that
contradicts makes the message be read again from its start.

Source of the limits: the infinity guard. An oversized message is excluded rather than cut, since a
cut would lose what is code and what is not; a rule that needs no context may go on with what is new.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from loopguard_cli.core.events import Channel, TextDelta, TextSnapshot
from loopguard_cli.core.findings import Finding
from loopguard_cli.core.ids import MessageId, PartId

MAX_MESSAGES = 8
MAX_PARTS = 32
MAX_CHARS = 65_536
"""Per message and channel, as are the parts."""


class Reading(Protocol):
    """Reads one channel of one message as it grows."""

    def grow(self, part: PartId, text: str, live: bool, seq: int) -> Sequence[Finding]:
        """``text`` follows what ``part`` had before. Not ``live``: it came with the finished part."""

    def end(self, part: PartId, seq: int) -> Sequence[Finding]:
        """``part`` is complete. May be said again."""

    def restart(self) -> None:
        """Its text was replaced and follows anew."""

    def exclude(self) -> None:
        """The message is oversized. What is new may still come, replacements do not."""


R = TypeVar("R", bound=Reading)


class _Part:
    __slots__ = ("live", "pieces", "size")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        """What was read; empty once the message is excluded."""
        self.size = 0
        self.live = True

    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


class _Message(Generic[R]):
    """One channel of one message."""

    __slots__ = ("excluded", "newest", "parts", "reading", "size")

    def __init__(self, reading: R) -> None:
        self.reading = reading
        self.parts: dict[PartId, _Part] = {}
        self.newest = PartId("")
        self.size = 0
        self.excluded = False

    def exclude(self) -> None:
        if not self.excluded:
            self.excluded = True
            for part in self.parts.values():
                part.pieces = []
            self.reading.exclude()

    def add(self, part_id: PartId, part: _Part, text: str, live: bool, seq: int) -> Sequence[Finding]:
        """Take in what follows the text of ``part``."""
        self.size += len(text)
        part.size += len(text)
        if self.size > MAX_CHARS:
            self.exclude()
        if not self.excluded:
            part.pieces.append(text)
        part.live = live
        if part_id == self.newest:
            return self.reading.grow(part_id, text, live, seq)
        ended = self.reading.end(self.newest, seq) if self.newest else ()
        self.newest = part_id
        return [*ended, *self.reading.grow(part_id, text, live, seq)]

    def replace(self, changed: _Part, text: str, live: bool, seq: int) -> Sequence[Finding]:
        """Read everything again, ``changed`` with its new text."""
        self.reading.restart()
        self.size, self.newest = 0, PartId("")
        found: list[Finding] = []
        for part_id, part in self.parts.items():
            again, was_live = (text, live) if part is changed else (part.text(), part.live)
            part.pieces, part.size = [], 0
            if again:
                found += self.add(part_id, part, again, was_live, seq)
        return found


class TextParts(Generic[R]):
    """The buffers of one session."""

    def __init__(self, open_reading: Callable[[MessageId, Channel], R]) -> None:
        self._open = open_reading
        self._messages: OrderedDict[MessageId, dict[Channel, _Message[R]]] = OrderedDict()
        self._place: tuple[MessageId, Channel, PartId] | None = None
        self._newest: tuple[_Message[R], _Part]
        """What the latest delta belonged to, at `_place`."""

    def delta(self, event: TextDelta, seq: int) -> Sequence[Finding]:
        place = (event.message, event.channel, event.part)
        if place == self._place:  # mostly, the text of one part goes on
            message, part = self._newest
        else:
            message = self._message(event.message, event.channel)
            found = self._part(message, event.part)
            if found is None:
                return ()
            part = found
            self._place, self._newest = place, (message, part)
        if not event.delta:
            return ()
        return message.add(event.part, part, event.delta, True, seq)

    def snapshot(self, event: TextSnapshot, seq: int) -> Sequence[Finding]:
        """Not for synthetic text: nobody repeats that."""
        message = self._message(event.message, event.channel)
        part = self._part(message, event.part)
        if part is None:
            return ()
        found: Sequence[Finding] = ()
        known, text, live = part.text(), event.text, not event.ended
        if message.excluded or text.startswith(known):
            if len(text) > part.size:
                found = message.add(event.part, part, text[part.size :], live, seq)
        elif live or text.rstrip() != known.rstrip():  # agents trim what they store
            found = message.replace(part, text, live, seq)
        if event.ended:
            return [*found, *message.reading.end(event.part, seq)]
        return found

    def finished(self, message_id: MessageId, seq: int) -> Sequence[Finding]:
        """The message is complete, and with it its newest part."""
        found: list[Finding] = []
        for message in self._messages.get(message_id, {}).values():
            if message.newest:
                found += message.reading.end(message.newest, seq)
        return found

    def readings(self) -> Iterator[R]:
        """Those of all messages still known."""
        for channels in self._messages.values():
            for message in channels.values():
                yield message.reading

    def clear(self) -> None:
        self._messages.clear()
        self._place = None

    def _message(self, message_id: MessageId, channel: Channel) -> _Message[R]:
        channels = self._messages.get(message_id)
        if channels is None:
            channels = self._messages[message_id] = {}
            self._place = None
            while len(self._messages) > MAX_MESSAGES:
                self._messages.popitem(last=False)
        message = channels.get(channel)
        if message is None:
            message = channels[channel] = _Message(self._open(message_id, channel))
        return message

    def _part(self, message: _Message[R], part_id: PartId) -> _Part | None:
        """The part, made on first sight; None when the message has too many."""
        part = message.parts.get(part_id)
        if part is None:
            if len(message.parts) >= MAX_PARTS:
                message.exclude()
                return None
            part = message.parts[part_id] = _Part()
        return part
