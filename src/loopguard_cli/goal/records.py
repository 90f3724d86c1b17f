"""What is written down about goals: the kinds of `GoalRecord` and the shape of their ``data``.

A record says what was decided; `goal.evolve` folds records into state, in memory and after a
restart alike. Every payload carries the time and, when they moved, the meters, so that the state
after a record never depends on anything but records.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from loopguard_cli.core.ids import MessageId, SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.goal.model import (
    MAX_DETAIL,
    Book,
    Check,
    Limits,
    Meters,
    Mode,
    Result,
    StopReason,
    TurnContext,
    shorten,
)


class Kind(StrEnum):
    """Values of `GoalRecord.event`."""

    SET = "set"
    EDITED = "edited"
    CONTINUED = "auto-continue"
    WRAPUP = "budget-wrapup"
    LIMIT = "limit"
    PAUSED = "paused"
    RESUMED = "resumed"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    CLEARED = "cleared"
    REPLACED = "replaced"
    BACKGROUNDED = "backgrounded"
    FOCUSED = "focused"
    RECOVERED = "recovered"
    WARNING = "warning"
    ERROR = "error"
    UNVERIFIED = "completion-unverified"
    UNSTATED = "blocker-unstated"
    CHECK_PASSED = "check-passed"
    CHECK_FAILED = "check-failed"
    AUDIT_APPROVED = "audit-approved"
    AUDIT_REJECTED = "audit-rejected"
    # Not history: bookkeeping between those.
    CLAIMED = "claimed"
    CHECKPOINT = "checkpoint"
    ATTACHED = "attached"
    SNAPSHOT = "snapshot"


BOOKKEEPING = frozenset({Kind.CLAIMED, Kind.CHECKPOINT, Kind.ATTACHED, Kind.SNAPSHOT})
TERMINAL = frozenset({Kind.COMPLETED, Kind.CLEARED, Kind.REPLACED})
"""After one of these the goal is not live any more."""


class Payload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What every record may carry."""

    at: float = 0.0
    meters: Meters | None = None
    status: str | None = None
    """The goal's newest remark."""


class Set(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """A goal comes into being: focused, or queued behind others."""

    objective: str = ""
    success: str = ""
    constraints: str = ""
    mode: Mode = Mode.NORMAL
    checks: tuple[Check, ...] = ()
    limits: Limits = Limits()
    context: TurnContext = TurnContext()
    focus: bool = True
    ordered: bool | None = None
    """The session's ordered flag from here on; None leaves it."""
    forget_result: bool = False
    consumed: MessageId = MessageId("")
    """The newest message when the goal came into force: it is older, and claims nothing."""


class Edited(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """None leaves a field as it is."""

    objective: str | None = None
    success: str | None = None
    constraints: str | None = None
    mode: Mode | None = None
    checks: tuple[Check, ...] | None = None
    limits: Limits | None = None
    activate: bool = False
    consumed: MessageId = MessageId("")
    """The newest message when the goal came into force: it is older, and claims nothing."""


class Stopped(Payload, frozen=True, kw_only=True, omit_defaults=True):
    reason: StopReason = StopReason.USER_PAUSED
    blocker: str = ""
    handoff: bool = False
    """A handoff prompt follows."""
    claim: str = ""


class Resumed(Payload, frozen=True, kw_only=True, omit_defaults=True):
    limits: Limits | None = None
    fresh: bool = True
    """Nothing of the budget is used any more; False when the agent resumes."""
    consumed: MessageId = MessageId("")
    """The newest message when the goal came into force: it is older, and claims nothing."""


class Claimed(Payload, frozen=True, kw_only=True, omit_defaults=True):
    claim: str = ""
    """Message that a prompt is about to answer; empty: the claim is given back."""


class Continued(Payload, frozen=True, kw_only=True, omit_defaults=True):
    counted: bool = True
    """False for the prompt that starts a goal: it is no continuation yet."""


class Failed(Payload, frozen=True, kw_only=True, omit_defaults=True):
    release: bool = False
    """The claimed prompt was not sent; its message may be claimed again."""


class Completed(Payload, frozen=True, kw_only=True, omit_defaults=True):
    result: Result | None = None
    promotes: str = ""
    """The goal that comes into force with this record."""
    message: MessageId = MessageId("")
    """The message that claimed it; it claims nothing for the promoted goal."""


class Cleared(Payload, frozen=True, kw_only=True, omit_defaults=True):
    pass


class Focused(Payload, frozen=True, kw_only=True, omit_defaults=True):
    reason: StopReason = StopReason.NONE
    """Why it stays stopped in spite of the focus."""
    consumed: MessageId = MessageId("")
    """The newest message when the goal came into force: it is older, and claims nothing."""


class Marked(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """What was seen at the end of a turn."""

    text: str = ""
    """New checkpoint; empty: none."""
    message: MessageId = MessageId("")
    digest: str = ""


class Attached(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """The goals that waited in ``source`` belong to this session from now on."""

    source: str = ""


class Snapshot(Payload, frozen=True, kw_only=True, omit_defaults=True):
    """Everything about one session; replaces what was known."""

    book: Book = Book()


PAYLOADS: dict[Kind, type[Payload]] = {
    Kind.SET: Set,
    Kind.EDITED: Edited,
    Kind.CONTINUED: Continued,
    Kind.WRAPUP: Stopped,
    Kind.LIMIT: Stopped,
    Kind.PAUSED: Stopped,
    Kind.RESUMED: Resumed,
    Kind.BLOCKED: Stopped,
    Kind.COMPLETED: Completed,
    Kind.CLEARED: Cleared,
    Kind.REPLACED: Cleared,
    Kind.FOCUSED: Focused,
    Kind.ERROR: Failed,
    Kind.AUDIT_REJECTED: Stopped,
    Kind.CLAIMED: Claimed,
    Kind.CHECKPOINT: Marked,
    Kind.ATTACHED: Attached,
    Kind.SNAPSHOT: Snapshot,
}
"""Kinds that are not in the table carry a plain `Payload`."""


def pack(session: SessionId, goal: str, kind: Kind, payload: Payload, detail: str = "") -> GoalRecord:
    data: dict[str, Any] = msgspec.to_builtins(payload)
    return GoalRecord(
        session=session, goal=goal, event=kind.value, detail=shorten(detail, MAX_DETAIL), data=data
    )


def unpack(record: GoalRecord) -> tuple[Kind, Payload]:
    """The kind and typed payload of ``record``.

    Raises ValueError for an unknown kind and `msgspec.ValidationError` (also a ValueError) for data
    of another shape; the reader of the ledger skips and reports both.
    """
    kind = Kind(record.event)
    return kind, msgspec.convert(record.data, PAYLOADS.get(kind, Payload))
