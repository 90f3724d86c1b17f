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
_MOST_UNITS, _KEPT_UNITS = 1_024, 512

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
        self._known: set[bytes] = set()
        self._past: dict[bytes, deque[int]] = {}
        """Where units stand again, the latest places."""
        self.feed("\n".join([*latest, ""]))
        self._blocks = deque([len(self._units)], maxlen=MAX_CHARS // BLOCK)
        """Units before each of the latest blocks."""
        self._held = [begun] if begun else []
        self._tail = begun[-LOOK_BACK:]
        self._inside = inside

    def feed(self, text: str) -> bool:
        """Whether a repetition may have been completed."""
        seen = self._tail + text
        if "\n" not in text and (
            (seen.isascii() and "." not in seen and "!" not in seen and "?" not in seen)
            or READY.search(seen) is None
        ):
            self._held.append(text)
            self._tail = seen[-LOOK_BACK:]
            return False
        if self._held:
            self._held.append(text)
            text = "".join(self._held)
        data = (text.encode() if text.isascii() else _in_ascii(text)).translate(FOLDED)
        # To find something in bytes is several times faster than to ask whether it is in them.
        if data.find(b".'") >= 0:
            data = _CLOSED.sub(b".", data)
        bits, _, rest = data.replace(b". ", b"\n").rpartition(b"\n")
        bits, quoted = bits.translate(None, _NOTHING_SAID), False
        if bits.find(b">") >= 0 and (bits.startswith(b">") or bits.find(b"\n>") >= 0):
            bits, rest = _without_quotes(data, inside=self._inside)
            quoted = _QUOTE.match(rest) is not None
        units = [unit for unit in bits.split(b"\n") if len(unit) >= _LEAST]
        if text.isascii():
            done = len(text) - len(rest)
        else:
            done = text.rfind("\n") + 1 if quoted else _last_end(text)
        self._held = [text[done:]] if done < len(text) else []
        self._tail = text[done:][-LOOK_BACK:]
        inside, self._inside = self._inside, text[done - 1] != "\n" if done else self._inside
        last = self._take(units) if units else ()
        return bool(last) and _may_say(text[:done], last, inside=inside)

    def at_end(self) -> None:
        """A block is complete."""
        self._blocks.append(self._forgotten + len(self._units))
        if len(self._units) > _MOST_UNITS:
            self._forgotten += len(self._units) - _KEPT_UNITS
            self._units = self._units[-_KEPT_UNITS:]
            self._known = set(self._units)
            self._past = {unit: past for unit, past in self._past.items() if unit in self._known}

    def reach(self) -> int:
        """In how many of the latest blocks the window lies, wherever in the present one it ends."""
        begin = self._blocks[-1] - self._window
        return next(
            (n for n, units in enumerate(reversed(self._blocks), 1) if units < begin), len(self._blocks)
        )

    def _take(self, units: list[bytes]) -> list[bytes]:
        """Those that may complete a repetition."""
        at = self._forgotten + len(self._units)
        self._units += units
        new = set(units) - self._known
        self._known |= new
        if len(new) == len(units):
            return []
        last = []
        for place, unit in enumerate(units, at):
            if unit in new:
                new.remove(unit)
            elif self._is_last(unit, place):
                last.append(unit)
        return last

    def _is_last(self, unit: bytes, at: int) -> bool:
        """Whether ``unit``, here again, may end a block for the last time it takes, or be the last copy."""
        copies, past = self._copies, self._past.get(unit)
        if past is None:
            self._past[unit] = deque([at], maxlen=copies + MORE - 1)
            return False
        size = at - past[-1]
        past.append(at)
        units, end = self._units, at + 1 - self._forgotten
        if len(past) == past.maxlen and past[0] > at - self._window:
            latest = units[max(0, end - self._window) : end]
            if latest.count(unit) >= copies + MORE:
                return True
        begin = end - copies * size
        if begin < 0 or units[begin + size - 1] != unit:
            return False
        return units[end - size : end] * copies == units[begin:end]


def _in_ascii(text: str) -> bytes:
    """``text`` with the marks that matter in ASCII, as far as there are such."""
    text = _FINAL.sub(". ", text.casefold().replace("\u2026", "."))
    return _CLOSING.sub("'", _SPACE.sub(" ", text)).encode("utf-8", "surrogatepass")


def _without_quotes(data: bytes, *, inside: bool) -> tuple[bytes, bytes]:
    """The units of ``data``, and what is open, without the lines that are quotes; an open one is held whole.
    The first is none, if it begins ``inside`` a line."""
    lines = data.split(b"\n")
    quotes = [_QUOTE.match(line) is not None for line in lines]
    quotes[0] = quotes[0] and not inside
    bits = b"\n".join(
        [line for line, quote in zip(lines[:-1], quotes[:-1], strict=True) if not quote] + [b""]
    )
    rest = lines[-1]
    if not quotes[-1]:
        begun, ended, rest = rest.replace(b". ", b"\n").rpartition(b"\n")
        bits += begun + ended
    return bits.replace(b". ", b"\n").translate(None, _NOTHING_SAID), rest


def _last_end(text: str) -> int:
    """Behind the last unit that ``text`` completes."""
    return max((one.end() for one in READY.finditer(text)), default=0)


def _may_say(text: str, units: Sequence[bytes], *, inside: bool) -> bool:
    """Whether one of ``units`` may belong to a sentence that says something. Those that are lines of ``text``
    tell by themselves, but for the first, if it begins ``inside`` a line."""
    if not text.isascii():
        return True
    for line in text.split("\n"):
        folded = line.encode().translate(FOLDED)
        if not inside and (unit := folded.translate(None, _NOTHING_SAID)) in units and b". " not in folded:
            units = [one for one in units if one != unit]
            if substantial(line.strip().lower()):
                return True
        inside = False
    return bool(units)
