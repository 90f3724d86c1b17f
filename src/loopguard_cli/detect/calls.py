"""The family of rules about tool calls: one journal, the rules of the preset, and the decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from loopguard_cli.core.events import (
    Event,
    Origin,
    SessionGone,
    SessionSeen,
    Status,
    StatusChanged,
    TextDelta,
    TextSnapshot,
    ToolAsked,
    ToolFinished,
    ToolStarted,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.findings import CallView, Finding, Gauge
from loopguard_cli.core.ids import CallId, CallKey, SessionId
from loopguard_cli.core.settings import CallSettings, GuardSettings, Preset
from loopguard_cli.detect import asked
from loopguard_cli.detect.base import Quiet
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.causes import EchoedError, SharedCause
from loopguard_cli.detect.consecutive import ConsecutiveCall
from loopguard_cli.detect.cycles import ExactCycle, NoisyCycle, OutcomeCycle
from loopguard_cli.detect.decisions import Decisions, is_exempt
from loopguard_cli.detect.delegation import RepeatedDelegation
from loopguard_cli.detect.errors import ExactError, RoundError
from loopguard_cli.detect.frequency import ExactFrequency, OutcomeFrequency
from loopguard_cli.detect.fruitless import FruitlessEdits
from loopguard_cli.detect.journal import Journal
from loopguard_cli.detect.keys import digest
from loopguard_cli.detect.kin import Kin
from loopguard_cli.detect.novelty import NoNovelty
from loopguard_cli.detect.plans import PlanAgain
from loopguard_cli.detect.repeat import RepeatCall
from loopguard_cli.detect.repetition import digest_text
from loopguard_cli.detect.rule import Plain, Rule, Scene
from loopguard_cli.detect.siblings import SiblingError
from loopguard_cli.detect.stagnation import Stagnation
from loopguard_cli.detect.standing import Standing
from loopguard_cli.detect.trials import NumberedTrials, Rewritten
from loopguard_cli.detect.unchanged import Unchanged
from loopguard_cli.detect.variations import GrowingCall, SameOutcome
from loopguard_cli.detect.waiting import PollUnchanged

Look = Callable[[Call, float], Iterable[Finding]]

SUMMARY = 80
"""Characters of a message that nobody types twice into a running turn."""

RULES: dict[Preset, tuple[Callable[[Scene], Rule], ...]] = {
    Preset.INFINITY: (RepeatCall,),
    Preset.PI: (ConsecutiveCall, ExactCycle, ExactFrequency, ExactError),
    Preset.BALANCED: (
        Unchanged,
        OutcomeCycle,
        RepeatedDelegation,
        PlanAgain,
        RoundError,
        EchoedError,
        SharedCause,
        SiblingError,
        OutcomeFrequency,
        SameOutcome,
        GrowingCall,
        NoisyCycle,
        NumberedTrials,
        Rewritten,
        PollUnchanged,
        FruitlessEdits,
        NoNovelty,
        Stagnation,
    ),
}
"""Which rules about calls a preset has; for findings of one call the order is that of the answers."""


class CallRules(Quiet):
    """All rules about the calls of one session."""

    HEARS: frozenset[type[Event]] = frozenset({
        ToolAsked, ToolStarted, ToolFinished, TextDelta, TextSnapshot, UserSpoke, StatusChanged,
        UsageReported, SessionSeen, SessionGone
    })  # fmt: skip

    def __init__(self, session: SessionId, settings: GuardSettings, kin: Kin) -> None:
        self.journal = Journal(_reach(settings.calls))
        self._settings = settings
        self._prompt = ""
        """Digest of the message that the running turn began with, if it is a long one."""
        self._scene = Scene(session, settings.calls, self.journal, Standing(), kin)
        self._adopt(settings.preset)
        self._decisions = Decisions(self._scene.standing, self, settings.locale)

    # --- events ------------------------------------------------------------------------------

    def observe(self, event: Event, seq: int, now: float) -> Iterable[Finding]:
        if isinstance(event, TextDelta):
            self.journal.said.add(event)
            return ()
        if isinstance(event, (ToolAsked, ToolStarted, ToolFinished)):
            # Looking at a repetition, or deciding about it, changes nothing in the world.
            return self._called(event, seq, now) if not is_exempt(event.tool) else ()
        if isinstance(event, UserSpoke) and self._said_again(event):
            return ()
        self.journal.follow(event)
        if isinstance(event, SessionSeen):
            self._scene.kin.born(event.session, event.parent)
        elif isinstance(event, SessionGone):
            self._clear()
        elif isinstance(event, UserSpoke) and event.origin is Origin.PERSON:
            self._scene.licensed = asked.times(event.text)
            for rule in self._rules:
                rule.spoke()
        elif isinstance(event, StatusChanged) and event.status is Status.IDLE:
            self._prompt = ""
            for rule in self._rules:
                rule.settled()
        return ()

    def refused(self, call: CallId) -> None:
        """The gate refused this call."""
        refused = self.journal.refuse(call)
        if refused is not None:
            for rule in self._rules:
                rule.refused(refused)

    def resumed(self, now: float) -> None:
        self.journal.resume()

    def reset(self) -> None:
        self.journal.clear()
        self._clear()

    def reconfigure(self, settings: GuardSettings) -> None:
        self._scene.settings = settings.calls
        self.journal.keep(_reach(settings.calls))
        self._decisions.locale = settings.locale
        if settings.preset is not self._settings.preset:
            self._adopt(settings.preset)
        self._settings = settings

    # --- questions ---------------------------------------------------------------------------

    def check(self, fields: Mapping[str, Any], now: float) -> Mapping[str, Any]:
        return self._decisions.check(fields, now)

    def decide(self, fields: Mapping[str, Any], now: float) -> Mapping[str, Any]:
        return self._decisions.decide(fields, now)

    def count(self, key: CallKey, now: float) -> int:
        """How many calls with this key count at present."""
        if self._repeats is not None:
            return self._repeats.count(key, now)
        line = self.journal.lines.get(key)
        return line.asked if line is not None else 0

    def threshold_of(self, tool: str) -> int:
        calls = self._settings.calls
        preset = self._settings.preset
        default = calls.consecutive_threshold if preset is Preset.PI else calls.repeat_threshold
        return self._scene.threshold(tool, default)

    def views(self, now: float) -> Sequence[CallView]:
        return [self._view(call, now) for call in self.journal.recent]

    def gauges(self, now: float) -> Iterable[Gauge]:
        for rule in self._rules:
            yield from rule.gauges(now)

    def view(self, call: CallId, now: float) -> CallView | None:
        known = self.journal.find(call)
        return self._view(known, now) if known is not None else None

    # --- inside ------------------------------------------------------------------------------

    def _said_again(self, event: UserSpoke) -> bool:
        """A long message that comes a second time into a running turn: the history was summed up, and the
        same summary is where the agent starts from. Nothing else has changed, so the calls go on."""
        if event.origin is not Origin.PERSON or len(event.text) < SUMMARY:
            self._prompt = ""
            return False
        prompt, self._prompt = self._prompt, digest_text(event.text)
        return prompt == self._prompt and self._settings.preset is Preset.BALANCED

    def _adopt(self, preset: Preset) -> None:
        """Put the rules of ``preset`` in force, each where it has something to say."""
        self._rules = [make(self._scene) for make in RULES[preset]]
        self._asking: list[Look] = [rule.asked for rule in self._rules if type(rule).asked is not Plain.asked]
        self._ending: list[Look] = [rule.ended for rule in self._rules if type(rule).ended is not Plain.ended]
        self._repeats = next((rule for rule in self._rules if isinstance(rule, RepeatCall)), None)

    def _called(
        self, event: ToolAsked | ToolStarted | ToolFinished, seq: int, now: float
    ) -> Sequence[Finding]:
        if not isinstance(event, ToolFinished):
            return self._asked(self.journal.asked(event, seq, now), now)
        found: list[Finding] = []
        if self.journal.unheard(event):
            found += self._asked(self.journal.asked(event, seq, now), now)
        call = self.journal.ended(event, seq, now)
        if call is not None and call.tool not in self._scene.settings.ignore_tools:
            for look in self._ending:
                found += look(call, now)
        return found

    def _asked(self, call: Call | None, now: float) -> list[Finding]:
        found: list[Finding] = []
        if call is None or call.tool in self._scene.settings.ignore_tools:
            return found
        if self._scene.standing.attempt(call.key):
            self.journal.forget(call)
            for rule in self._rules:
                rule.forget(call.key)
        for look in self._asking:
            found += look(call, now)
        return found

    def _clear(self) -> None:
        self._scene.standing.clear()
        for rule in self._rules:
            rule.clear()

    def _view(self, call: Call, now: float) -> CallView:
        return CallView(
            tool=call.tool,
            key=call.key,
            count=self.count(call.key, now),
            blocked=self._scene.standing.blocked(call.key),
            last_seen=max(call.asked_at, call.ended_at),
            ok=call.ok if call.complete else None,
            outcome=digest(call.raw.encode()) if call.complete else "",
        )


def _reach(settings: CallSettings) -> int:
    """How many of the latest calls the rules look at with these thresholds."""
    return max(settings.frequency_window, settings.max_cycle_length * (settings.cycle_repeats + 1))
