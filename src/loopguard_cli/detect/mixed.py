"""prose-block and prose-irregular where words and outputs cannot be told apart, as on a screen.

Logs, listings and progress say the same line again and again, and nobody is stuck (ours; rivals look at no
screens). Hence the copies of a passage count as elsewhere only while they flow on within one line, as prose
does and logs hardly do. Where each begins a line it takes `PATIENCE` times as many: what is stuck does not
end, and so it gets there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain

from loopguard_cli.core.findings import Gauge
from loopguard_cli.core.ids import PartId
from loopguard_cli.detect.prose import ProseWindow
from loopguard_cli.detect.repetition import Repetition
from loopguard_cli.detect.sentences import Sentence

PATIENCE = 3

_REMEMBERED = 512
"""Lines of a part whose beginnings are known; a sentence is at most some lines old when it is complete."""


class MixedProse:
    """The completed sentences of one message, as `prose.ProseWindow`. Feed it the text itself first."""

    def __init__(self, threshold: int) -> None:
        self._flowing, self._all = ProseWindow(threshold), ProseWindow(threshold * PATIENCE)
        self._lines: dict[PartId, _Lines] = {}

    def clear(self) -> None:
        self._flowing.clear()
        self._all.clear()

    def restart(self) -> None:
        """The text begins anew, at its first character."""
        self.clear()
        self._lines.clear()

    def feed(self, part: PartId, text: str) -> None:
        self._lines.setdefault(part, _Lines()).feed(text)

    def add(self, sentences: Sequence[Sentence]) -> Sequence[Repetition]:
        flowing: list[Repetition] = []
        for one in sentences:
            if self._lines[PartId(one.part)].begins(one.start):
                self._flowing.clear()
            else:
                flowing += self._flowing.add((one,))
        return [*flowing, *self._all.add(sentences)]

    def latest(self) -> list[str]:
        return self._all.latest()

    @property
    def following(self) -> bool:
        return self._all.following or self._flowing.following

    def gauges(self) -> Iterable[Gauge]:
        yield from chain(self._all.gauges(), self._flowing.gauges())


class _Lines:
    """Where the lines of one part begin."""

    def __init__(self) -> None:
        self._size = 0
        self._blank = True
        """Nothing but white space stands on the latest line."""
        self._begins: deque[int] = deque(maxlen=_REMEMBERED)
        """Offsets of the first characters of lines that are not blank."""

    def feed(self, text: str) -> None:
        offset = self._size
        for line in text.splitlines(keepends=True):
            if self._blank and (said := line.lstrip()):
                self._begins.append(offset + len(line) - len(said))
                self._blank = False
            if line.endswith("\n"):
                self._blank = True
            offset += len(line)
        self._size = offset

    def begins(self, offset: int) -> bool:
        return offset in self._begins
