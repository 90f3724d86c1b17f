"""Whether a text that grows may repeat itself: its units, which are lines, and what stands in a line between
two marks that may end a sentence.

Equal sentences have equal units, however they are written; so where sentences are repeated, units are.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence

from loopguard_cli.core.holding import CLOSERS, FINAL, LOOK_BACK, READY
from loopguard_cli.detect.substance import substantial
from loopguard_cli.detect.textparts import MAX_CHARS

BLOCK = 1_024
"""Characters of a text, from the beginning of its window on, by which places in it are told."""

MORE = 2
"""Copies more of a sentence than of a block."""
_LEAST = 8
"""Characters of a unit that counts. Sentences that say something have three words; some have a shorter unit
besides, as an abbreviation makes them."""
_PER_SENTENCE = 2
"""Units that the sentences of a text have at most, on average."""
_KEPT, _MOST = 2, 12
"""Windows of units that are known: when there are that many, all but the first number are forgotten."""

# In all of these, more is one than for the rules: equal sentences have equal units.
_FINAL = re.compile(f"[{FINAL}]")
_SPACE = re.compile(r"[^\S\n]")
_CLOSING = re.compile("[\u201d\u2019\xbb\u300d\u300f\uff09\u3011\u300b\u3009]")
_CLOSERS = bytes(ord(one) for one in CLOSERS if one.isascii() and one != "\\")
_CAPITALS = bytes(range(ord("A"), ord("Z") + 1))
_WHITE = b"\t\r\f\v\x1c\x1d\x1e\x1f"
FOLDED = bytes.maketrans(
    _CAPITALS + b"!?" + _WHITE + _CLOSERS,
    _CAPITALS.lower() + b".." + b" " * len(_WHITE) + b"'" * len(_CLOSERS),
)
_CLOSED = re.compile(rb"\.'+(?= )")
_NOTHING_SAID = b" .'-=#*+~|/<"
"""Left out of units, so that white space makes no difference, and rulers are none."""
_QUOTE = re.compile(rb" *(?:(?:[-*+]|\d{1,9}[.']) +)*>")


class Units:
    """What stands between two places where a sentence may end."""

    def __init__(self, copies: int, window: int) -> None:
        self._copies, self._window = copies, _PER_SENTENCE * window
        self.begin(())

    def begin(self, latest: Iterable[str], begun: str = "", *, inside: bool = False) -> None:
        """After the ``latest`` sentences; what follows goes on with ``begun``, maybe ``inside`` a line."""
        self._held: list[str] = []
        """What completes no unit yet."""
        self._tail = ""
        """The last characters of it."""
        self._inside = False
        """It follows a unit of the same line."""
        self._units: list[bytes] = []
        self._forgotten = 0
        """Units before those."""
        self._known: dict[bytes, int] = {}
        """A place of each of them: how many units there are up to it."""
        self._places: dict[bytes, list[int]] = {}
        """All places of those that stand there more than once, forgotten ones too."""
        self._dull: set[str] = set()
        """Lines that were looked at and say nothing."""
        self.feed("\n".join([*latest, ""]))
        self._blocks = deque([len(self._units)], maxlen=MAX_CHARS // BLOCK)
        """Units before each of the latest blocks."""
        self._held = [begun] if begun else []
        self._tail = begun[-LOOK_BACK:]
        self._inside = inside

    def feed(self, text: str) -> bool:
        """Whether a repetition may have been completed."""
        if "\n" not in text:
            seen = self._tail + text
            marked = not seen.isascii() or "." in seen or "!" in seen or "?" in seen
            if not marked or READY.search(seen) is None:
                self._held.append(text)
                self._tail = seen[-LOOK_BACK:]
                return False
        if self._held:
            self._held.append(text)
            text = "".join(self._held)
        data = (text.encode() if text.isascii() else _in_ascii(text)).translate(FOLDED)
        # To find something in bytes is several times faster than to ask whether it is in them.
        if (closed := data.find(b".'")) >= 0:
            data = data[:closed] + _CLOSED.sub(b".", data[closed:])
        # Faster than to replace them.
        bits, _, rest = b"\n".join(data.split(b". ")).rpartition(b"\n")
        bits, said, quoted = bits.translate(None, _NOTHING_SAID), data, False
        if bits.find(b">") >= 0 and (bits.startswith(b">") or bits.find(b"\n>") >= 0):
            said, quoted = _without_quotes(data, inside=self._inside)
            bits, _, rest = b"\n".join(said.split(b". ")).rpartition(b"\n")
            bits = bits.translate(None, _NOTHING_SAID)
        if quoted:
            done = text.rfind("\n") + 1
        else:
            done = len(text) - len(rest) if text.isascii() else _last_end(text)
        self._held = [text[done:]] if done < len(text) else []
        self._tail = text[done:][-LOOK_BACK:]
        inside, self._inside = self._inside, text[done - 1] != "\n" if done else self._inside
        units = bits.split(b"\n")
        last = self._take(units)
        if not last or not text.isascii():
            return bool(last)
        return self._may_say(text, data, units if said is data else [], last, inside)

    def at_end(self) -> None:
        """A block is complete."""
        self._blocks.append(self._forgotten + len(self._units))
        if len(self._units) > _MOST * self._window:
            surplus = len(self._units) - _KEPT * self._window
            self._forgotten += surplus
            del self._units[:surplus]
            self._dull.clear()
            self._known = {unit: place for place, unit in enumerate(self._units, self._forgotten + 1)}
            self._places = {unit: places for unit, places in self._places.items() if unit in self._known}

    def reach(self) -> int:
        """In how many of the latest blocks the window lies, wherever in the present one it ends."""
        begin = self._blocks[-1] - self._window
        return next(
            (n for n, units in enumerate(reversed(self._blocks), 1) if units < begin), len(self._blocks)
        )

    def _take(self, bits: list[bytes]) -> Sequence[bytes]:
        """Of the next units, those that may complete a repetition."""
        units, places, place = self._units, self._places, self._forgotten + len(self._units)
        add, first_place = units.append, self._known.setdefault
        last: list[bytes] = []
        for unit in bits:
            if len(unit) < _LEAST:
                continue
            add(unit)
            place += 1
            if (before := first_place(unit, place)) == place:  # as mostly
                continue
            if unit not in places:
                places[unit] = [before, place]
            else:
                places[unit].append(place)
                if self._is_last(unit):
                    last.append(unit)
        return last

    def _is_last(self, unit: bytes) -> bool:
        """Whether the latest ``unit`` may end a block for the last time it takes, or be the last copy."""
        units, places, copies = self._units, self._places[unit], self._copies
        often, place = copies + MORE, places[-1]
        if len(places) >= often and places[-often] > place - self._window:
            return True
        size = place - places[-2]
        begin = len(units) - copies * size
        if begin < 0 or units[begin + size - 1] != unit:
            return False
        return units[-size:] * copies == units[begin:]

    def _may_say(
        self, text: str, data: bytes, units: list[bytes], last: Iterable[bytes], inside: bool
    ) -> bool:
        """Whether one of the ``last`` units may belong to a sentence that says something. Those that are
        lines tell by themselves, but for the first, if it begins ``inside`` a line."""
        lines = text.split("\n")
        if len(units) != len(lines) - 1:
            units = data.translate(None, _NOTHING_SAID).split(b"\n")[:-1]
        for unit in set(last):
            try:
                line = lines[units.index(unit, inside)]
            except ValueError:
                return True
            if line not in self._dull:
                if b". " in line.encode().translate(FOLDED) or substantial(line.strip().lower()):
                    return True
                self._dull.add(line)
        return False


def _in_ascii(text: str) -> bytes:
    """``text`` with the marks that matter in ASCII, as far as there are such."""
    text = _FINAL.sub(". ", text.casefold().replace("\u2026", "."))
    return _CLOSING.sub("'", _SPACE.sub(" ", text)).encode("utf-8", "surrogatepass")


def _without_quotes(data: bytes, *, inside: bool) -> tuple[bytes, bool]:
    """``data`` without the lines that are quotes, and whether the last one is, which is open and held whole.
    The first is none, if it begins ``inside`` a line."""
    lines = data.split(b"\n")
    quotes = [line.find(b">") >= 0 and _QUOTE.match(line) is not None for line in lines]
    quotes[0] = quotes[0] and not inside
    said = [line for line, quote in zip(lines, quotes, strict=True) if not quote]
    return b"\n".join([*said, b""] if quotes[-1] else said), quotes[-1]


def _last_end(text: str) -> int:
    """Behind the last unit that ``text`` completes."""
    return max((one.end() for one in READY.finditer(text)), default=0)
