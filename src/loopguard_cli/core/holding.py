"""Holding back pieces of streamed text that complete nothing, so that they cost next to nothing.

Models stream a few characters at a time. No rule can find anything before a sentence, a line or
the next stretch of `STRETCH` characters is complete; what that takes is written here alone, and the
rules take it from here. Until then pieces are collected; the one that
completes something is handed on with all of them before it, as one event with its own number and
time. So what is found, and at which event, is as if each piece had been handed on. (Where a part's
text was forgotten meanwhile, repeated characters may be seen up to a stretch later.)
"""

from __future__ import annotations

import re
from collections import OrderedDict

import msgspec

from loopguard_cli.core.events import Channel, TextDelta, TextSnapshot
from loopguard_cli.core.ids import MessageId, PartId, SessionId

STRETCH = 64
"""Characters after which repeated characters are looked for, from the beginning of a part on."""

ENDS = ".!?\u2026"
"""Marks that end a sentence if white space follows, after at most a few closing marks."""

FINAL = "\u3002\uff01\uff1f\uff61\u0964\u0965\u061f\u06d4\u1362\u0589\u104b\u17d4"
"""Marks that end a sentence at once, since nothing that follows can take them back: of Chinese, Japanese
and Korean, Devanagari, Arabic, Urdu, Ethiopic, Armenian, Burmese and Khmer. All are beyond ASCII."""

CLOSERS = "\"'\u201d\u2019\xbb)\\]}*_`"
"""Marks that may stand between such a mark and the white space, as they are written in a set of a pattern."""

MAX_CLOSERS = 6

LOOK_BACK = MAX_CLOSERS + 1
"""Characters before a piece that may complete something together with it."""

AT_ONCE = f"\n{FINAL}"
"""Marks that complete something by themselves: the end of a line, too."""

_CLOSED = f"[{ENDS}][{CLOSERS}]{{0,{MAX_CLOSERS}}}"

READY = re.compile(rf"[{AT_ONCE}]|{_CLOSED}(?=\s)")
"""What a text must have, in a piece or in the `LOOK_BACK` before it, to be read for sentences. What is
open is not looked at otherwise, not even to see that it has been waited for long enough."""

_READY_OR_BEGUN = re.compile(rf"[{FINAL}]|{_CLOSED}(?=\s|\Z)")
"""The same, or it may become that with what follows. A line that ends without this, followed by a text
without any of the marks, has nothing in it that is `READY`. (Lines that are whole are read to their
end, so they are not looked back to.)"""

_UNKNOWN = FINAL[0] * LOOK_BACK
"""Stands for an end of a text that is not known: anything may be completed."""

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
        """The last `LOOK_BACK` characters that were handed on, of their line."""
        self._ends: OrderedDict[_Place, tuple[int, str]] = OrderedDict()
        """Length and tail of other parts."""

    def at(self, event: TextDelta) -> bool:
        """``event`` goes on with the part that was written last; else what is held goes first."""
        return self._place == (event.session, event.message, event.part, event.channel)

    def add(self, event: TextDelta, seq: int, now: float) -> TextDelta | None:
        """Take a piece in. None if it completes nothing and is held back, else what is to be handed on."""
        text = event.delta
        size = self._size + len(text)
        if size < self._due and text.isascii() and not _has_mark(text):
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

    def go_to(self, event: TextDelta) -> None:
        """Another part goes on."""
        self._leave()
        self._place = (event.session, event.message, event.part, event.channel)
        self._size, self._tail = self._ends.get(self._place, (0, _UNKNOWN))

    def replaced(self, event: TextSnapshot) -> None:
        """A text may have become another, and those beside it are read again: no end is known any more."""
        self._leave()
        if not event.synthetic:
            place = (event.session, event.message, event.part, event.channel)
            self._remember(place, len(event.text), _UNKNOWN)
        for place, (size, _) in self._ends.items():
            self._ends[place] = size, _UNKNOWN

    def _leave(self) -> None:
        if self._place is not None:
            self._remember(self._place, self._size, self._tail)
        self._place, self._size, self._due, self._tail = None, 0, 0, ""

    def _remember(self, place: _Place, size: int, tail: str) -> None:
        self._ends[place] = size, tail
        self._ends.move_to_end(place)
        while len(self._ends) > PARTS:
            self._ends.popitem(last=False)

    def _passes(self, text: str, size: int) -> None:
        self._size = size
        latest = text if len(text) >= LOOK_BACK else self._tail + text
        self._tail = tail = latest[-LOOK_BACK:].rpartition("\n")[2]
        if (_has_mark(tail) or not tail.isascii()) and _READY_OR_BEGUN.search(tail):
            self._due = 0
        else:
            self._due = (size // STRETCH + 1) * STRETCH


def _has_mark(text: str) -> bool:
    """Whether ASCII ``text`` has one of `ENDS` or `AT_ONCE`; the test looks so for speed."""
    return "\n" in text or "." in text or "!" in text or "?" in text
