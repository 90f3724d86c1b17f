"""What ``session/update`` says, as events and as lines for the console."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loopguard_cli.agents.acp.calls import Calls
from loopguard_cli.agents.acp.protocol import Chunk, ModeUpdate, ToolFields, UsageUpdate, read, text_of
from loopguard_cli.agents.acp.replies import Replies
from loopguard_cli.agents.base import Show, Shown
from loopguard_cli.core.events import AgentSwitched, Channel, Event, Unparsed
from loopguard_cli.core.ids import SessionId

_IGNORED = {
    "available_commands_update", "config_option_update", "plan", "session_info_update", "user_message_chunk",
}  # fmt: skip
_READ_ONLY = {"plan", "read-only"}
"""Modes that must not change anything."""


class Updates:
    """The updates of one session."""

    def __init__(self, calls: Calls, replies: Replies) -> None:
        self.mode = ""
        self._calls = calls
        self._replies = replies
        self._cost = self._cost_told = 0.0

    def read(self, session: SessionId, update: Any, *, cancelling: bool) -> Iterator[Event | Shown]:
        kind = update.get("sessionUpdate") if isinstance(update, dict) else None
        match kind:
            case "agent_message_chunk" | "agent_thought_chunk":
                yield from self._chunk(session, read(update, Chunk), kind == "agent_thought_chunk")
            case "tool_call" | "tool_call_update":
                fields = read(update, ToolFields)
                if fields is None:
                    yield Unparsed(native=f"update {kind}")
                    return
                self._replies.acted()
                yield from self._calls.update(session, fields, self._replies.newest, cancelling=cancelling)
            case "usage_update":
                usage = read(update, UsageUpdate)
                if usage is not None and usage.cost is not None:
                    self._cost = max(self._cost, usage.cost.amount)
            case "current_mode_update":
                mode = read(update, ModeUpdate)
                if mode is not None and mode.current_mode_id:
                    yield self.switched(session, mode.current_mode_id)
            case str() if kind in _IGNORED:
                pass
            case _:
                yield Unparsed(native=f"update {kind}"[:100])

    def switched(self, session: SessionId, mode: str) -> AgentSwitched:
        self.mode = mode
        return AgentSwitched(session=session, agent=mode, read_only=mode in _READ_ONLY)

    def cost_since(self) -> float | None:
        """What was spent since this was last asked; None where the agent says nothing."""
        spent, self._cost_told = self._cost - self._cost_told, self._cost
        return spent or None

    def _chunk(self, session: SessionId, chunk: Chunk | None, thought: bool) -> Iterator[Event | Shown]:
        text = text_of(chunk.content) if chunk is not None else ""
        if chunk is None or not text:
            return
        channel = Channel.REASONING if thought else Channel.TEXT
        yield from self._replies.piece(session, text, channel, chunk.message_id, self.mode)
        yield Shown(kind=Show.REASONING if thought else Show.TEXT, text=text)
