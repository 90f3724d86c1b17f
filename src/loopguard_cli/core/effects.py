"""Everything the core can ask the shell to do.

The shell performs effects in the order given, in exactly one place (`runtime.perform`).
An effect with an ``effect`` id is asynchronous and is answered by exactly one event that carries
the same id; the others are done when they are handed over.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from loopguard_cli.core.ids import NO_SESSION, EffectId, MessageId, PartId, RequestId, SessionId
from loopguard_cli.core.records import AnyRecord


class Purpose(StrEnum):
    """Why we prompt the agent."""

    RECOVERY = "recovery"
    """Go on after a loop was cut off."""
    CONTINUATION = "continuation"
    """Go on with the goal."""
    HANDOFF = "handoff"
    """The one last prompt at a limit."""
    NUDGE = "nudge"
    """A hint into a running turn; taken up at the next step, aborts nothing."""


class Level(StrEnum):
    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    ERROR = "error"


class Effect(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="do"):
    """Base of all effects."""

    session: SessionId = NO_SESSION


class AnswerGate(Effect, frozen=True, kw_only=True, tag="answer_gate"):
    """Let the waiting call run, or refuse it; the model then reads ``text`` as its result."""

    request: RequestId
    allow: bool
    text: str = ""


class AnswerPermission(Effect, frozen=True, kw_only=True, tag="answer_permission"):
    request: RequestId
    allow: bool
    text: str = ""


class Abort(Effect, frozen=True, kw_only=True, tag="abort"):
    """Abort the session's running turn. Answered by `EffectSettled` once the agent confirmed."""

    effect: EffectId


class ReadSession(Effect, frozen=True, kw_only=True, tag="read_session"):
    """Ask the agent for the session's present state. Answered by `SessionRead`."""

    effect: EffectId


class Trim(Effect, frozen=True, kw_only=True, tag="trim"):
    """Replace the text of one stored part, so that the model does not read its own loop again."""

    effect: EffectId
    message: MessageId
    part: PartId
    keep_chars: int
    """How many characters of the part to keep from its start."""
    note: str = ""
    """Put in place of what was cut."""


class Prompt(Effect, frozen=True, kw_only=True, tag="prompt"):
    """Send a prompt. Answered by `EffectSettled` when the agent has accepted (or refused) it.

    The message arrives later as `UserSpoke` with ``Origin.LOOPGUARD`` and this effect id.
    ``agent``, ``model`` and ``variant`` are kept as they were; empty means unknown.
    """

    effect: EffectId
    text: str
    purpose: Purpose
    agent: str = ""
    model: str = ""
    variant: str = ""


class SetContext(Effect, frozen=True, kw_only=True, tag="set_context"):
    """What the agent shall have in view in this session from now on; replaces the former value.

    Held by the bridge, so that no request of the agent waits for us.
    """

    system: str = ""
    """Appended to the system prompt of every request."""
    compaction: str = ""
    """Added to the material of the next compaction."""
    host_continues: bool = True
    """False: the agent's own continue-after-compaction is ours to do."""


class Tell(Effect, frozen=True, kw_only=True, tag="tell"):
    """Tell the person: a toast where the agent has a screen, else one line on standard error."""

    text: str
    level: Level = Level.INFO
    topic: str = ""
    """Stable kind (``loop.blocked``, ``goal.achieved``) for filters and notices."""


class Respond(Effect, frozen=True, kw_only=True, tag="respond"):
    """The answer to `Asked`."""

    request: RequestId
    ok: bool
    text: str = ""
    """For a person or a model to read."""
    code: str = ""
    """Stable error code, empty when ok."""
    data: dict[str, Any] = {}
    """For programs to read."""


class RunCheck(Effect, frozen=True, kw_only=True, tag="run_check"):
    """Run a completion check. Answered by `CheckFinished`."""

    effect: EffectId
    command: str
    timeout: float
    directory: str = ""


class RunAudit(Effect, frozen=True, kw_only=True, tag="run_audit"):
    """Let an independent auditor look. Answered by `AuditFinished`."""

    effect: EffectId
    prompt: str
    timeout: float
    command: str = ""
    """External auditor command; empty: a child session of the agent with a read-only verifier."""
    payload: dict[str, Any] = {}
    """What an external auditor gets as JSON on standard input."""


class TakeLease(Effect, frozen=True, kw_only=True, tag="take_lease"):
    """Ask for the right to drive this session's goals. Answered by `LeaseSettled`.

    An empty ``session`` means the goals that wait for a session.
    """

    effect: EffectId
    asked: bool = False
    """A person or the agent asks for it by a command; else it is only wanted because there are goals."""


class CancelEffect(Effect, frozen=True, kw_only=True, tag="cancel_effect"):
    """Whatever the named effect is still doing is no longer wanted; it need not settle."""

    effect: EffectId


class Record(Effect, frozen=True, kw_only=True, tag="record"):
    """Append to the ledger. Comes before the effect it announces; ``sync``: flush it to disk first."""

    record: AnyRecord
    sync: bool = False
    effect: EffectId = EffectId("")
    """When given, answered by `EffectSettled`: ok once the record is durable, else what went wrong."""


class EndRun(Effect, frozen=True, kw_only=True, tag="end_run"):
    """End a headless run with this exit status once the agent is idle. A person's screen stays."""

    code: int
    reason: str


AnyEffect = (
    AnswerGate | AnswerPermission | Abort | ReadSession | Trim | Prompt | SetContext | Tell
    | Respond | RunCheck | RunAudit | TakeLease | CancelEffect | Record | EndRun
)  # fmt: skip
