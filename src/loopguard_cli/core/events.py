"""Everything that can happen, normalised over all agents.

Adapters turn what an agent says into these; the shell adds what it learns itself (an effect
was performed, the agent exited, a person typed a command). Events are facts in the past tense:
frozen, JSON-round-trippable (`encode`, `decode`), without live objects. They carry raw text and
arguments and therefore live in memory only; the ledger stores digests, and only ``--record``
writes events to disk.

The time of an event is not in it: it is handed to `Hub.receive` as ``now``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from loopguard_cli.core.ids import NO_SESSION, CallId, EffectId, MessageId, PartId, RequestId, SessionId
from loopguard_cli.core.records import GoalRecord


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
    args: dict[str, Any] = {}


class ToolStarted(Event, frozen=True, kw_only=True, tag="tool_started"):
    """A call runs. For agents with a gate this follows `ToolAsked` with the same ``call``."""

    call: CallId
    tool: str
    args: dict[str, Any] = {}
    message: MessageId = MessageId("")


class ToolFinished(Event, frozen=True, kw_only=True, tag="tool_finished"):
    """A call ended. ``output`` is what the model gets to read (the error text if not ``ok``)."""

    call: CallId
    tool: str
    args: dict[str, Any] = {}
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


# --- answers to effects ----------------------------------------------------------------------


class EffectSettled(Event, frozen=True, kw_only=True, tag="effect_settled"):
    """An asynchronous effect was performed, or failed. Exactly one per effect that has an id."""

    effect: EffectId
    ok: bool
    error: str = ""


class SessionRead(Event, frozen=True, kw_only=True, tag="session_read"):
    """Answer to `ReadSession`: what the agent itself says, at this moment."""

    effect: EffectId
    ok: bool
    error: str = ""
    status: Status = Status.IDLE
    newest_assistant: MessageId = MessageId("")
    newest_user: MessageId = MessageId("")
    newest_user_origin: Origin = Origin.PERSON
    agent: str = ""
    """The agent (mode) the session currently runs under."""


class LeaseSettled(Event, frozen=True, kw_only=True, tag="lease_settled"):
    """Answer to `TakeLease`; or, unasked and not ok: somebody else has taken the session over."""

    effect: EffectId
    ok: bool
    error: str = ""
    """Who has it, fit to be shown."""
    unsafe: bool = False
    """Nobody else has it: the state folder cannot be used."""
    records: tuple[GoalRecord, ...] = ()
    """The session's goals as the ledger has them now (with ``ok``)."""


class CheckFinished(Event, frozen=True, kw_only=True, tag="check_finished"):
    """Answer to `RunCheck`."""

    effect: EffectId
    exit_code: int | None
    """None: could not be started or timed out (``error`` tells)."""
    error: str = ""
    tail: str = ""
    """The last part of its output."""
    seconds: float = 0.0


class AuditFinished(Event, frozen=True, kw_only=True, tag="audit_finished"):
    """Answer to `RunAudit`."""

    effect: EffectId
    reply: str = ""
    """What the auditor said, to be parsed."""
    error: str = ""
    """Operational failure: unavailable, timeout, crash."""
    approved: bool | None = None
    """A verdict given by other means than text (an external command's exit code)."""
    reason: str = ""


# --- commands --------------------------------------------------------------------------------


class Asked(Event, frozen=True, kw_only=True, tag="asked"):
    """Somebody asks us something: a command, a slash command or an agent tool.

    Answered by exactly one `Respond` with the same ``request``. ``operation`` is a dotted name
    (``guard.mode``, ``guard.check``, ``goal.command``, ``tool.goal_status``); its arguments are
    plain JSON values.
    """

    request: RequestId
    operation: str
    arguments: dict[str, Any] = {}
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
