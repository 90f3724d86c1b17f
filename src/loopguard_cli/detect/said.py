"""What the assistant wrote since its last tool call, as one digest."""

from __future__ import annotations

from collections import OrderedDict

from loopguard_cli.core.events import Channel, TextDelta, TextSnapshot
from loopguard_cli.core.ids import PartId
from loopguard_cli.detect.keys import digest

PARTS = 4
CHARACTERS = 2_000
"""Of each part; what is longer is compared by its beginning."""


class Said:
    """Collects text until it is taken."""

    def __init__(self) -> None:
        self._parts: OrderedDict[PartId, str] = OrderedDict()

    def add(self, event: TextDelta | TextSnapshot) -> None:
        if event.channel is not Channel.TEXT:
            return
        if isinstance(event, TextSnapshot):
            self._parts[event.part] = event.text[:CHARACTERS]
        else:
            before = self._parts.get(event.part, "")
            if len(before) < CHARACTERS:
                self._parts[event.part] = before + event.delta[:CHARACTERS]
        while len(self._parts) > PARTS:
            self._parts.popitem(last=False)

    def take(self) -> str:
        """The digest of the text so far, which is forgotten; empty if there was none."""
        if not self._parts:
            return ""
        text = " ".join(" ".join(self._parts.values()).split()).lower()
        self._parts.clear()
        return digest(text.encode("utf-8", "surrogatepass")) if text else ""
