"""The guard of one session: detectors and policy in, effects out.

It turns verdicts into effects (enactment) and owns the session's recovery.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

from loopguard_cli.core.bookkeeping import Bookkeeping
from loopguard_cli.core.effects import (
    AnswerGate,
    Effect,
    EndRun,
    Level,
    Prompt,
    Purpose,
    Record,
    SetContext,
    Tell,
)
from loopguard_cli.core.events import (
    AgentError,
    Event,
    Origin,
    ReplyFinished,
    Status,
    StatusChanged,
    TextDelta,
    ToolAsked,
    ToolFinished,
    ToolStarted,
    UserSpoke,
)
from loopguard_cli.core.findings import LABELS, Action, Finding, Panel
from loopguard_cli.core.ids import NO_SESSION, CallId, Mint, SessionId
from loopguard_cli.core.policy import Policy, Verdict
from loopguard_cli.core.ports import PanelFactory
from loopguard_cli.core.records import LoopFound
from loopguard_cli.core.recovery import Recovery
from loopguard_cli.core.session import SessionState
from loopguard_cli.core.settings import Capabilities, GuardSettings, Mode
from loopguard_cli.core.wording import Wording

EXIT_LOOP = 80

REMEMBERED_REFUSALS = 64

_ON, _OFF = Mode.ON, Mode.OFF  # looked up in the class at each event otherwise

_CALLS = (ToolAsked, ToolStarted, ToolFinished)

_OUTCOMES = {
    Action.NOTE: ("noted", Level.INFO),
    Action.WARN: ("warned", Level.WARNING),
    Action.NUDGE: ("nudged", Level.WARNING),
    Action.BLOCK: ("blocked", Level.WARNING),
    Action.ABORT: ("aborted", Level.WARNING),
    Action.STOP: ("stopped", Level.ERROR),
}


class Guard:
    """One session under guard."""

    def __init__(
        self,
        session: SessionId,
        settings: GuardSettings,
        *,
        capabilities: Capabilities,
        wording: Wording,
        panels: PanelFactory,
        policy: Policy,
        mint: Mint,
    ) -> None:
        self.state = SessionState(session)
        self.panel: Panel = panels(session, settings)
        self.policy = policy
        self.recovery = Recovery(session, settings, capabilities, wording, mint)
        self.held = False
        """What the goal loop was last told (see `holds`)."""
        self.goal_context: SetContext | None = None
        self.broken = False
        """Something in here raised: the session goes on without a guard."""
        self.blocks = self.aborts = self.nudges = 0
        self._settings, self._can, self._wording, self._mint = settings, capabilities, wording, mint
        self.context_stale = True
        """The bridge does not hold the present `context` yet."""
        self._refused: OrderedDict[CallId, None] = OrderedDict()
        self._leak_told = False
        self._books = Bookkeeping(self.state)

    # --- events ------------------------------------------------------------------------------

    def receive(self, event: Event, seq: int, now: float) -> list[Effect]:
        effects: list[Effect] = []
        if self.broken:
            return effects
        self.state.evolve(event)
        spoke = event if isinstance(event, UserSpoke) else None
        if isinstance(event, (UserSpoke, StatusChanged)):
            effects += self._books.turn(event)
        if self._settings.mode is not _OFF:
            if spoke is not None and spoke.origin is Origin.PERSON:
                self.policy.person_spoke()
            gate = event if isinstance(event, ToolAsked) else None
            if gate is not None and (refusal := self._shut()):
                # The turn is already being cut off: whatever still asks must not run afterwards.
                return effects + self._refuse(gate, refusal, now)
            found = self.panel.observe(event, seq, now)
            verdict = self._judge(found, at_gate=gate is not None) if found else None
            if isinstance(event, _CALLS):
                effects += self._write_call_down(event, verdict, seq, now)
            if verdict is not None:
                effects += self._enact(verdict, gate, now)
            if isinstance(event, ToolFinished) and event.call in self._refused:
                effects += self._leaks(event)
        if spoke is not None or self.recovery.active:
            effects += self.recovery.receive(event, now)
        return effects

    def read(self, event: TextDelta, seq: int, now: float) -> Iterable[Effect]:
        """Take a piece of streamed text in, which is of interest to the detectors alone."""
        if self.broken or self._settings.mode is _OFF:
            return ()
        found = self.panel.observe(event, seq, now)
        return self._enact(self._judge(found, at_gate=False), None, now) if found else ()

    def deadline(self) -> float | None:
        if self.broken:
            return None
        times = [self.recovery.deadline(), self.panel.deadline()]
        return min((t for t in times if t is not None), default=None)

    def tick(self, now: float) -> Iterator[Effect]:
        if self.broken:
            return
        yield from self.recovery.tick(now)
        if self._settings.mode is not Mode.OFF and (found := self.panel.tick(now)):
            yield from self._enact(self._judge(found, at_gate=False), None, now)

    # --- verdicts ----------------------------------------------------------------------------

    def _judge(self, findings: Sequence[Finding], *, at_gate: bool) -> Verdict | None:
        if self.state.muted or self.recovery.active:
            return None
        return self.policy.judge(findings, at_gate=at_gate)

    def _enact(self, verdict: Verdict | None, gate: ToolAsked | None, now: float) -> list[Effect]:
        finding = verdict.finding if verdict else None
        if verdict is None or finding is None or verdict.action is Action.ALLOW:
            return []
        effects = self._write_down(verdict, finding)
        if verdict.action <= Action.WARN:
            return effects
        match verdict.action:
            case Action.NUDGE:
                effects += self._nudge(finding)
            case Action.BLOCK if gate is not None:
                effects += self._refuse(gate, self._wording.blocked(finding), now)
            case Action.ABORT | Action.STOP:
                if gate is not None:
                    effects += self._refuse(gate, self._wording.blocked(finding), now)
                effects += self._cut(finding, now, resume=verdict.action is Action.ABORT)
            case _:
                pass
        return effects

    def _write_call_down(
        self, event: ToolAsked | ToolStarted | ToolFinished, verdict: Verdict | None, seq: int, now: float
    ) -> Sequence[Effect]:
        view = self.panel.view(event.call, now)
        leaked = isinstance(event, ToolFinished) and event.call in self._refused and _ran(event)
        record = self._books.call(event, view, verdict, seq, now, leaked=leaked) if view is not None else None
        return (record,) if record is not None else ()

    def _write_down(self, verdict: Verdict, finding: Finding) -> list[Effect]:
        record = LoopFound(
            session=self.state.id,
            rule=finding.rule,
            verdict=LABELS[verdict.action],
            key=finding.key or finding.identity,
            tool=finding.tool,
            count=finding.count,
            events=finding.events,
            facts=finding.facts,
        )
        # A refused call waits for its answer, which a slow disk must not delay.
        cuts = verdict.action > Action.BLOCK
        effects: list[Effect] = [Record(session=self.state.id, record=record, sync=cuts)]
        if verdict.action is Action.NOTE or verdict.again:
            return effects
        outcome, level = _OUTCOMES[verdict.action]
        text = self._wording.told(finding, outcome)
        if verdict.degraded:
            text = f"{text} ({verdict.degraded})"
        effects.append(Tell(session=self.state.id, level=level, topic=f"loop.{outcome}", text=text))
        return effects

    def _refuse(self, gate: ToolAsked, text: str, now: float) -> list[Effect]:
        self.blocks += 1
        self._refused[gate.call] = None
        while len(self._refused) > REMEMBERED_REFUSALS:
            self._refused.popitem(last=False)
        self.panel.call_blocked(gate.call, now)
        return [AnswerGate(session=self.state.id, request=gate.request, allow=False, text=text)]

    def _nudge(self, finding: Finding) -> Iterator[Effect]:
        self.nudges += 1
        if self._can.nudge:
            yield Prompt(
                session=self.state.id,
                effect=self._mint.effect(),
                text=self._wording.nudge(finding),
                purpose=Purpose.NUDGE,
                agent=self.state.agent,
                model=self.state.model,
                variant=self.state.variant,
            )

    def _cut(self, finding: Finding, now: float, *, resume: bool) -> Iterator[Effect]:
        """Abort the turn; continue it within the allowance, except a sub-agent's.

        A sub-agent that is cut off hands an error to its parent, which goes on by itself; a prompt
        into the child would start a second, unwatched conversation beside it.
        """
        self.aborts += 1
        child = self.state.parent != NO_SESSION
        recovery = self.recovery
        recovery.agent, recovery.model, recovery.variant = (
            self.state.agent,
            self.state.model,
            self.state.variant,
        )
        yield from recovery.start(
            finding, now, resume=resume and not child, newest_user=self.state.newest_user
        )
        self.panel.resumed(now)
        if not recovery.continues and not (child and resume):
            self.state.stopped = True
            text = self._wording.exhausted(recovery.used)
            yield Tell(session=self.state.id, level=Level.ERROR, topic="loop.stopped", text=text)
            if not self._can.screen and not child:
                yield EndRun(session=self.state.id, code=EXIT_LOOP, reason=text)

    def cut_off(self, rule: str, now: float) -> Iterator[Effect]:
        """A hard cap was reached: abort what runs, continue nothing."""
        self.state.stopped = True
        if self.state.status is not Status.IDLE and not self.recovery.active:
            finding = Finding(
                rule=rule, proposes=Action.STOP, session=self.state.id, identity=rule, count=0, events=()
            )
            newest = self.state.newest_user
            yield from self.recovery.start(finding, now, resume=False, newest_user=newest)

    def _shut(self) -> str:
        """Why no call may run now; empty when calls may run."""
        if self._settings.mode is not _ON or self.state.muted:
            return ""
        if self.recovery.active:
            return self._wording.aborting()
        return self._wording.stopped() if self.state.stopped else ""

    # --- recovery and goal -------------------------------------------------------------------

    def holds(self) -> bool:
        """The goal loop must not prompt this session now."""
        return self.recovery.active or self.state.stopped

    def busy_with(self, event: Event) -> bool:
        """The event is a consequence of our own abort and means nothing to the goal."""
        aborted = isinstance(event, AgentError | ReplyFinished) and event.aborted
        return self.recovery.active and aborted

    # --- calls that ran all the same -----------------------------------------------------------

    def _leaks(self, event: ToolFinished) -> Iterator[Effect]:
        """A refused call that came back with a result ran after all: say that blocking fails here."""
        del self._refused[event.call]
        if not _ran(event):
            return
        self.blocks -= 1
        if not self._leak_told:
            self._leak_told = True
            text = self._wording.leaked(event.tool)
            yield Tell(session=self.state.id, level=Level.ERROR, topic="gate.leaked", text=text)

    # --- context, totals, live changes -------------------------------------------------------

    def context(self) -> SetContext:
        """The guard's hint and the goal's standing text, as one."""
        goal = self.goal_context
        hint = self._wording.hint() if self._settings.hint and self._settings.mode is not Mode.OFF else ""
        texts = [text for text in (hint, goal.system if goal else "") if text]
        self.context_stale = False
        return SetContext(
            session=self.state.id,
            system="\n\n".join(texts),
            compaction=goal.compaction if goal else "",
            host_continues=goal.host_continues if goal else True,
        )

    def totals(self) -> dict[str, float]:
        return self.state.totals()

    def reset(self) -> None:
        """A person asked to forget counters and the tripped state; hard caps stay."""
        self.panel.reset()
        self.policy.reset()
        self.recovery.used, self.state.stopped = 0, False

    def reconfigure(self, settings: GuardSettings, wording: Wording) -> None:
        self._settings, self._wording, self.context_stale = settings, wording, True
        self.recovery.reconfigure(settings, wording)
        self.policy.reconfigure(settings)
        self.panel.reconfigure(settings)


def _ran(refused: ToolFinished) -> bool:
    """A call that was refused has run: the answer came too late, or was not heeded."""
    return not (refused.refused or refused.cancelled) and (refused.ok or refused.exit_code is not None)
