"""Events that answer effects: what came of what we asked the shell to do."""

from __future__ import annotations

from loopguard_cli.core.happening import Event, Origin, Status
from loopguard_cli.core.ids import EffectId, MessageId
from loopguard_cli.core.records import GoalRecord


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
