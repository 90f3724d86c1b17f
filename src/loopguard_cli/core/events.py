"""Everything that can happen, normalised over all agents.

Adapters turn what an agent says into these; the shell adds what it learns itself (an effect
was performed, the agent exited, a person typed a command). Events are facts in the past tense:
frozen, JSON-round-trippable (`encode`, `decode`), without live objects. They carry raw text and
arguments and therefore live in memory only; the ledger stores digests, and only ``--record``
writes events to disk.

The time of an event is not in it: it is handed to `Hub.receive` as ``now``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from loopguard_cli.core.happening import Channel as Channel
from loopguard_cli.core.happening import Event as Event
from loopguard_cli.core.happening import Origin as Origin
from loopguard_cli.core.happening import Status as Status
from loopguard_cli.core.happening import Surface as Surface
from loopguard_cli.core.ids import NO_SESSION, CallId, EffectId, MessageId, PartId, RequestId, SessionId
from loopguard_cli.core.results import AuditFinished as AuditFinished
from loopguard_cli.core.results import CheckFinished as CheckFinished
from loopguard_cli.core.results import EffectSettled as EffectSettled
from loopguard_cli.core.results import LeaseSettled as LeaseSettled
from loopguard_cli.core.results import SessionRead as SessionRead

# --- sessions and messages -------------------------------------------------------------------


class SessionSeen(Event, frozen=True, kw_only=True, tag="session_seen"):
    """A session exists. Sent again when more is known; later values win."""

    parent: SessionId = NO_SESSION
    directory: str = ""


class SessionGone(Event, frozen=True, kw_only=True, tag="session_gone"):
    """The session was deleted."""


class UserSpoke(Event, frozen=True, kw_only=True, tag="user_spoke"):
    """A user message. At most once per message id."""

    message: MessageId
    origin: Origin = Origin.PERSON
    effect: EffectId = EffectId("")
    """With ``Origin.LOOPGUARD``: the effect that sent it."""
    text: str = ""
    agent: str = ""
    model: str = ""
    """``provider/model``, empty when unknown."""
    variant: str = ""


class ReplyStarted(Event, frozen=True, kw_only=True, tag="reply_started"):
    """An assistant message began (one model call, one step). May repeat with more detail."""

    message: MessageId
    answers: MessageId = MessageId("")
    """The user message it answers."""
    agent: str = ""
    model: str = ""
    variant: str = ""
    summary: bool = False
    """Written by the agent's own compaction, not by the task."""


class ReplyFinished(Event, frozen=True, kw_only=True, tag="reply_finished"):
    """An assistant message is complete, ended by an error, or was aborted."""

    message: MessageId
    finish: str = ""
    error: str = ""
    aborted: bool = False


class TextDelta(Event, frozen=True, kw_only=True, tag="text_delta"):
    """A streamed piece of assistant text."""

    message: MessageId
    part: PartId
    channel: Channel = Channel.TEXT
    delta: str


class TextSnapshot(Event, frozen=True, kw_only=True, tag="text_snapshot"):
    """The whole text of a part so far; replaces what the deltas built up."""

    message: MessageId
    part: PartId
    channel: Channel = Channel.TEXT
    text: str
    synthetic: bool = False
    ended: bool = False
    """The part is complete (a completed-message snapshot): nothing is streaming any more."""


# --- tools -----------------------------------------------------------------------------------


class ToolAsked(Event, frozen=True, kw_only=True, tag="tool_asked"):
    """The gate: may this call run? The agent waits for `AnswerGate` with the same ``request``."""

    request: RequestId
    call: CallId
    tool: str
    args: dict[str, Any] = msgspec.field(default_factory=dict)


class ToolStarted(Event, frozen=True, kw_only=True, tag="tool_started"):
    """A call runs. For agents with a gate this follows `ToolAsked` with the same ``call``."""

    call: CallId
    tool: str
    args: dict[str, Any] = msgspec.field(default_factory=dict)
    message: MessageId = MessageId("")


class ToolFinished(Event, frozen=True, kw_only=True, tag="tool_finished"):
    """A call ended. ``output`` is what the model gets to read (the error text if not ``ok``)."""

    call: CallId
    tool: str
    args: dict[str, Any] = msgspec.field(default_factory=dict)
    ok: bool = True
    output: str = ""
    output_digest: str = ""
    """Digest of the whole output where ``output`` is cut; empty when it is whole."""
    output_chars: int = -1
    """Length of the whole output; -1 when ``output`` is whole."""
    exit_code: int | None = None
    cancelled: bool = False
    """Ended by an abort or together with a sibling, without saying anything about the call."""
    refused: bool = False
    """Our own gate refused it."""
    message: MessageId = MessageId("")


class FilesChanged(Event, frozen=True, kw_only=True, tag="files_changed"):
    """The agent changed files, as far as the agent reports it."""

    files: tuple[str, ...] = ()


