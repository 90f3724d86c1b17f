"""What all events have in common, and the words they share: whose text, who wrote, how a session stands."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from loopguard_cli.core.ids import NO_SESSION, SessionId


class Channel(StrEnum):
    """Which of an assistant's two streams a piece of text belongs to."""

    TEXT = "text"
    REASONING = "reasoning"


class Origin(StrEnum):
    """Who wrote a user message. Established by provenance (ids we issued), never by its text."""

    PERSON = "person"
    LOOPGUARD = "loopguard"
    PARENT = "parent"
    """The prompt a parent session gives to its sub-agent."""
    HOST = "host"
    """The agent program itself, for example "continue" after a compaction."""


class Status(StrEnum):
    BUSY = "busy"
    IDLE = "idle"
    RETRY = "retry"
    """The agent waits to ask its provider again."""


class Surface(StrEnum):
    """Where a request came from. What each may do is decided in `core.authority`."""

    CLI = "cli"
    """A person at a terminal outside the agent, over the control socket."""
    SLASH = "slash"
    """A person, by a slash command typed into the agent."""
    TOOL = "tool"
    """The model, by an agent tool."""
    INSIDE = "inside"
    """The control socket, but from within the agent's own process tree: never trusted."""
    FILE = "file"
    """A settings file that changed; whoever asks has made sure that it only tightens."""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """Base of all events. ``session`` is empty for what concerns the whole run."""

    session: SessionId = NO_SESSION
