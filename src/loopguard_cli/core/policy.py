"""What is really done about findings: mode, ladder with memory, capabilities of the agent.

The ladder (preset ``balanced``): a loop is met with what its rule proposes; seen again, with the
next rung, up to what the evidence justifies (`Finding.limit`). A call that stays refused and is
asked for again and again ends in an aborted turn. One nudge is enough until the repetitions have
doubled, also where it stands in for something stronger. Our own nudges and continuations never make
the ladder forget; a person's message does.

The presets ``infinity`` and ``pi`` have no ladder: each finding gets what the rule proposes. One
thing stands above ``infinity``: a call that stays refused and is asked for more than
`CallSettings.blocked_retries` times again (8 there, unless set) ends in an aborted turn, because
reported agents ask for a refused call a hundred times.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from loopguard_cli.core.findings import Action, Finding
from loopguard_cli.core.settings import Capabilities, GuardSettings, Mode, Preset, RuleAction

_OFF, _OBSERVE, _BALANCED = Mode.OFF, Mode.OBSERVE, Preset.BALANCED
_WARN, _NUDGE, _BLOCK = Action.WARN, Action.NUDGE, Action.BLOCK
# Each is looked up in its class at every finding otherwise, which Python 3.11 does slowly.

REMEMBERED = 256
"""Loops whose rung is remembered per session; the one unseen for longest is forgotten first."""

_RUNGS: tuple[Action, ...] = (Action.NOTE, Action.NUDGE, Action.BLOCK, Action.ABORT)

_HIGHER = {rung: next((higher for higher in _RUNGS if higher > rung), rung) for rung in Action}
"""The next rung; the highest stays where it is."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What is done about one event."""

    action: Action
    finding: Finding | None = None
    """The one that decided."""
    escalated: bool = False
    """Stronger than the rule proposed, because the same loop was met before."""
    degraded: str = ""
    """Why it is weaker or coarser than it should be (an English phrase), empty if it is not."""
    again: bool = False
    """The person was told of this loop, and it has not doubled since."""


ALLOWED = Verdict(action=Action.ALLOW)


class _Memory:
    """How one loop was met so far."""

    __slots__ = ("count", "rung", "times")

    def __init__(self) -> None:
        self.rung = Action.ALLOW
        self.times = 0
        """How often the present rung was used."""
        self.count = 0
        """Repetitions at the last nudge."""


class Policy:
    """The judgement of one session."""

    def __init__(self, settings: GuardSettings, capabilities: Capabilities) -> None:
        self._settings = settings
        self._can = capabilities
        self._memory: OrderedDict[str, _Memory] = OrderedDict()

    def judge(self, findings: Sequence[Finding], *, at_gate: bool) -> Verdict:
        """The verdict on one event's findings: the strongest action, the first finding that asks for it."""
        if self._settings.mode is _OFF:
            return ALLOWED
        best = ALLOWED
        for finding in findings:
            verdict = self._one(finding, at_gate=at_gate)
            if verdict.action > best.action:
                best = verdict
        return best

    def person_spoke(self) -> None:
        """A person's message: the loops met so far may be what they asked for."""
        self._memory.clear()

    def reset(self) -> None:
        self._memory.clear()

    def reconfigure(self, settings: GuardSettings) -> None:
        """New settings from now on; what was met stays remembered."""
        self._settings = settings

    # --- inside ------------------------------------------------------------------------------

    def _one(self, finding: Finding, *, at_gate: bool) -> Verdict:
        action: Action = finding.proposes
        settings = self._settings
        balanced = settings.preset is _BALANCED
        if balanced:
            action = self._climb(finding)
        elif action is _BLOCK and settings.preset is Preset.INFINITY:
            action = self._insist(finding)
        escalated = action > finding.proposes
        if (ceiling := settings.rules.get(finding.rule)) is not None:
            if ceiling is RuleAction.OFF:
                return ALLOWED
            action = min(action, Action[ceiling.upper()])
        lowered = action < finding.proposes
        if action is _NUDGE and (lowered or balanced):
            action = self._once(finding)
        if settings.mode is _OBSERVE:
            # Nothing ends the loop, so it would be told at each call.
            again = balanced and action > _NUDGE and self._once(finding) is not _NUDGE
            return Verdict(action=min(action, _WARN), finding=finding, escalated=escalated, again=again)
        action, degraded = self._within_reach(action, at_gate=at_gate)
        if degraded and action is Action.NUDGE:
            action = self._once(finding)
        return Verdict(action=action, finding=finding, escalated=escalated, degraded=degraded)

    def _climb(self, finding: Finding) -> Action:
        proposed: Action = finding.proposes
        if proposed is _WARN:
            return proposed
        memory = self._recall(finding)
        rung = proposed
        if memory.times:
            rung = max(rung, memory.rung)
            patience = self._settings.calls.blocked_retries if rung is _BLOCK else 0
            if memory.rung >= proposed and memory.times > patience:
                rung = _HIGHER[rung]
        if rung > finding.limit:
            rung = max(proposed, finding.limit)
        memory.times = memory.times + 1 if rung == memory.rung else 1
        memory.rung = rung
        return rung

    def _once(self, finding: Finding) -> Action:
        """A nudge, unless one was given and the repetitions have not doubled since."""
        memory = self._recall(finding)
        if finding.count < 2 * memory.count:
            return Action.NOTE
        memory.count = finding.count
        return Action.NUDGE

    def _insist(self, finding: Finding) -> Action:
        memory = self._recall(finding)
        memory.times += 1
        return Action.ABORT if memory.times > 1 + self._settings.calls.blocked_retries else Action.BLOCK

    def _recall(self, finding: Finding) -> _Memory:
        memory = self._memory.get(finding.identity)
        if memory is None:
            memory = self._memory[finding.identity] = _Memory()
            while len(self._memory) > REMEMBERED:
                self._memory.popitem(last=False)
        self._memory.move_to_end(finding.identity)
        return memory

    def _within_reach(self, action: Action, *, at_gate: bool) -> tuple[Action, str]:
        """The nearest thing that this agent lets us do."""
        can = self._can
        if action is Action.BLOCK and not at_gate:
            if can.abort:
                return Action.ABORT, "" if can.gate else "this agent has no gate: the turn is aborted instead"
            action, reason = Action.NUDGE, "this agent can be neither blocked nor aborted"
        elif action >= Action.ABORT and not can.abort:
            if at_gate:
                return Action.BLOCK, "this agent cannot be aborted: only the call is refused"
            action, reason = Action.NUDGE, "this agent cannot be aborted"
        else:
            reason = ""
        if action is Action.NUDGE and not can.nudge:
            return Action.WARN, reason or "this agent takes no hints: only the person is told"
        return action, reason
