"""What the bridge says, message by message (``bridge.js`` is the other end).

Unknown fields are ignored and missing ones have defaults, so that a bridge of another version is
still understood as far as possible.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from loopguard_cli.core.events import Channel, Status
from loopguard_cli.core.ids import CallId, EffectId, MessageId, SessionId


class Surface(StrEnum):
    TOOL = "tool"
    SLASH = "slash"


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of all messages of the bridge, the greeting excepted (`agents.base.Hello`)."""


class OfSession(Message, frozen=True, kw_only=True):
    session: SessionId = SessionId("")


class Begun(OfSession, frozen=True, kw_only=True, tag="session"):
    """A session is open: at the start, and after ``/new``, ``/resume``, ``/fork`` or ``/reload``."""

    directory: str = ""


class Busy(OfSession, frozen=True, kw_only=True, tag="busy"):
    """A run of the agent begins: the first of a turn, or one more after an error or a compaction."""


class User(OfSession, frozen=True, kw_only=True, tag="user"):
    """Something was said to the model."""

    message: MessageId
    text: Any = ""
    effect: EffectId = EffectId("")
    """It bears the mark of this prompt of ours."""
    foreign: bool = False
    """Another extension wrote it."""


class Reply(OfSession, frozen=True, kw_only=True, tag="reply"):
    message: MessageId
    answers: MessageId = MessageId("")
    model: str = ""


class Text(OfSession, frozen=True, kw_only=True, tag="text"):
    message: MessageId
    part: str = ""
    channel: Channel = Channel.TEXT
    delta: str = ""


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """``input`` excludes the cache."""

    input: float = 0
    output: float = 0
    reasoning: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total: float = 0
    cost: float | None = None


class Replied(OfSession, frozen=True, kw_only=True, tag="replied"):
    message: MessageId
    reason: str = ""
    error: Any = ""
    usage: Tokens = Tokens()


class Gate(OfSession, frozen=True, kw_only=True, tag="gate"):
    id: int
    call: CallId
    tool: str
    args: Any = None


class Tool(OfSession, frozen=True, kw_only=True, tag="tool"):
    """A call ended, whether it ran or not."""

    call: CallId
    tool: str
    args: Any = None
    ok: bool = True
    output: Any = ""
    exit: int | None = None
    stopped: bool = False
    """Its turn was being stopped."""
    message: MessageId = MessageId("")


class Settled(OfSession, frozen=True, kw_only=True, tag="settled"):
    """The turn is over. With an ``id`` the bridge keeps the agent until we answer."""

    id: int = 0
    aborted: bool = False


class Compacting(OfSession, frozen=True, kw_only=True, tag="compacting"):
    pass


class Compacted(OfSession, frozen=True, kw_only=True, tag="compacted"):
    pass


class Ask(OfSession, frozen=True, kw_only=True, tag="ask"):
    """An agent tool was called, or a slash command typed."""

    id: int
    operation: str
    arguments: Any = None
    surface: Surface = Surface.TOOL


class Done(Message, frozen=True, kw_only=True, tag="done"):
    """The result of an order."""

    id: EffectId
    ok: bool
    error: str = ""
    data: Any = None


class Resync(Message, frozen=True, kw_only=True, tag="resync"):
    """After a lost connection."""

    busy: dict[SessionId, Status] = {}


AnyMessage = (
    Begun | Busy | User | Reply | Text | Replied | Gate | Tool | Settled | Compacting | Compacted | Ask
    | Done | Resync
)  # fmt: skip
