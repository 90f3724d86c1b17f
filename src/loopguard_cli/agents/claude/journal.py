"""The transcript that Claude Code writes of a session: where an interactive one says what it said.

It is written a moment after things happened. The last message of a turn is therefore taken from the
Stop hook, which has it at once, and what the transcript says of that turn from then on is old.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.calls import Calls
from loopguard_cli.agents.claude.replies import Replies
from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.events import AgentDisconnected, Compacted, Event, Unparsed
from loopguard_cli.core.ids import SessionId
from loopguard_cli.wire.ndjson import Decoder, Malformed

FILES = 100
LINE_BYTES = 64 << 20
_KINDS = {"assistant", "system", "user"}
"""Lines with a message in them. There are many others, about the program and not about its work."""


class _Old(NamedTuple):
    """What is still to come of turns that are told already."""

    prompt: str
    ends: int
    """So many of their ends."""


class Journal:
    """The transcripts of all sessions."""

    def __init__(self, calls: Calls, replies: Replies) -> None:
        self._calls = calls
        self._replies = replies
        self._decoders: Recent[str, Decoder[dict[str, Any]]] = Recent(FILES)
        self._old: Recent[SessionId, _Old] = Recent(FILES)

    def ended(self, session: SessionId, prompt: str) -> None:
        """The Stop hook has told how the turn of ``prompt`` ended."""
        before = self._old.get(session, None)
        self._old[session] = _Old(prompt, 1 + (before.ends if before is not None else 0))

    def read(self, path: str, data: bytes) -> Iterator[Event | tuple[SessionId, str]]:
        """What the next bytes of a transcript mean. A pair: the session's turn was interrupted, and how."""
        decoder = self._decoders.get(path, None)
        if decoder is None:
            decoder = self._decoders[path] = Decoder(dict[str, Any], limit=LINE_BYTES)
        for line in decoder.feed(data):
            if isinstance(line, Malformed):
                yield Unparsed(native=f"transcript: {line.reason}"[:100])
            elif not reading.at(line, "isSidechain"):
                yield from self._line(line)

    def _line(self, line: dict[str, Any]) -> Iterator[Event | tuple[SessionId, str]]:
        session = SessionId(reading.text(line, "session_id") or reading.text(line, "sessionId"))
        if not session:
            return
        match reading.text(line, "type"), reading.text(line, "subtype"):
            case "assistant", _:
                message = reading.record(line, "message")
                # A message without a reason to stop was interrupted: nobody has to judge it any more.
                old = session in self._old or not reading.text(message, "stop_reason")
                yield from self._replies.whole(session, message, old=old)
            case "user", _:
                yield from self._user(session, line)
            case "system", "stop_hook_summary":
                old_ends = self._old.pop(session)
                if old_ends is not None and old_ends.ends > 1:
                    self._old[session] = old_ends._replace(ends=old_ends.ends - 1)
            case "system", "compact_boundary":
                yield Compacted(session=session)
            case kind, _ if kind not in _KINDS and isinstance(reading.at(line, "message"), dict):
                yield Unparsed(native=f"transcript line {kind}"[:100])
            case _:
                pass

    def _user(self, session: SessionId, line: dict[str, Any]) -> Iterator[Event | tuple[SessionId, str]]:
        for block in reading.blocks(reading.record(line, "message")):
            said = reading.text(block, "text")
            if reading.text(block, "type") == "tool_result":
                if self._calls.passed(block):
                    yield AgentDisconnected(reason=reading.BYPASSED, bypassed=True)
                if reading.came_to_nothing(block):
                    yield from self._calls.unasked(block)
                yield from self._calls.result(block)
            elif said.startswith(reading.INTERRUPTED):
                yield session, said
            elif said:
                self._asked(session, reading.text(line, "promptId"))

    def _asked(self, session: SessionId, prompt: str) -> None:
        """A user message: one of another prompt ends what is told already."""
        old = self._old.get(session, None)
        if old is not None and prompt not in ("", old.prompt):
            self._old.pop(session)
