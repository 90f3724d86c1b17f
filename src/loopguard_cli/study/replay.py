"""Feeding a recorded trace through the guard, without an agent.

A recording goes through the whole hub, with the times and the salt it was made with, and gives the
findings it gave then. A neutral trace was recorded without us: its agent went on whatever we find,
so only detectors and policy see it, with the number of the line as the number of the event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from loopguard_cli.core.effects import Effect, Record
from loopguard_cli.core.events import Event, Origin, ToolAsked, UserSpoke
from loopguard_cli.core.findings import Action, Finding, Panel
from loopguard_cli.core.hub import Hub
from loopguard_cli.core.ids import CallKey
from loopguard_cli.core.policy import Policy
from loopguard_cli.core.records import LoopFound
from loopguard_cli.core.settings import Capabilities, GuardSettings, Mode
from loopguard_cli.core.wording import Wording
from loopguard_cli.detect.panel import DetectorPanel, Panels
from loopguard_cli.study.neutral import SESSION
from loopguard_cli.study.traces import Damage, Header, Moment, Trace

ABLE = Capabilities(
    **{name: True for name in Capabilities.__struct_fields__ if name not in ("screen", "respawn")}
)
"""An agent that can do everything: what a trace is judged with when it does not say."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the answer."""

    event: int
    """Number of the event in the file at which it was found, from 0."""
    rule: str
    action: str
    """warn, nudge, block, abort or stop."""
    key: str
    explanation: str
    count: int
    events: tuple[int, ...]
    """The events of the file that prove it."""
    time: float
    tool: str = ""
    session: str = ""
    escalated: bool = False
    degraded: str = ""
    facts: dict[str, Any] = {}


def replay(path: Path, settings: GuardSettings, damage: Damage | None = None) -> Iterator[Found]:
    """Everything the guard would have done, in order.

    Raises `InputError` for an unreadable file; for a damaged line too, unless ``damage`` takes it.
    """
    trace = Trace(path, damage)
    header = trace.header()
    judge = (
        _Recorded(header, settings)
        if header.is_recording
        else Judge(settings, DetectorPanel(SESSION, settings))
    )
    for moment in trace.moments():
        yield from judge.take(moment)


class Judge:
    """Detectors and policy over one session that was recorded without us."""

    def __init__(self, settings: GuardSettings, panel: Panel) -> None:
        self._settings = settings
        self._wording = Wording(settings.locale)
        self._panel = panel
        self._policy = Policy(settings, ABLE)

    def take(self, moment: Moment) -> Iterator[Found]:
        for event in moment.events:
            yield from self.judge(event, moment.index, moment.time)

    def judge(self, event: Event, index: int, time: float) -> Sequence[Found]:
        """What would have been said by the time of ``event``, and about it."""
        if self._settings.mode is Mode.OFF:
            return ()
        said: list[Found] = []
        while (due := self._panel.deadline()) is not None and due <= time:
            said += self._judged(self._panel.tick(due), index, due)
        if isinstance(event, UserSpoke) and event.origin is Origin.PERSON:
            self._policy.person_spoke()
        # Hardly any event makes a finding, and there may be millions of events.
        if findings := self._panel.observe(event, index, time):
            said += self._judged(findings, index, time, at_gate=isinstance(event, ToolAsked))
        return said

    def _judged(
        self, findings: Sequence[Finding], index: int, time: float, *, at_gate: bool | None = None
    ) -> Iterator[Found]:
        """``at_gate``: None for what time alone brought about."""
        verdict = self._policy.judge(findings, at_gate=bool(at_gate))
        finding = verdict.finding
        if finding is None or verdict.action <= Action.NOTE:
            return
        yield _found(
            finding,
            self._wording,
            verdict.action.name.lower(),
            index=index,
            time=time,
            events=tuple(dict.fromkeys(finding.events)),
            escalated=verdict.escalated,
            degraded=verdict.degraded,
        )
        if at_gate is not None and verdict.action >= Action.ABORT:
            self._panel.resumed(time)


class _Recorded:
    """The whole hub over a recording of our own."""

    def __init__(self, header: Header, settings: GuardSettings) -> None:
        can = msgspec.convert(header.capabilities, Capabilities) if header.capabilities else ABLE
        self._wording = Wording(settings.locale)
        self._hub = Hub(settings, capabilities=can, panels=Panels(mixed=can.mixed), salt=header.salt)

    def take(self, moment: Moment) -> Iterator[Found]:
        while (due := self._hub.deadline()) is not None and due < moment.time:
            yield from self._written(self._hub.tick(due), moment.index, due)
        for event in moment.events:
            yield from self._written(self._hub.receive(event, moment.time), moment.index, moment.time)

    def _written(self, effects: list[Effect], index: int, time: float) -> Iterator[Found]:
        for effect in effects:
            record = effect.record if isinstance(effect, Record) else None
            if not isinstance(record, LoopFound) or record.verdict == "note":
                continue
            finding = Finding(
                rule=record.rule,
                proposes=Action[record.verdict.upper()],
                session=record.session,
                identity=record.key,
                count=record.count,
                events=record.events,
                facts=record.facts,
                tool=record.tool,
                key=CallKey(record.key),
            )
            yield _found(finding, self._wording, record.verdict, index=index, time=time, events=record.events)


def _found(
    finding: Finding,
    wording: Wording,
    action: str,
    *,
    index: int,
    time: float,
    events: tuple[int, ...],
    escalated: bool = False,
    degraded: str = "",
) -> Found:
    return Found(
        event=index,
        rule=finding.rule,
        action=action,
        key=finding.key or finding.identity,
        explanation=wording.explain(finding),
        count=finding.count,
        events=events,
        time=time,
        tool=finding.tool,
        session=finding.session,
        escalated=escalated,
        degraded=degraded,
        facts=finding.facts,
    )
