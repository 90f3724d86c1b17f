"""What the ledger remembers: digests, names, counts and verdicts, never arguments or output.

The goal's own text (objective, criteria, checkpoints) is the one exception: the person asked for
it to be kept. A record says what was decided; state is the fold of the records (`store.ledger`
adds sequence number, wall time, run and checksum around them).
"""

from __future__ import annotations

from typing import Any

import msgspec

from loopguard_cli.core.ids import NO_SESSION, CallKey, SessionId


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Base of all records."""

    session: SessionId = NO_SESSION


class RunStarted(Record, frozen=True, kw_only=True, tag="run.started"):
    agent: str
    argv0: str
    """Name of the agent's program, without its arguments."""
    mode: str
    preset: str
    version: str
    """Our own."""


class AgentSeen(Record, frozen=True, kw_only=True, tag="agent.seen"):
    """The agent said hello, or was lost (``connected`` false)."""

    connected: bool
    agent: str = ""
    version: str = ""
    reason: str = ""


class RunEnded(Record, frozen=True, kw_only=True, tag="run.ended"):
    code: int
    reason: str = ""


class CallSeen(Record, frozen=True, kw_only=True, tag="call"):
    """One tool call, as it was asked for."""

    tool: str
    key: CallKey
    count: int
    """How many calls with this key the guard counts, this one included."""
    verdict: str
    """allow, warn, nudge, block, abort."""
    event: int
    """Sequence number of the event."""


class CallEnded(Record, frozen=True, kw_only=True, tag="call.ended"):
    tool: str
    key: CallKey
    ok: bool
    outcome: str
    """Digest of the normalised outcome."""
    seconds: float
    leaked: bool = False
    """It ran although our gate had refused it, as when the answer came too late: it was not blocked."""


class LoopFound(Record, frozen=True, kw_only=True, tag="loop"):
    """A finding and what was made of it."""

    rule: str
    verdict: str
    key: str = ""
    tool: str = ""
    count: int = 0
    events: tuple[int, ...] = ()
    facts: dict[str, Any] = {}
    """Numbers and names from which the explanation is written; no content."""


class RecoveryStep(Record, frozen=True, kw_only=True, tag="recovery"):
    """One step of abort, idle, trim, continuation; or why there was none."""

    step: str
    ok: bool = True
    detail: str = ""
    used: int = 0
    """Continuations used of the allowance."""


class UserTurn(Record, frozen=True, kw_only=True, tag="user"):
    """A real user message began a new turn (its text is not kept)."""


class TurnDone(Record, frozen=True, kw_only=True, tag="turn"):
    """A turn ended."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0


class GuardChanged(Record, frozen=True, kw_only=True, tag="guard"):
    """Mode, mute, reset, settings or a decision; by whom; or a refused attempt."""

    operation: str
    surface: str
    accepted: bool
    detail: str = ""
    key: str = ""


class Fault(Record, frozen=True, kw_only=True, tag="fault"):
    """One of our own parts failed and was put out of use."""

    component: str
    error: str
    """Exception type only."""


class GoalRecord(Record, frozen=True, kw_only=True, tag="goal"):
    """Something happened to a goal. ``data`` belongs to `goal.records`; kinds as in its docstring."""

    goal: str
    event: str
    detail: str = ""
    data: dict[str, Any] = {}


class Generation(Record, frozen=True, kw_only=True, tag="generation"):
    """First line of a ledger file: that many of the next lines only restate what was live before."""

    restates: int = 0


class RecordsLost(Record, frozen=True, kw_only=True, tag="lost"):
    """So many records could not be written before this one (a full disk)."""

    count: int


AnyRecord = (
    RunStarted | AgentSeen | RunEnded | CallSeen | CallEnded | LoopFound | RecoveryStep | UserTurn
    | TurnDone | GuardChanged | Fault | GoalRecord | Generation | RecordsLost
)  # fmt: skip

decoder = msgspec.json.Decoder(AnyRecord)
