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

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from loopguard_cli.core.findings import Action, Gauge
from loopguard_cli.core.holding import STRETCH
from loopguard_cli.detect.matter import SHORT_UNIT as SHORT_UNIT
from loopguard_cli.detect.matter import Floor, Matter, floors_of, matter_of
from loopguard_cli.detect.repetition import Repetition, digest_text

RULE = "char-cycle"

MAX_UNIT = 2_000
STRIDE = STRETCH
_PROBE = 64
FAR = 512
"""Characters between two tests that look back for all units: until a long one counts, it takes longer."""
_NEAR = 256
"""So far back the others look, where nothing was seen again lately."""
_PHRASE = 170
"""So many characters, or fewer, that stand there again are no cycle of a long unit yet, but a phrase: with
`FAR` more of them, they are still too few to count."""
_COPIES = 3
_TAIL = MAX_UNIT * _COPIES + STRIDE
_CANDIDATES = 3


class CharCycle:
    """Follows one part of a message."""

    STRIDE = STRIDE
    """Characters between two places in which it may be tested; those of another look are `FAR`."""
    EVERY = 2
    """One in so many is tested. A cycle that is long enough to count has been there for more than a stride,
    and one of long units for more than `FAR`: where nothing was seen again before, there is none."""

    def __init__(self, part: str, in_code: Callable[[int], bool], beside: CharCycle | None = None) -> None:
        """``beside``: another look at the same text, taken less often, for which more is equal."""
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
        self.unseen = False
        """The latest characters did not stand there before, as far as was looked."""
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
        self._next = size - size % self.STRIDE + self.STRIDE
        self._seen.append((size, event))
        return self._test(event) if size >= self._due else ()

    def _test(self, event: int) -> Sequence[Repetition]:
        """Look at what came since, where a test is due."""
        buffer = self._tail + "".join(self._fresh)
        self._fresh.clear()
        base, beside, due, size = self._start, self._beside, self._due, self._size
        stride, step = self.STRIDE, self.STRIDE * self.EVERY
        found: list[Repetition] = []
        while due <= size:
            end = due - base
            far = due % FAR == 0
            if far and beside is not None:
                found += beside.feed(buffer[end - beside.STRIDE : end], event)
            repetition = None
            if self.unit and self._goes_on(buffer, end):
                repetition = self._judge(buffer, base, end)
                self._suspect = max(self._suspect, due + (FAR if far else stride))
            elif not (far and beside is not None and beside.unseen):  # where more is equal, nothing was
                probe = end - _PROBE
                lowest = probe - (MAX_UNIT if far or due <= self._suspect else _NEAR)
                lowest = lowest if lowest > 0 else 0  # noqa: FURB136 - max() takes as long as the search
                at = buffer.rfind(buffer[probe:end], lowest, end - 1)
                self.unseen = at < 0  # as nearly always
                if at >= 0:
                    repetition = self._begin(buffer, base, end, at, due + (FAR if far else stride))
            if repetition is not None:
                found.append(repetition)
            due += stride if due < self._suspect else step - due % step
        self._due = due
        if size - base > 2 * _TAIL:
            self._start, buffer = size - _TAIL, buffer[-_TAIL:]
        self._tail = buffer
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

    def pass_over(self, text: str) -> Sequence[Repetition]:
        """Take ``text``, exactly one stride, in without a test."""
        self._fresh.append(text)
        self._size += self.STRIDE
        self._next += self.STRIDE
        self._due += self.STRIDE
        self.unseen = False
        return ()

    def floors(self, matter: Matter, unit: str) -> tuple[Floor, Floor] | None:
        return floors_of(matter, len(unit), self.lines)

    def _goes_on(self, buffer: str, end: int) -> bool:
        """Whether the confirmed cycle reaches to ``end``; otherwise it is over."""
        unit, new = self.unit, end - self.STRIDE
        if buffer[new - unit : end - unit] == buffer[new:end]:
            return True
        self.unit, self._told = 0, Action.ALLOW
        return False

    def _begin(self, buffer: str, base: int, end: int, at: int, until: int) -> Repetition | None:
        """The text before ``end`` stands at ``at`` once before: see whether that is a cycle, or might be one
        ``until`` some offset."""
        probe, lowest = buffer[end - _PROBE : end], max(0, end - _PROBE - MAX_UNIT)
        tries = _CANDIDATES
        while at >= 0 and tries:
            unit = end - _PROBE - at
            more = end - _PHRASE
            if unit <= SHORT_UNIT or (
                more >= unit and buffer[more - unit : at] == buffer[more : end - _PROBE]
            ):
                self._suspect = max(self._suspect, until)
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
