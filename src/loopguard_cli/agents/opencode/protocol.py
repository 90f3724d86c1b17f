"""What the bridge says, message by message (``bridge.js`` is the other end).

Unknown fields are ignored and missing ones have defaults, so that a bridge of another version is
still understood as far as possible. Native OpenCode events stay plain JSON here; `events` reads them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from loopguard_cli.core.ids import CallId, EffectId, MessageId, SessionId


class Surface(StrEnum):
    TOOL = "tool"
    SLASH = "slash"


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of all messages of the bridge, the greeting excepted (`agents.base.Hello`)."""


class Native(Message, frozen=True, kw_only=True, tag="event"):
    """One of OpenCode's own events, reduced to what we read."""

    event: dict[str, Any]


class Gate(Message, frozen=True, kw_only=True, tag="gate"):
    id: int
    session: SessionId
    call: CallId
    tool: str
    args: Any = None


class Cancelled(Message, frozen=True, kw_only=True, tag="cancelled"):
    """The bridge stopped a call because its turn was over when the answer came."""

    session: SessionId
    call: CallId


class ModelName(msgspec.Struct, frozen=True):
    provider: str = msgspec.field(name="providerID", default="")
    model: str = msgspec.field(name="modelID", default="")

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}" if self.provider and self.model else ""


class UserMessage(Message, frozen=True, kw_only=True, tag="message"):
    """A user message is about to be stored."""

    session: SessionId
    message: MessageId
    effect: EffectId = EffectId("")
    """The bridge knows it as ours."""
    real: bool = True
    """Has text that is not synthetic."""
    text: Any = ""
    agent: str = ""
    model: ModelName = ModelName()
    variant: str = ""


class Compacting(Message, frozen=True, kw_only=True, tag="compacting"):
    session: SessionId


class Ask(Message, frozen=True, kw_only=True, tag="ask"):
    """An agent tool was called, or a slash command typed."""

    id: int
    session: SessionId
    operation: str
    arguments: dict[str, Any] = {}
    surface: Surface = Surface.TOOL


class Done(Message, frozen=True, kw_only=True, tag="done"):
    """The result of an order."""

    id: EffectId
    ok: bool
    error: str = ""
    data: Any = None


class Resync(Message, frozen=True, kw_only=True, tag="resync"):
    """After a lost connection: the sessions that are not idle, with their status."""

    busy: dict[SessionId, dict[str, Any]] = {}


AnyMessage = Native | Gate | Cancelled | UserMessage | Compacting | Ask | Done | Resync


# --- the parts of native events that we read ---------------------------------------------------


class SessionInfo(msgspec.Struct, frozen=True):
    id: SessionId = SessionId("")
    parent: SessionId = msgspec.field(name="parentID", default=SessionId(""))
    directory: str = ""
    version: str = ""
    agent: str = ""


class CacheTokens(msgspec.Struct, frozen=True):
    read: float = 0
    write: float = 0


class Tokens(msgspec.Struct, frozen=True):
    """``input`` excludes the cache, ``output`` excludes reasoning."""

    total: float = 0
    input: float = 0
    output: float = 0
    reasoning: float = 0
    cache: CacheTokens = CacheTokens()


class ErrorData(msgspec.Struct, frozen=True):
    message: str = ""


class NativeError(msgspec.Struct, frozen=True):
    name: str = ""
    data: ErrorData = ErrorData()

    @property
    def aborted(self) -> bool:
        return self.name == "MessageAbortedError"


class Times(msgspec.Struct, frozen=True):
    completed: float | None = None
    end: float | None = None


class MessageInfo(msgspec.Struct, frozen=True):
    id: MessageId = MessageId("")
    role: str = ""
    parent: MessageId = msgspec.field(name="parentID", default=MessageId(""))
    agent: str = ""
    mode: str = ""
    variant: str = ""
    model: ModelName = ModelName()
    """Of a user message; an assistant message has it flat."""
    provider: str = msgspec.field(name="providerID", default="")
    model_id: str = msgspec.field(name="modelID", default="")
    tokens: Tokens | None = None
    cost: float = 0
    finish: str = ""
    error: NativeError | None = None
    summary: Any = None
    """True on the assistant message that a compaction writes; something else on user messages."""
    time: Times = Times()


class ToolMetadata(msgspec.Struct, frozen=True):
    exit: int | None = None
    interrupted: bool = False


class ToolState(msgspec.Struct, frozen=True):
    status: str = ""
    input: Any = None
    output: Any = ""
    error: Any = ""
    metadata: ToolMetadata = ToolMetadata()


class Part(msgspec.Struct, frozen=True):
    id: str = ""
    message: MessageId = msgspec.field(name="messageID", default=MessageId(""))
    type: str = ""
    text: Any = ""
    synthetic: bool = False
    metadata: dict[str, Any] | None = None
    time: Times | None = None
    tool: str = ""
    call: CallId = msgspec.field(name="callID", default=CallId(""))
    state: ToolState = ToolState()
    files: tuple[str, ...] = ()
    tokens: Tokens | None = None
    cost: float = 0


class ReadUser(msgspec.Struct, frozen=True):
    id: MessageId = MessageId("")
    agent: str = ""
    parts: tuple[Part, ...] = ()


class ReadData(msgspec.Struct, frozen=True):
    """The bridge's answer to the order ``read``."""

    status: str = "idle"
    assistant: MessageId = MessageId("")
    user: ReadUser = ReadUser()


class StatusInfo(msgspec.Struct, frozen=True):
    type: str = ""


class ToolRef(msgspec.Struct, frozen=True):
    call: CallId = msgspec.field(name="callID", default=CallId(""))


class Properties(msgspec.Struct, frozen=True):
    """Union of the properties of all native events that we read."""

    session: SessionId = msgspec.field(name="sessionID", default=SessionId(""))
    info: Any = None
    status: StatusInfo = StatusInfo()
    error: NativeError | None = None
    part: Part | None = None
    message: MessageId = msgspec.field(name="messageID", default=MessageId(""))
    part_id: str = msgspec.field(name="partID", default="")
    field: str = ""
    delta: Any = ""
    id: str = ""
    request: str = msgspec.field(name="requestID", default="")
    permission: str = ""
    tool: ToolRef = ToolRef()
    reply: str = ""


class Envelope(msgspec.Struct, frozen=True):
    type: str
    properties: Properties = Properties()
