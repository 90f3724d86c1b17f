"""pace-turns and pace-time: a run that takes long. Both warn once a run and never stop anything.

Source: the pi guard: more than 12 turns (model calls) or more than 180 seconds from the start of a
run to its end. A run begins with a person's message, or when the agent gets busy, and ends when it
is idle. The preset ``pi`` has both; elsewhere they are off until they are given a limit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from loopguard_cli.core.events import Event, Origin, ReplyStarted, Status, StatusChanged, UserSpoke
from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.core.ids import MessageId, SessionId
from loopguard_cli.core.settings import GuardSettings, PaceSettings
from loopguard_cli.detect.base import evidence

STEPS = 256
"""Messages of one run that are remembered, so that one announced twice counts once."""


class Pace:
    """The clock of one session's run."""

    HEARS: frozenset[type[Event]] = frozenset({UserSpoke, StatusChanged, ReplyStarted})

    def __init__(self, session: SessionId, settings: PaceSettings) -> None:
        self._session = session
        self._limits = settings
        self._began: float | None = None
        self._messages: deque[MessageId] = deque(maxlen=STEPS)
        self._steps: list[int] = []
        self._count = 0
        self._told_turns = self._told_time = False

    def observe(self, event: Event, seq: int, now: float) -> Iterable[Finding]:
        match event:
            case UserSpoke(origin=Origin.PERSON):
                self._begin(now)
            case StatusChanged(status=Status.BUSY) if self._began is None:
                self._begin(now)
            case StatusChanged(status=Status.IDLE):
                self._began = None
            case ReplyStarted(summary=False) if event.message not in self._messages:
                if self._began is None:
                    self._begin(now)
                yield from self._step(event.message, seq, now)
            case _:
                pass

    def deadline(self) -> float | None:
        if self._began is None or self._told_time or not self._limits.seconds:
            return None
        return self._began + self._limits.seconds

    def tick(self, now: float) -> Iterable[Finding]:
        due = self.deadline()
        if due is None or now < due or self._began is None:
            return
        self._told_time = True
        facts = {"seconds": round(now - self._began), "limit": self._limits.seconds}
        yield self._finding("pace-time", self._count, self._steps, facts)

    def reset(self) -> None:
        self._began = None

    def resumed(self, now: float) -> None:
        pass

    def gauges(self, now: float) -> Iterable[Gauge]:
        if self._limits.turns:
            yield Gauge(rule="pace-turns", used=self._count, limit=self._limits.turns)
        if self._limits.seconds and self._began is not None:
            yield Gauge(rule="pace-time", used=round(now - self._began, 1), limit=self._limits.seconds)

    # --- inside ------------------------------------------------------------------------------

    def _begin(self, now: float) -> None:
        self._began, self._count = now, 0
        self._steps.clear()
        self._messages.clear()
        self._told_turns = self._told_time = False

    def _step(self, message: MessageId, seq: int, now: float) -> Iterable[Finding]:
        self._messages.append(message)
        self._count += 1
        if len(self._steps) < STEPS:
            self._steps.append(seq)
        if self._limits.turns and self._count > self._limits.turns and not self._told_turns:
            self._told_turns = True
            yield self._finding("pace-turns", self._count, self._steps, {"limit": self._limits.turns})

    def _finding(self, rule: str, count: int, steps: Iterable[int], facts: dict[str, float]) -> Finding:
        return Finding(
            rule=rule,
            proposes=Action.WARN,
            limit=Action.WARN,
            session=self._session,
            identity=rule,
            count=count,
            events=evidence(steps),
            facts=facts,
        )


def pace(session: SessionId, settings: GuardSettings) -> Pace | None:
    """The clock, if any limit is set."""
    limits = settings.pace
    return Pace(session, limits) if limits.turns or limits.seconds else None
