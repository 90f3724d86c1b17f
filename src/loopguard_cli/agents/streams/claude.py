"""``stream-json`` as Claude Code prints it: messages whole or streamed, results, the end of a turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.calls import Calls
from loopguard_cli.agents.claude.replies import Replies
from loopguard_cli.core.events import (
    AgentError,
    Event,
    SessionSeen,
    Status,
    StatusChanged,
    Unparsed,
    UserSpoke,
)
from loopguard_cli.core.ids import NO_SESSION, MessageId, SessionId

_SILENT = {"control_request", "control_response", "keep_alive", "rate_limit_event", "tool_progress"}


class Claude:
    """Reads one stream. A sub-agent is a session of its own, named by the call that started it."""

    def __init__(self) -> None:
        self._calls = Calls("mcp__loopguard__")
        self._replies = Replies(self._calls)
        self._session = NO_SESSION
        self._children: set[SessionId] = set()
        self._turns = 0
        self._busy = False

    def read(self, line: bytes) -> Iterator[Event]:
        message: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
        kind = reading.text(message, "type")
        match kind:
            case "system" | "assistant" | "user" | "stream_event" | "result":
                yield from self._seen(message)
                session = self._of(message)
                yield from self._child(session)
            case _ if kind in _SILENT:
                return
            case _:
                yield Unparsed(native=f"line: {kind}"[:100])
                return
        match kind:
            case "stream_event":
                yield from self._begin()
                yield from self._replies.streamed(session, reading.record(message, "event"))
            case "assistant":
                yield from self._begin()
                yield from self._said(session, reading.record(message, "message"))
            case "user":
                yield from self._user(session, message)
            case "result":
                yield from self._result(message)
            case _:
                pass

    def ended(self) -> Iterator[Event]:
        yield from self._replies.finish(self._session, aborted=True)

    # --- inside ------------------------------------------------------------------------------

    def _seen(self, message: dict[str, Any]) -> Iterator[Event]:
        session = SessionId(reading.text(message, "session_id") or "stream")
        if session != self._session:
            self._session = session
            yield SessionSeen(session=session, directory=reading.text(message, "cwd"))

    def _of(self, message: dict[str, Any]) -> SessionId:
        parent = reading.text(message, "parent_tool_use_id")
        return SessionId(f"{self._session}/{parent}") if parent else self._session

    def _child(self, session: SessionId) -> Iterator[Event]:
        if session != self._session and session not in self._children:
            self._children.add(session)
            yield SessionSeen(session=session, parent=self._session)

    def _begin(self) -> Iterator[Event]:
        if not self._busy:
            self._busy = True
            self._turns += 1
            asked = MessageId(f"{self._session}.{self._turns}")
            self._replies.asked(self._session, asked)
            yield UserSpoke(session=self._session, message=asked)
            yield StatusChanged(session=self._session, status=Status.BUSY)

    def _said(self, session: SessionId, message: dict[str, Any]) -> Iterator[Event]:
        yield from self._replies.whole(session, message)
        for block in reading.blocks(message):
            if reading.text(block, "type") == "tool_use":
                yield from self._calls.begin(session, block, self._replies.newest(session))

    def _user(self, session: SessionId, message: dict[str, Any]) -> Iterator[Event]:
        for block in reading.blocks(reading.record(message, "message")):
            if reading.text(block, "type") == "tool_result":
                yield from self._calls.result(block)

    def _result(self, message: dict[str, Any]) -> Iterator[Event]:
        yield from self._replies.finish(self._session)
        if reading.at(message, "is_error"):
            text = reading.text(message, "result")
            yield AgentError(session=self._session, name=reading.text(message, "subtype"), text=text)
        if self._busy:
            self._busy = False
            yield StatusChanged(session=self._session, status=Status.IDLE)