# --- turns, usage, trouble -------------------------------------------------------------------


class UsageReported(Event, frozen=True, kw_only=True, tag="usage_reported"):
    """Token figures of one message, as reported so far (not a difference)."""

    message: MessageId
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0
    """What the agent itself calls the total; 0 when it does not say."""
    cost: float | None = None
    """US dollars; None when unknown."""
    assistant: bool = True


class StatusChanged(Event, frozen=True, kw_only=True, tag="status_changed"):
    """The agent says the session is busy, idle or waiting to retry. Idle alone proves nothing."""

    status: Status
    delivery: str = ""
    """Id of the delivery where the agent gives one, to drop duplicates."""


class AgentError(Event, frozen=True, kw_only=True, tag="agent_error"):
    """The agent reports an error that ended a turn."""

    message: MessageId = MessageId("")
    name: str = ""
    text: str = ""
    aborted: bool = False
    """Somebody (a person, or us) aborted the turn; not a failure."""


class PermissionAsked(Event, frozen=True, kw_only=True, tag="permission_asked"):
    """The agent asks whether something is allowed; it waits."""

    request: RequestId
    permission: str
    call: CallId = CallId("")


class PermissionAnswered(Event, frozen=True, kw_only=True, tag="permission_answered"):
    request: RequestId
    allowed: bool


class AgentSwitched(Event, frozen=True, kw_only=True, tag="agent_switched"):
    """The session now runs under another agent or mode."""

    agent: str
    read_only: bool = False
    """A planning mode that must not change anything."""


class CompactionStarting(Event, frozen=True, kw_only=True, tag="compaction_starting"):
    pass


class Compacted(Event, frozen=True, kw_only=True, tag="compacted"):
    """The context was replaced by a summary."""


# --- the run ---------------------------------------------------------------------------------


class AgentConnected(Event, frozen=True, kw_only=True, tag="agent_connected"):
    """The agent (its bridge) said hello: from now on it is guarded."""

    agent: str
    version: str = ""
    reconnected: bool = False


class AgentDisconnected(Event, frozen=True, kw_only=True, tag="agent_disconnected"):
    """The connection is gone while the agent lives on; it runs unguarded until it reconnects."""

    reason: str = ""
    bypassed: bool = False
    """It works and does not ask us: no end and no new connection will explain that."""


class AgentExited(Event, frozen=True, kw_only=True, tag="agent_exited"):
    code: int


class Unparsed(Event, frozen=True, kw_only=True, tag="unparsed"):
    """Something the adapter did not understand; counted and reported, never an exception."""

    native: str
    """The agent's own name for it, bounded to 100 characters."""


class Gap(Event, frozen=True, kw_only=True, tag="gap"):
    """Events were lost; detectors forget what the gap may have changed."""

    reason: str


class Sampled(Event, frozen=True, kw_only=True, tag="sampled"):
    """What the agent's processes have done since the last sample; only taken while it is busy.

    Its *own* processes are those it consists of (wrapper, program, servers that came up with it);
    *below* is everything it started later.
    """

    seconds: float
    own_cpu: float = 0.0
    """Seconds of processor time."""
    below_cpu: float = 0.0
    own_bytes: int = 0
    """Read, from files and connections; what it draws on a terminal is no evidence of work."""
    below_bytes: int = 0
    """Read and written."""
    below: int = 0
    """How many processes there are."""
    came_or_went: int = 0
    """How many started or ended."""
    connected: bool = False
    """It has a network connection open."""


# --- commands --------------------------------------------------------------------------------


class Asked(Event, frozen=True, kw_only=True, tag="asked"):
    """Somebody asks us something: a command, a slash command or an agent tool.

    Answered by exactly one `Respond` with the same ``request``. ``operation`` is a dotted name
    (``guard.mode``, ``guard.check``, ``goal.command``, ``tool.goal_status``); its arguments are
    plain JSON values.
    """

    request: RequestId
    operation: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)
    surface: Surface = Surface.CLI


AnyEvent = (
    SessionSeen | SessionGone | UserSpoke | ReplyStarted | ReplyFinished | TextDelta | TextSnapshot
    | ToolAsked | ToolStarted | ToolFinished | FilesChanged | UsageReported | StatusChanged
    | AgentError | PermissionAsked | PermissionAnswered | AgentSwitched | CompactionStarting
    | Compacted | AgentConnected | AgentDisconnected | AgentExited | Unparsed | Gap | Sampled | EffectSettled
    | SessionRead | LeaseSettled | CheckFinished | AuditFinished | Asked
)  # fmt: skip

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyEvent)


def encode(event: Event) -> bytes:
    """One event as a JSON object on one line, without the line end."""
    return _encoder.encode(event)


def decode(line: bytes | str) -> Event:
    """The event in ``line``. Raises `msgspec.DecodeError` (a ValueError) when it is none."""
    return _decoder.decode(line)
