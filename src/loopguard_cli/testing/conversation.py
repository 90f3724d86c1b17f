"""What a model was asked, without the wire format it came in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec


class BadRequest(ValueError):
    """The body of a request is not what its path asks for."""


class Kind(StrEnum):
    """What the agent wants from this model call."""

    CHAT = "chat"
    """A step of the task."""
    TITLE = "title"
    """A name for the session."""
    SUMMARY = "summary"
    """A summary that shall replace the conversation."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that an earlier reply asked for, as the agent hands it back."""

    id: str
    tool: str
    args: dict[str, Any]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the conversation. ``role``: system, user, assistant or tool."""

    role: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    answers: str = ""
    """Of a tool message: the id of the call it is the result of."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One model call."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...] = ()
    """Names of the tools on offer."""
    stream: bool = True
    kind: Kind = Kind.CHAT
    headers: Mapping[str, str] = {}
    """With lower-case names."""

    @property
    def user(self) -> str:
        """The newest user message; empty without one."""
        return next((m.text for m in reversed(self.messages) if m.role == "user"), "")

    @property
    def system(self) -> str:
        return "\n".join(m.text for m in self.messages if m.role == "system")

    @property
    def results(self) -> tuple[str, ...]:
        """What the model reads as the results of the calls of its newest reply, in their order."""
        found: list[str] = []
        for message in reversed(self.messages):
            if message.role == "tool":
                found.append(message.text)
            elif found or message.role == "assistant":
                break
        return tuple(reversed(found))

    def mentions(self, text: str) -> bool:
        """Whether the model gets to read ``text`` anywhere in the conversation."""
        return any(text in message.text for message in self.messages)


def kind_of(system: str, tools: Sequence[str]) -> Kind:
    """Tells the side requests of an agent from the steps of the task by their system prompt.

    OpenCode 1.18 makes both of them without tools; its title prompt says "title generator", its
    compaction prompt speaks of summarization in the opening lines. Claude Code 2.1 names a session in
    the same way.
    """
    opening = system[:400].lower()
    if tools:
        return Kind.CHAT
    if "title generator" in opening or "naming a coding session" in opening:
        return Kind.TITLE
    if "summariz" in opening:
        return Kind.SUMMARY
    return Kind.CHAT
