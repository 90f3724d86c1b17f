"""char-cycle: the same characters over and over, in text, code and reasoning.

The tail of a growing text is tested at fixed offsets (not at the ends of deltas) for an exact
period of 1 to 2,000 characters: the latest characters are looked up further back by substring
search, and the distance, if it is a period, is confirmed by comparing slices. A confirmed cycle is
followed at the cost of one comparison a stride, so its length is known beyond the tail.

How long a cycle must be depends on what repeats, since honest text has long repetitions too: pixel
rows and byte tables, base64, rulers, boxes, alignment rows, equal lines of code. For words of prose
the floors are those that oh-my-pi published and found free of false alarms on 13,500 blocks (units to
60 characters: 4 copies and 180 characters; longer ones: 3 copies and 1,024); the others are ours.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from loopguard_cli.core.findings import Action, Gauge
from loopguard_cli.core.holding import STRETCH
from loopguard_cli.detect.matter import Floor, Matter
from loopguard_cli.detect.repetition import Repetition, digest_text
from loopguard_cli.detect.substance import looks_like_code

RULE = "char-cycle"

MAX_UNIT = 2_000
STRIDE = STRETCH
_PROBE = 64
_NEAR = 256
"""Between the tests that look back for all units, only short ones are looked for."""
_COPIES = 3
_TAIL = MAX_UNIT * _COPIES + STRIDE
_CANDIDATES = 3


SHORT_UNIT = 60

_FLOORS = {
    Matter.PROSE: (Floor(3, 1_024), Floor(4, 1_024)),
    Matter.DATA: (Floor(6, 8_192), Floor(12, 32_768)),
    Matter.MARKS: (Floor(6, 4_096), Floor(12, 8_192)),
    Matter.UNBROKEN: (Floor(16, 360), Floor(32, 1_024)),
    Matter.BLANKS: (Floor(128, 256), Floor(256, 1_024)),
    Matter.TAGS: (Floor(16, 180), Floor(40, 180)),
    Matter.ITEM: (Floor(32, 1_024), Floor(96, 2_048)),
    Matter.CLOSERS: (Floor(90, 180), Floor(150, 300)),
    Matter.DIGITS: (Floor(64, 768), Floor(128, 2_048)),
    Matter.PICTURES: (Floor(64, 180), Floor(128, 512)),
}
"""Nudge and abort."""
_SHORT = (Floor(4, 180), Floor(10, 180))

RUN = 3
"""A unit of so few marks is no box and no table; rulers end within a few lines."""
_RUN = (Floor(64, 1_024), Floor(64, 3_072))

LONG_CODE = 400
"""Rows of data are shorter, and nobody writes longer pieces of code again and again."""
_LONG_CODE = (Floor(4, 2_048), Floor(8, 6_144))
_LINES_OF_CODE = (Floor(6, 2_048), Floor(32, 4_096))
_LINE_OF_CODE = (Floor(6, 2_048), Floor(64, 3_072))
_FIELD = (Floor(6, 2_048), Floor(128, 3_072))
"""Of short lines and cells: boards and grids have up to 100 of them."""
FIELD = 45
"""Characters of a unit that may be a field."""
JUNK = 16
"""Characters of a piece of a number, or of digits among letters, that repeats itself."""
PICTURE = 12
"""Characters of a few emoji."""

_LETTERS = re.compile(r"[^\W\d_]{2,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_CONSTANTS = re.compile(
    r"\b(?:0x[0-9a-f]*|[0-9a-f]*\d[0-9a-f]*|[a-f]{2}|[a-f]{4}|[a-f]{8}|x[0-9a-f]{2}|null|none|nil|nan|true|false"
    r"|undefined|void|inf|na|px|em|rem|nop|\w)\b",
    re.IGNORECASE,
)
_GLUED = re.compile(r"[^\W\d_/.,:;!?|+=~-]{2,}")
_SEPARATED = re.compile(r"[/.,:;!?|+=~_-]+")
_HEXADECIMAL = frozenset("abcdef")
_PICTURE = re.compile(r"[\u2600-\u27bf\ufe0f\u200d\U0001f300-\U0001faff]+")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE)
_TABLE_ROW = re.compile(r"\|[^|\n]*\||^[^|\n]*\|[^|\n]*$")
_CLOSING = re.compile(r"[\s;,]*[\]})][\s;,\]})]*")
_CLOSING_TAG = re.compile(r"</[A-Za-z][\w:.-]*\s*>")
_SPECIAL = re.compile(
    r"<[|\uff5c][^<>\n]{0,40}[|\uff5c]>|<(?:pad|unk|eos|bos|sep|cls|mask|s|end_of_turn|start_of_turn"
    r"|extra_id_\d+|unused\d+)>|\[/?(?:INST|TOOL_CALLS|PAD|SEP|CLS|MASK|UNK)\]"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff]")


class CharCycle:
    """Follows one part of a message."""

    STRIDE = STRIDE
    """Characters between two places in which it may be tested."""
    EVERY = 2
    """One in so many is tested. A cycle that is long enough to count has been there for more than a stride,
    and one of long units for more than `_NEAR`: where nothing was seen again before, there is none."""

    def __init__(self, part: str, in_code: Callable[[int], bool], beside: CharCycle | None = None) -> None:
        """``beside``: another look at the same text, taken less often."""
        self._beside = beside
        self._part = part
        self._in_code = in_code
        self._tail = ""
        """What was read last, at least `_TAIL` of it if there is so much."""
        self._fresh: list[str] = []
        """What came since."""
        self._size = 0
        self._start = 0
        """Offset from which on text counts as known; what is before it is forgotten."""
        self._next = self.STRIDE
        """Offset at which the present stride ends."""
        self._due = self.STRIDE * self.EVERY
        """Offset of the next test."""
        self._suspect = 0
        """Offset up to which every stride is tested."""
        self.unit = 0
        self._began = 0
        """Offset at which the confirmed cycle begins."""
        self.lines = 0
        """Line breaks in its unit."""
        self._matter = Matter.PROSE
        self._told = Action.ALLOW
        self._seen: deque[tuple[int, int]] = deque(maxlen=_TAIL // STRIDE)
        """Offset and sequence number of the latest events that completed a stride."""

    def feed(self, text: str, event: int) -> Sequence[Repetition]:
        self._fresh.append(text)
        self._size = size = self._size + len(text)
        if size < self._next:
            return ()
        self._seen.append((size, event))
        found = self._test(event) if size >= self._due else ()
        self._pass(size)
        return found

    def _pass(self, size: int) -> None:
        """Strides are complete."""
        self._next = size - size % self.STRIDE + self.STRIDE
        if size - self._start > 2 * _TAIL:
            self._start = size - _TAIL
            self._tail, self._fresh = self._known()[-_TAIL:], []

    def _known(self) -> str:
        """The text that counts as known, as it is compared."""
        return self._tail + self.read("".join(self._fresh))

    def _test(self, event: int) -> Sequence[Repetition]:
        """Look at what came since, where a test is due."""
        buffer = self._tail = self._known()
        self._fresh = []
        base, beside, stride = self._start, self._beside, self.STRIDE
        found: list[Repetition] = []
        while (due := self._due) <= self._size:
            end = due - base
            far = due % _NEAR == 0
            if beside is not None and far:
                found += beside.feed(buffer[end - beside.STRIDE : end], event)
            at, repetition = 0, None
            if self.unit and self._goes_on(buffer, end):
                repetition = self._judge(buffer, base, end)
            else:
                probe = end - _PROBE
                reach = MAX_UNIT if far else _NEAR
                at = buffer.rfind(buffer[probe:end], max(0, probe - reach), end - 1)
                if at >= 0:
                    repetition = self._begin(buffer, base, end, at)
            if at >= 0:
                self._suspect = max(self._suspect, due + (_NEAR if far else stride))
            if repetition is not None:
                found.append(repetition)
            self._due = due + stride
            if self._due > self._suspect:
                self._due += -self._due % (stride * self.EVERY)
        return found

    def gauges(self) -> Iterable[Gauge]:
        """Characters of the cycle that the text is in, of those that are worth a nudge or an abort."""
        if not self.unit:
            return
        floors = self.floors(self._matter, self._tail[-self.unit :])
        if floors is None:
            return
        floor = floors[self._told is not Action.ALLOW]
        used = self._due - self.STRIDE - self._began
        yield Gauge(rule=RULE, used=used, limit=max(floor.chars, floor.copies * self.unit))

    # --- inside ------------------------------------------------------------------------------

    def read(self, text: str) -> str:
        """``text`` as it is compared."""
        return text

    def pass_over(self, text: str) -> None:
        """Take ``text``, of one stride, in without a test."""
        self._fresh.append(text)
        self._size += len(text)
        self._due += self.STRIDE
        self._pass(self._size)

    def floors(self, matter: Matter, unit: str) -> tuple[Floor, Floor] | None:
        return floors_of(matter, len(unit), self.lines)

    def _goes_on(self, buffer: str, end: int) -> bool:
        """Whether the confirmed cycle reaches to ``end``; otherwise it is over."""
        unit, new = self.unit, end - self.STRIDE
        if buffer[new - unit : end - unit] == buffer[new:end]:
            return True
        self.unit, self._told = 0, Action.ALLOW
        return False

    def _begin(self, buffer: str, base: int, end: int, at: int) -> Repetition | None:
        """The text before ``end`` stands at ``at`` once before: see whether that is a cycle."""
        probe, lowest = buffer[end - _PROBE : end], max(0, end - _PROBE - MAX_UNIT)
        tries = _CANDIDATES
        while at >= 0 and tries:
            unit = end - _PROBE - at
            began = _run_start(buffer, end, unit)
            if end - began >= _least(unit):
                self.unit, self._began = unit, base + began
                self.lines = buffer.count("\n", end - unit, end)
                self._matter = matter_of(buffer[end - unit : end])
                return self._judge(buffer, base, end)
            tries -= 1
            at = buffer.rfind(probe, lowest, at + _PROBE - 1)
        return None

    def _judge(self, buffer: str, base: int, end: int) -> Repetition | None:
        unit, run = self.unit, base + end - self._began
        if self._told is Action.ABORT or run < _least(unit):
            return None
        matter = self._matter
        if matter is Matter.PROSE and self._in_code(base + end - 1):
            matter = Matter.CODE
        elif matter in (Matter.UNBROKEN, Matter.DIGITS) and self._in_code(base + end - 1):
            matter = Matter.DATA
        floors = self.floors(matter, buffer[end - unit : end])
        if floors is None:
            return None
        nudge, abort = floors
        if abort.reached(unit, run):
            proposes = Action.ABORT
        elif nudge.reached(unit, run):
            proposes = Action.NUDGE
        else:
            return None
        if proposes is self._told:
            return None
        self._told = proposes
        return Repetition(
            rule=RULE,
            proposes=proposes,
            limit=Action.ABORT if matter in (Matter.PROSE, Matter.UNBROKEN) else proposes,
            identity=_identity(buffer[end - unit : end]),
            count=run // unit,
            events=tuple(event for offset, event in self._seen if offset > self._began),
            part=self._part,
            keep=self._began + unit,
            facts={"unit": unit, "chars": run},
        )


def matter_of(unit: str) -> Matter:
    """What ``unit``, standing in a row of its like, consists of (fences not considered)."""
    row = unit if len(unit) > SHORT_UNIT else unit * (SHORT_UNIT // len(unit) + 2)
    if unit.isspace():
        return Matter.BLANKS if "\n" in unit else Matter.MARKS
    if "\ufffd" in unit:
        return Matter.UNBROKEN  # what is left of letters that nobody chose
    if not any(char.isalnum() for char in unit):
        if len(unit) <= PICTURE and _CLOSING.fullmatch(unit):
            return Matter.CLOSERS
        few = len(unit) <= PICTURE and "\n" not in unit
        return Matter.PICTURES if few and _PICTURE.fullmatch("".join(unit.split())) else Matter.MARKS
    if (at := max(unit.find("<"), unit.find("["))) >= 0:
        turned = _SPECIAL.sub("", unit[at:] + unit[:at])
        if not any(char.isalnum() for char in _CLOSING_TAG.sub("", turned)):
            return Matter.TAGS
        unit = turned if len(turned) < len(unit) else unit
        row = unit if len(unit) > SHORT_UNIT else unit * (SHORT_UNIT // len(unit) + 2)
    broken = any(char.isspace() for char in unit) or _UNSPACED.search(unit) is not None
    if not broken and len(unit) <= SHORT_UNIT and _is_glued(row):
        return Matter.UNBROKEN
    if len(unit) <= JUNK and unit.isalnum() and any(map(str.isdigit, unit)):
        return Matter.DIGITS
    if not broken or not _LETTERS.search(_CONSTANTS.sub(" ", row)):
        return Matter.DATA
    if "```" in unit or "~~~" in unit:
        return Matter.PROSE  # whole fenced blocks, not what stands in one
    if len(unit) <= SHORT_UNIT and _TABLE_ROW.search(unit):
        return Matter.CODE
    if len(unit) <= SHORT_UNIT and _ITEM.search(row):
        return Matter.ITEM
    begin = unit.find("\n") + 1
    lines = [line.strip() for line in (unit[begin:] + unit[:begin]).splitlines() if line.strip()]
    # A verse may end with a comma.
    coded = sum(line.startswith("|") or looks_like_code(line.casefold().removesuffix(",")) for line in lines)
    return Matter.CODE if 2 * coded > len(lines) else Matter.PROSE


def _is_glued(row: str) -> bool:
    """Whether ``row`` is made of words in small letters with nothing or separators between them:
    no base64, no numbers, no constants, no single letter."""
    if row != row.lower() or any(char.isdigit() for char in row):
        return False
    letters = set(_SEPARATED.sub("", row))
    if len(letters) < 2 or letters <= _HEXADECIMAL or not all(char.isalpha() for char in letters):
        return False
    return _GLUED.search(_CONSTANTS.sub(" ", row)) is not None


def floors_of(matter: Matter, unit: int, lines: int) -> tuple[Floor, Floor]:
    """From when on a cycle of units of so many characters and line breaks is worth a nudge, and an abort."""
    if matter is Matter.PROSE and unit <= SHORT_UNIT:
        return _SHORT
    if matter is Matter.MARKS and unit <= RUN:
        return _RUN
    if matter is Matter.CODE:
        if unit >= LONG_CODE:
            return _LONG_CODE
        if lines > 1:
            return _LINES_OF_CODE
        return _LINE_OF_CODE if unit > FIELD else _FIELD
    return _FLOORS[matter]


def _least(unit: int) -> int:
    """The shortest run that any floor accepts."""
    if unit <= SHORT_UNIT:
        return max(180, 4 * unit)
    return max(1_024, _COPIES * unit)


def _run_start(buffer: str, end: int, unit: int) -> int:
    """Where the longest run of period ``unit`` that ends at ``end`` begins."""
    # What is known to be periodic grows by doubling; then the last doubling is halved.
    good, step = end - unit, _PROBE
    while good > 0:
        low = max(0, good - step)
        if buffer[low:good] != buffer[low + unit : good + unit]:
            break
        good, step = low, step * 2
    while step > 1 and good > 0:
        step //= 2
        low = max(0, good - step)
        if buffer[low:good] == buffer[low + unit : good + unit]:
            good = low
    return good


def _identity(unit: str) -> str:
    """The same wherever in the unit one begins."""
    folded = unit.casefold()
    words = (folded + folded).split()
    if len(words) > 2:
        return digest_text(" ".join(sorted(set(words[1:-1]))))
    turns = (folded[at:] + folded[:at] for at in range(min(len(folded), SHORT_UNIT)))
    return digest_text(min(turns))
