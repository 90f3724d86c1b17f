"""The assistant's messages: streamed piece by piece, or whole, block by block.

A whole message comes as one line per block, all with the id of the message; a block counts as one
delta. What was streamed comes so once more; then only its tool calls are news.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.calls import Calls
from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.events import (
    Channel,
    Event,
    ReplyFinished,
    ReplyStarted,
    TextDelta,
    Unparsed,
    UsageReported,
)
from loopguard_cli.core.ids import MessageId, PartId, SessionId

SESSIONS = 100
_CHANNELS = {"text": Channel.TEXT, "thinking": Channel.REASONING}
_PIECES = {"citations", "compaction", "input_json", "signature"}
"""Pieces that are neither text nor reasoning."""
_MARKS = {
    "content_block_delta", "content_block_start", "content_block_stop", "error", "goal_state",
    "message_delta", "message_start", "message_stop", "ping",
}  # fmt: skip
"""Events of a stream; what one means to us depends on the message it belongs to."""


class _Reply:
    """The newest message of one session."""

    __slots__ = ("answered", "answers", "ending", "id", "open", "parts", "said", "streamed")

    def __init__(self) -> None:
        self.id = self.answered = self.answers = MessageId("")
        self.open = self.streamed = self.ending = False
        self.parts = 0
        self.said = ""
        """Its newest text, where it was told whole."""


class Replies:
    """The messages of all sessions."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._replies: Recent[SessionId, _Reply] = Recent(SESSIONS)

    def newest(self, session: SessionId) -> MessageId:
        return self._of(session).id

    def answers(self, session: SessionId) -> MessageId:
        """The user message that is being answered."""
        return self._of(session).answers

    def ending(self, session: SessionId) -> bool:
        """The newest message ends its turn, as it says itself."""
        return self._of(session).ending

    def asked(self, session: SessionId, message: MessageId) -> None:
        """A user message begins a turn."""
        self._of(session).answers = message

    # --- streamed ----------------------------------------------------------------------------

    def streamed(self, session: SessionId, event: dict[str, Any]) -> Iterator[Event]:
        """One event of the provider's stream."""
        reply = self._of(session)
        match reading.text(event, "type"):
            case "message_start":
                message = reading.message_id(event, "message", "id")
                if message:
                    yield from self._start(session, message, reading.text(event, "message", "model"))
                    reply.streamed = True
            case "content_block_delta" if reply.open:
                yield from self._delta(session, reply, event)
            case "message_delta" if reply.open:
                yield from _usage(session, reply.id, reading.record(event, "usage"))
                if reason := reading.text(event, "delta", "stop_reason"):
                    yield from self.finish(session, reason)
            case kind if kind not in _MARKS:
                yield Unparsed(native=f"stream event {kind}"[:100])
            case _:
                pass

    def _delta(self, session: SessionId, reply: _Reply, event: dict[str, Any]) -> Iterator[Event]:
        kind = reading.text(event, "delta", "type").removesuffix("_delta")
        channel = _CHANNELS.get(kind)
        piece = reading.text(event, "delta", kind)
        if channel is not None and piece:
            part = PartId(f"{reply.id}.{reading.number(event, 'index')}")
            yield TextDelta(session=session, message=reply.id, part=part, channel=channel, delta=piece)
        elif channel is None and kind not in _PIECES:
            yield Unparsed(native=f"stream delta {kind}"[:100])

    # --- whole -------------------------------------------------------------------------------

    def whole(self, session: SessionId, message: dict[str, Any], *, old: bool = False) -> Iterator[Event]:
        """One block of a message, or several. ``old``: what it says was told by `last`."""
        given = reading.message_id(message, "id")
        if reading.text(message, "model") == reading.SYNTHETIC:
            return
        if not given:
            yield Unparsed(native="message of the assistant without an id")
            return
        reply = self._of(session)
        if old:
            yield from _usage(session, given, reading.record(message, "usage"))
            return
        known = given == reply.id
        if not known:
            yield from self._start(session, given, reading.text(message, "model"))
        for block in reading.blocks(message):
            kind = reading.text(block, "type")
            channel = _CHANNELS.get(kind)
            if kind in ("tool_use", "server_tool_use"):
                self._calls.announced(session, block, given)
            elif channel is not None and not reply.streamed and (said := reading.text(block, kind)):
                reply.parts += 1
                reply.said = said if channel is Channel.TEXT else reply.said
                part = PartId(f"{given}.{reply.parts}")
                yield TextDelta(session=session, message=given, part=part, channel=channel, delta=said)
        if not reply.streamed and (reason := reading.text(message, "stop_reason")):
            reply.ending = reason != "tool_use"
            yield from _usage(session, given, reading.record(message, "usage"))

    def acting(self, session: SessionId) -> Iterator[Event]:
        """A tool is called, which a message must have asked for; what it says may come later."""
        reply = self._of(session)
        if not reply.id or reply.answered != reply.answers:
            yield from self._start(session, MessageId(f"acting.{reply.answers or session}"), "")

    def last(self, session: SessionId, message: MessageId, text: str) -> Iterator[Event]:
        """The whole text that a turn ended with, told at its end."""
        reply = self._of(session)
        if reply.answered == reply.answers and reply.said.strip() == text.strip():
            yield from self.finish(session)
            return
        yield from self._start(session, message, "")
        part = PartId(f"{message}.1")
        yield TextDelta(session=session, message=message, part=part, delta=text)
        yield from self.finish(session)

    def finish(self, session: SessionId, reason: str = "", *, aborted: bool = False) -> Iterator[Event]:
        """The newest message is complete, unless that was told before."""
        reply = self._of(session)
        if reply.open:
            reply.open = False
            yield ReplyFinished(session=session, message=reply.id, finish=reason, aborted=aborted)

    # --- inside ------------------------------------------------------------------------------

    def _start(self, session: SessionId, message: MessageId, model: str) -> Iterator[Event]:
        yield from self.finish(session)
        reply = self._of(session)
        reply.id, reply.open, reply.streamed, reply.parts = message, True, False, 0
        reply.answered, reply.said, reply.ending = reply.answers, "", False
        yield ReplyStarted(session=session, message=message, answers=reply.answers, model=model)

    def _of(self, session: SessionId) -> _Reply:
        reply = self._replies.get(session, None)
        if reply is None:
            reply = self._replies[session] = _Reply()
        return reply


def _usage(session: SessionId, message: MessageId, usage: dict[str, Any]) -> Iterator[Event]:
    yield UsageReported(
        session=session,
        message=message,
        input=reading.number(usage, "input_tokens"),
        output=reading.number(usage, "output_tokens"),
        cache_read=reading.number(usage, "cache_read_input_tokens"),
        cache_write=reading.number(usage, "cache_creation_input_tokens"),
    )
