"""What detectors say, and the interface through which the hub asks them.

A detector states what it saw and what it proposes. What is really done is a `Verdict`, made by
`core.policy` from findings, mode, preset, ladder and the agent's capabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Protocol

import msgspec

from loopguard_cli.core.events import Event
from loopguard_cli.core.ids import NO_SESSION, CallId, CallKey, MessageId, PartId, SessionId
from loopguard_cli.core.settings import GuardSettings


class Action(IntEnum):
    """What can be done about a loop, in rising order."""

    ALLOW = 0
    NOTE = 1
    """Written down, nothing else."""
    WARN = 2
    """The person is told."""
    NUDGE = 3
    """The model is told, the turn goes on."""
    BLOCK = 4
    """This call does not run."""
    ABORT = 5
    """The turn is cut off and, within the allowance, continued."""
    STOP = 6
    """The turn is cut off and not continued."""


LABELS = {action: action.name.lower() for action in Action}
"""What each is called in records."""


class Cost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the loop has cost up to the finding."""

    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One detector's statement."""

    rule: str
    """Stable id, as in the table of docs/detection.md."""
    proposes: Action
    limit: Action = Action.STOP
    """The highest rung of the ladder that this evidence justifies, however often it comes."""
    session: SessionId = NO_SESSION
    identity: str
    """Digest of *what* repeats (a call key, a text unit), so that the ladder knows the same loop again."""
    count: int
    """How many repetitions prove it."""
    events: tuple[int, ...]
    """Sequence numbers of the events that prove it, oldest first; at most 32."""
    facts: dict[str, Any] = {}
    """Thresholds and measured values by name, for `core.wording`; names and numbers only."""
    cost: Cost = Cost()
    tool: str = ""
    key: CallKey = CallKey("")
    call: CallId = CallId("")
    """The call under question, for findings at the gate."""
    message: MessageId = MessageId("")
    part: PartId = PartId("")
    keep_chars: int = -1
    """Text findings: where in ``part`` the repetition begins (after its first copy); -1 unknown."""


class CallView(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``loopguard inspect``."""

    tool: str
    key: CallKey
    count: int
    blocked: bool
    last_seen: float
    ok: bool | None
    """None: still running or never answered."""
    outcome: str = ""
    """Digest of what it returned last."""


class Gauge(msgspec.Struct, frozen=True, kw_only=True):
    """How near one rule is to its threshold, for a person who watches."""

    rule: str
    used: float
    """In the unit of ``limit``: calls, errors, blocks, sentences, turns or seconds."""
    limit: float
    tool: str = ""
    """Of the call it is about."""


class Panel(Protocol):
    """All detectors of one session behind one face (implemented by `detect.panel.DetectorPanel`).

    Deterministic: equal events at equal times give equal findings. ``seq`` numbers the events of
    the run from 0.
    """

    def observe(self, event: Event, seq: int, now: float) -> Sequence[Finding]:
        """Take one event in. Findings about a `ToolAsked` concern the call that is being asked for."""

    def deadline(self) -> float | None:
        """When `tick` should be called next, if nothing happens before."""

    def tick(self, now: float) -> Sequence[Finding]: ...

    def call_blocked(self, call: CallId, now: float) -> None:
        """Policy refused this call: it did not run (and its refusal is no outcome)."""

    def reset(self) -> None:
        """A person asked to forget the counters (``loopguard reset``)."""

    def resumed(self, now: float) -> None:
        """A recovery continued the turn: do not trip at once on old history, do not forget it either."""

    def calls(self, now: float) -> Sequence[CallView]:
        """The calls still remembered, newest last."""

    def gauges(self, now: float) -> Sequence[Gauge]:
        """How near the rules are that have begun to count. Looking changes nothing."""

    def view(self, call: CallId, now: float) -> CallView | None:
        """The line of one call, while it is remembered. Constant time."""

    def reconfigure(self, settings: GuardSettings) -> None:
        """New settings from now on; what was counted stays counted."""

    def check(self, fields: Mapping[str, Any], now: float) -> Mapping[str, Any]:
        """``loop_check``: facts about one planned call; grants nothing. Shape as `decide`."""

    def decide(self, fields: Mapping[str, Any], now: float) -> Mapping[str, Any]:
        """``loop_decide``: ``{"ok": bool, "code": str, "text": str, "key": str, "decision": str}``."""
