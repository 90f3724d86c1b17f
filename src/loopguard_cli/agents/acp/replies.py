"""The assistant's messages, where the protocol only has pieces of text.

A piece may name its message. Without a name, a new message begins with each turn and after each tool
call, which is where a model call ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopguard_cli.core.events import Channel, Event, ReplyFinished, ReplyStarted, TextDelta
from loopguard_cli.core.ids import MessageId, PartId, SessionId


class Replies:
    """The messages of one session."""

    def __init__(self) -> None:
        self.newest = MessageId("")
        self.answers = MessageId("")
        """The user message that is being answered."""
        self._open = False
        self._acted = False
        self._numbers = 0
        self._part = PartId("")
        self._channel = Channel.TEXT

    def begin(self, answers: MessageId) -> None:
        """A turn begins."""
        self.answers = answers

    def acted(self) -> None:
        """A tool call was reported: what is written after it is another part, or another message."""
        self._acted = True

    def piece(
        self, session: SessionId, text: str, channel: Channel, name: str | None, agent: str
    ) -> Iterator[Event]:
        """A piece of text arrived."""
        if not self._open or (name is not None and name != self.newest) or (name is None and self._acted):
            yield from self.finish(session, "")
            self._numbers += 1
            self.newest = MessageId(name or f"reply.{self._numbers}")
            self._open, self._part = True, PartId("")
            yield ReplyStarted(session=session, message=self.newest, answers=self.answers, agent=agent)
        if not self._part or self._acted or channel is not self._channel:
            self._numbers += 1
            self._part, self._channel = PartId(f"{self.newest}.{self._numbers}"), channel
        self._acted = False
        yield TextDelta(session=session, message=self.newest, part=self._part, channel=channel, delta=text)

    def finish(self, session: SessionId, reason: str, *, aborted: bool = False) -> Iterator[Event]:
        """The present message is complete, if there is one."""
        if self._open:
            self._open = False
            yield ReplyFinished(session=session, message=self.newest, finish=reason, aborted=aborted)
