"""What the assistant wrote since its last tool call, as one digest."""

from __future__ import annotations

from collections import OrderedDict

from loopguard_cli.core.events import Channel, TextDelta, TextSnapshot
from loopguard_cli.core.ids import PartId
from loopguard_cli.detect.keys import digest

PARTS = 4
CHARACTERS = 2_000
"""Of each part; what is longer is compared by its beginning."""


_TEXT = Channel.TEXT


class _Part:
    """The beginning of one part."""

    __slots__ = ("pieces", "size")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.size = 0


class Said:
    """Collects text until it is taken."""

    def __init__(self) -> None:
        self._parts: OrderedDict[PartId, _Part] = OrderedDict()

    def add(self, event: TextDelta | TextSnapshot) -> None:
        if event.channel is not _TEXT:
            return
        part = self._parts.get(event.part)
        if part is None:
            part = self._parts[event.part] = _Part()
            while len(self._parts) > PARTS:
                self._parts.popitem(last=False)
        if isinstance(event, TextSnapshot):
            part.pieces, part.size = [event.text[:CHARACTERS]], len(event.text)
        elif part.size < CHARACTERS:
            part.pieces.append(event.delta)
            part.size += len(event.delta)

    def take(self) -> str:
        """The digest of the text so far, which is forgotten; empty if there was none."""
        if not self._parts:
            return ""
        parts = ["".join(part.pieces)[:CHARACTERS] for part in self._parts.values()]
        text = " ".join(" ".join(parts).split()).lower()
        self._parts.clear()
        return digest(text.encode("utf-8", "surrogatepass")) if text else ""
