"""The hub: every event goes in here, every effect comes out.

Synchronous, pure and deterministic. The shell calls `receive` with each event, performs what
comes back in that order, and calls `tick` at `deadline`. One event passes through

    session state -> detectors -> policy -> enactment -> recovery -> goal loop

A part that raises is put out of use and reported once; the agent goes on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVarTuple

from loopguard_cli.core.caps import Caps
from loopguard_cli.core.effects import (
    AnswerGate,
    AnswerPermission,
    Effect,
    EndRun,
    Level,
    Record,
    SetContext,
    Tell,
)
from loopguard_cli.core.events import (
    Asked,
    Event,
    PermissionAsked,
    SessionGone,
    TextDelta,
    TextSnapshot,
    ToolAsked,
    ToolStarted,
    Unparsed,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.guard import Guard
from loopguard_cli.core.holding import Held
from loopguard_cli.core.ids import NO_SESSION, Mint, SessionId
from loopguard_cli.core.policy import Policy
from loopguard_cli.core.ports import GoalLoop, PanelFactory
from loopguard_cli.core.presence import Presence
from loopguard_cli.core.records import Fault
from loopguard_cli.core.requests import answer
from loopguard_cli.core.settings import Capabilities, GuardSettings, Mode
from loopguard_cli.core.watchdog import Watchdog, WatchdogSettings
from loopguard_cli.core.wording import Wording

MAX_SESSIONS = 100
"""The least recently used goes (source: the streaming guard's own bound)."""

EXIT_LIMIT = 82
"""Stopped at a limit (cli.exit_codes)."""

Ts = TypeVarTuple("Ts")

_OF_THE_RUN = (Unparsed, PermissionAsked)
"""The events that the hub itself answers."""

_COUNTED = (ToolAsked, ToolStarted, UserSpoke, UsageReported)
"""The events that can move a hard cap."""

DOOM_LOOP = "doom_loop"
"""OpenCode's own question about repeated calls; ours replaces it, and nobody may be there to answer."""


def _answered(effects: Sequence[Effect], asked: ToolAsked) -> bool:
    return any(isinstance(e, AnswerGate) and e.request == asked.request for e in effects)


class Hub:
    """The brain of one run."""

    def __init__(
        self,
        settings: GuardSettings,
        *,
        capabilities: Capabilities,
        panels: PanelFactory,
        goals: GoalLoop | None = None,
        watchdog: WatchdogSettings | None = None,
        salt: str = "",
    ) -> None:
        self.settings = settings
        self.capabilities = capabilities
        self.wording = Wording(settings.locale)
        self.caps = Caps(settings.caps)
        self.goals = goals
        self.sessions: OrderedDict[SessionId, Guard] = OrderedDict()
        self.presence = Presence()
        self.unparsed = 0
        self._panels = panels
        self._mint = Mint(salt)
        self.watchdog = (
            Watchdog(watchdog, capabilities=capabilities, mint=self._mint, wording=self.wording)
            if watchdog is not None
            else None
        )
        self._seq = -1
        self._held = Held()
        self._past = {"calls": 0, "turns": 0, "tokens": 0, "cost": 0.0}

    # --- the three entrances -----------------------------------------------------------------

    def receive(self, event: Event, now: float) -> list[Effect]:
        """Take one event in; returns what is to be done, in order."""
        self._seq += 1
        if self._seq == 0:
            self.caps.start(now)
        if isinstance(event, TextDelta):
            effects: list[Effect] = []
            if not self._held.at(event):
                effects += self._release()
                self._held.go_to(event)
            whole = self._held.add(event, self._seq, now)
            return effects if whole is None else effects + self._read(whole, self._seq, now)
        effects = self._release()
        if isinstance(event, TextSnapshot):
            self._held.replaced(event)
        return effects + self._take(event, now)

    def _take(self, event: Event, now: float) -> list[Effect]:
        """Any event but a piece of text."""
        effects: list[Effect] = []
        if not event.session:
            effects += self.presence.receive(event, self.wording, now)
        if isinstance(event, _OF_THE_RUN):
            effects += self._run_event(event)
        if isinstance(event, Asked) and event.operation.startswith("guard."):
            return [*effects, *answer(self, event, now)]
        guard = self._guard(event.session, now)
        if guard is not None:
            effects += self._safely("detectors", guard, guard.receive, event, self._seq, now)
            if guard.context_stale:
                effects.append(guard.context())
        capped = self._cap(now) if self.caps.any and isinstance(event, _COUNTED) else []
        if isinstance(event, ToolAsked) and not _answered(effects, event):
            effects.append(self._answer(event))
        effects += capped
        effects += self._watch(event, now)
        effects += self._follow(guard, event, now)
        if isinstance(event, SessionGone):
            self._forget(event.session)
        return effects

    def _read(self, event: TextDelta, seq: int, now: float) -> list[Effect]:
        """Streamed text: of interest to detectors, watchdog and goal loop alone."""
        effects: list[Effect] = []
        guard = self._guard(event.session, now)
        if guard is not None:
            effects += self._safely("detectors", guard, guard.read, event, seq, now)
            if guard.context_stale:
                effects.append(guard.context())
        if self.watchdog is not None:
            effects += self._watch(event, now)
        if self.goals is not None:
            effects += self._follow(guard, event, now)
        return effects

    def _release(self) -> list[Effect]:
        """Something else happens than more of the same text: what was held back of it goes first."""
        held = self._held.take()
        return self._read(*held) if held else []

    def deadline(self) -> float | None:
        """When `tick` is due if nothing happens before; None: never."""
        times = [guard.deadline() for guard in self.sessions.values()]
        times += [
            self.caps.deadline(),
            self.presence.deadline(),
            self.goals.deadline() if self.goals else None,
        ]
        return min((t for t in times if t is not None), default=None)

    def pending(self) -> bool:
        """Something will still be prompted without further word from outside: a recovery or a goal."""
        recovering = any(guard.recovery.active for guard in self.sessions.values())
        goals = self.goals
        return recovering or (goals is not None and any(goals.drives(s) for s in self.sessions))

    def tick(self, now: float) -> list[Effect]:
        effects: list[Effect] = [*self._release(), *self.presence.tick(self.wording, now)]
        for guard in list(self.sessions.values()):
            effects += self._safely("detectors", guard, guard.tick, now)
            effects += self._hold(guard, now)
        effects += self._cap(now)
        if self.goals:
            effects += self._goal(lambda goals: goals.tick(now))
        return effects

    # --- one event ---------------------------------------------------------------------------

    def _run_event(self, event: Event) -> Iterator[Effect]:
        match event:
            case Unparsed():
                self.unparsed += 1
                # Said at the first and then ever more rarely: a changed schema shows up in numbers.
                if self.unparsed in (1, 10, 100, 1000):
                    text = self.wording.unparsed(self.unparsed, event.native)
                    yield Tell(level=Level.WARNING, topic="agent.schema", text=text)
            case PermissionAsked(permission=permission) if (
                permission == DOOM_LOOP and self.settings.mode is not Mode.OFF
            ):
                yield AnswerPermission(session=event.session, request=event.request, allow=True)
            case _:
                pass

    def _guard(self, session: SessionId, now: float) -> Guard | None:
        """The session's guard; made on first sight, the least recently used is dropped."""
        if session == NO_SESSION:
            return None
        guard = self.sessions.get(session)
        if guard is None:
            guard = self.sessions[session] = Guard(
                session,
                self.settings,
                capabilities=self.capabilities,
                wording=self.wording,
                panels=self._panels,
                policy=Policy(self.settings, self.capabilities),
                mint=self._mint,
            )
            while len(self.sessions) > MAX_SESSIONS:
                self._forget(next(iter(self.sessions)))
        self.sessions.move_to_end(session)
        return guard

    def _forget(self, session: SessionId) -> None:
        guard = self.sessions.pop(session, None)
        if guard is not None:
            for name, value in guard.totals().items():
                self._past[name] += value

    def _follow(self, guard: Guard | None, event: Event, now: float) -> list[Effect]:
        """Let the goal loop see the event, unless the guard is busy with the session."""
        if self.goals is None:
            return []
        effects = self._hold(guard, now) if guard else []
        ours = guard is not None and guard.busy_with(event)
        if not ours:
            effects += self._goal(lambda goals: goals.receive(event, now))
        return effects

    def _hold(self, guard: Guard, now: float) -> list[Effect]:
        if self.goals is None or guard.held == guard.holds():
            return []
        guard.held = guard.holds()
        return self._goal(lambda goals: goals.hold(guard.state.id, guard.held, now))

    def _goal(self, call: Callable[[GoalLoop], Sequence[Effect]]) -> list[Effect]:
        assert self.goals is not None
        try:
            effects = list(call(self.goals))
        except Exception as error:
            self.goals = None
            return [*self._fault("goal loop", error)]
        return [self._merged(effect) for effect in effects]

    def _merged(self, effect: Effect) -> Effect:
        """The goal's standing text joins the guard's hint: the bridge keeps one context a session."""
        if isinstance(effect, SetContext) and (guard := self.sessions.get(effect.session)):
            guard.goal_context = effect
            return guard.context()
        return effect

    def _watch(self, event: Event, now: float) -> list[Effect]:
        if self.watchdog is None:
            return []
        try:
            return [*self.watchdog.receive(event, now)]
        except Exception as error:
            self.watchdog = None
            return [*self._fault("watchdog", error)]

    def _answer(self, asked: ToolAsked) -> AnswerGate:
        """Nobody objects: the call runs, unless a hard cap of the run is reached."""
        shut = bool(self.caps.reached) and self.settings.mode is Mode.ON
        text = self.wording.stopped() if shut else ""
        return AnswerGate(session=asked.session, request=asked.request, allow=not shut, text=text)

    # --- trouble and limits ------------------------------------------------------------------

    def _cap(self, now: float) -> list[Effect]:
        used = self.totals()
        if not self.caps.check(
            now,
            calls=int(used["calls"]),
            turns=int(used["turns"]),
            tokens=int(used["tokens"]),
            cost=used["cost"],
        ):
            return []
        text = self.wording.capped(self.caps.reached, self.caps.limit())
        effects: list[Effect] = [Tell(level=Level.ERROR, topic="cap.reached", text=text)]
        for guard in self.sessions.values():
            effects += guard.cut_off(f"cap-{self.caps.reached}", now)
        if not self.capabilities.screen:
            effects.append(EndRun(code=EXIT_LIMIT, reason=text))
        return effects

    def totals(self) -> dict[str, float]:
        """Calls, turns, tokens and cost of the whole run, sub-agents included."""
        sums: dict[str, float] = dict(self._past)
        for guard in self.sessions.values():
            for name, value in guard.totals().items():
                sums[name] += value
        return sums

    def _safely(
        self,
        component: str,
        guard: Guard,
        call: Callable[[*Ts], Iterable[Effect]],
        *args: *Ts,
    ) -> list[Effect]:
        try:
            return [*call(*args)]
        except Exception as error:
            guard.broken = True
            return [*self._fault(component, error)]

    def _fault(self, component: str, error: Exception) -> Iterator[Effect]:
        yield Record(record=Fault(component=component, error=type(error).__name__))
        yield Tell(level=Level.ERROR, topic="fault", text=self.wording.faulted(component))

    # --- live changes ------------------------------------------------------------------------

    def reconfigure(self, settings: GuardSettings) -> list[Effect]:
        """Put new settings in force at once, in all sessions. Counters stay."""
        effects = self._release()
        self.settings, self.wording = settings, Wording(settings.locale)
        self.caps.reconfigure(settings.caps)
        if self.watchdog is not None:
            self.watchdog.wording = self.wording
        for guard in self.sessions.values():
            guard.reconfigure(settings, self.wording)
            effects.append(guard.context())
        return effects
