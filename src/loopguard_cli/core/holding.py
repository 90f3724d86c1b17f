"""Holding back pieces of streamed text that complete nothing, so that they cost next to nothing.

Models stream a few characters at a time. No rule can find anything before a sentence, a line or
the next stretch of `STRETCH` characters is complete. Until then pieces are collected; the one that
completes something is handed on with all of them before it, as one event with its own number and
time. So what is found, and at which event, is as if each piece had been handed on. (Where a part's
text was replaced or forgotten meanwhile, repeated characters may be seen up to a stretch later.)
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from loopguard_cli.core.events import Channel, TextDelta
from loopguard_cli.core.ids import MessageId, PartId, SessionId

STRETCH = 64
"""Characters after which repeated characters are looked for, from the beginning of a part on."""

ENDS = ".!?\u2026"
"""Marks that end a sentence if white space follows; those that do without are all beyond ASCII."""

CLOSERS = "\"'\u201d\u2019\xbb)\\]}*_`"
"""Marks that may stand between such a mark and the white space."""

MAX_CLOSERS = 6

PARTS = 64
"""Parts whose length is remembered."""

_Place = tuple[SessionId, MessageId, PartId, Channel]

Taken = tuple[TextDelta, int, float]
"""A piece of text with its number and time."""


class Held:
    """The pieces that were not handed on yet, all of one part."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._newest: Taken | None = None
        """The latest of them."""
        self._place: _Place | None = None
        self._size = 0
        """Characters of the part so far."""
        self._due = 0
        """Length at which its next stretch is complete; 0: whatever comes may complete something."""
        self._tail = ""
        self._sizes: OrderedDict[_Place, int] = OrderedDict()

    def at(self, event: TextDelta) -> bool:
        """``event`` goes on with the part that was written last; else what is held goes first."""
        return self._place == (event.session, event.message, event.part, event.channel)

    def add(self, event: TextDelta, seq: int, now: float) -> TextDelta | None:
        """Take a piece in. None if it completes nothing and is held back, else what is to be handed on."""
        text = event.delta
        size = self._size + len(text)
        if size < self._due and text.isascii() and not _may_end(text):
            self._pieces.append(text)
            self._newest, self._size = (event, seq, now), size
            return None
        if self._pieces:
            text = "".join([*self._pieces, text])
            event = msgspec.structs.replace(event, delta=text)
            self._pieces, self._newest = [], None
        self._passes(text, size)
        return event

    def take(self) -> Taken | None:
        """What was held back, as one piece: something else happens."""
        if self._newest is None:
            return None
        (event, seq, now), text = self._newest, "".join(self._pieces)
        self._pieces, self._newest = [], None
        self._passes(text, self._size)
        return msgspec.structs.replace(event, delta=text), seq, now

    def go_to(self, event: TextDelta | None) -> None:
        """Another part goes on; None: a text may have become another, so nothing is known of its end."""
        if self._place is not None:
            self._sizes[self._place] = self._size
            self._sizes.move_to_end(self._place)
            while len(self._sizes) > PARTS:
                self._sizes.popitem(last=False)
        self._place, self._size, self._due, self._tail = None, 0, 0, ""
        if event is not None:
            self._place = (event.session, event.message, event.part, event.channel)
            self._size = self._sizes.get(self._place, 0)

    def _passes(self, text: str, size: int) -> None:
        self._size = size
        self._due = (size // STRETCH + 1) * STRETCH
        if text[-1:] in _AT_THE_END:
            self._tail = (self._tail + text)[-MAX_CLOSERS - 1 :]
            if self._tail.rstrip(CLOSERS)[-1:] in _ENDS:
                self._due = 0
        else:
            self._tail = ""


_ENDS = frozenset(ENDS)
_AT_THE_END = _ENDS.union(CLOSERS)


def _may_end(text: str) -> bool:
    return "\n" in text or "." in text or "!" in text or "?" in text
