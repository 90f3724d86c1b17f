"""The whole text of the message that is being written, for rules that compare messages."""

from __future__ import annotations

from loopguard_cli.core.events import Channel, TextDelta, TextSnapshot
from loopguard_cli.core.ids import MessageId, PartId
from loopguard_cli.detect.textparts import MAX_CHARS, MAX_PARTS


class Message:
    """The texts of one message as they stand, by channel."""

    def __init__(self, message: MessageId) -> None:
        self.id = message
        self._parts: dict[Channel, dict[PartId, list[str]]] = {Channel.TEXT: {}, Channel.REASONING: {}}
        self._size = 0

    def delta(self, event: TextDelta) -> None:
        parts = self._parts[event.channel]
        pieces = parts.get(event.part)
        if pieces is None:
            pieces = parts[event.part] = []
        self._size += len(event.delta)
        if self._within(parts):
            pieces.append(event.delta)

    def snapshot(self, event: TextSnapshot) -> None:
        parts = self._parts[event.channel]
        self._size += len(event.text) - sum(map(len, parts.get(event.part, ())))
        parts[event.part] = [event.text]
        self._within(parts)

    def text(self, channel: Channel) -> str:
        """Empty, too, when it was too long to be kept."""
        return "\n".join(self.parts(channel)).strip()

    def parts(self, channel: Channel) -> list[str]:
        if self._size > MAX_CHARS:
            return []
        return ["".join(pieces) for pieces in self._parts[channel].values()]

    def _within(self, parts: dict[PartId, list[str]]) -> bool:
        if self._size <= MAX_CHARS and len(parts) <= MAX_PARTS:
            return True
        self._size = MAX_CHARS + 1
        for channel in self._parts:
            self._parts[channel] = {}
        return False
