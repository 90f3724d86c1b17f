"""Feeds the hub and has its effects performed: one queue in, one order of effects out.

Everything the shell learns goes through `Supervisor.post`. Performing an effect may make new events
known at once; they join the queue, so the hub is never called from within itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from loopguard_cli.core.effects import AnswerGate, Effect, Level, Record, Respond, Tell
from loopguard_cli.core.events import Asked, Event, ToolAsked
from loopguard_cli.core.records import Fault
from loopguard_cli.runtime.clock import Clock
from loopguard_cli.runtime.recording import Recording

LATEST_SECONDS = 3600.0
"""A timer further away is armed anew then; some event loops cannot wait longer than days."""


class Brain(Protocol):
    """What `core.hub.Hub` offers to the shell."""

    def receive(self, event: Event, now: float) -> list[Effect]: ...

    def deadline(self) -> float | None: ...

    def tick(self, now: float) -> list[Effect]: ...

    def pending(self) -> bool: ...


class Supervisor:
    """One run's event queue and its one timer."""

    def __init__(
        self,
        hub: Brain,
        perform: Callable[[Effect, float], Sequence[Event]],
        clock: Clock,
        recording: Recording | None = None,
    ) -> None:
        self.hub = hub
        self.changed = asyncio.Event()
        """Set after each round of events; whoever waits for a state of the run clears it."""
        self.failed = ""
        """Type of the exception that put the hub out of use."""
        self._perform = perform
        self._clock = clock
        self._recording = recording
        self._queue: deque[Event] = deque()
        self._busy = False
        self._timer: asyncio.TimerHandle | None = None

    def post(self, events: Iterable[Event]) -> None:
        """Take in what happened, and do what follows from it."""
        self._queue.extend(events)
        if not self._busy:
            self._drain()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drain(self, first: Sequence[Effect] = ()) -> None:
        self._busy = True
        try:
            self._do(first)
            while self._queue:
                event = self._queue.popleft()
                now = self._clock.now()
                if self._recording is not None:
                    self._recording.write(event, now)
                self._do(self._think(event, now))
        finally:
            self._busy = False
        self._arm()
        self.changed.set()

    def _think(self, event: Event, now: float) -> Sequence[Effect]:
        """Ask the hub. It contains its parts; should it fail itself, the agent still goes on."""
        if not self.failed:
            try:
                return self.hub.receive(event, now)
            except Exception as error:
                self._fail(error)
        if isinstance(event, ToolAsked):
            return [AnswerGate(session=event.session, request=event.request, allow=True)]
        if isinstance(event, Asked):
            text = "loopguard has failed and only lets the agent go on"
            return [Respond(session=event.session, request=event.request, ok=False, code="failed", text=text)]
        return []

    def _do(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            try:
                self._queue.extend(self._perform(effect, self._clock.now()))
            except Exception as error:
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Said once; from now on everything is let through."""
        if not self.failed:
            self.failed = type(error).__name__
            self.changed.set()
            text = f"loopguard failed ({self.failed}); the agent goes on unguarded"
            self._do(
                [Record(record=Fault(component="hub", error=self.failed)), Tell(text=text, level=Level.ERROR)]
            )

    def _arm(self) -> None:
        self.close()
        deadline = None if self.failed else self.hub.deadline()
        if deadline is not None:
            delay = min(max(0.0, deadline - self._clock.now()), LATEST_SECONDS)
            self._timer = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        try:
            effects = self.hub.tick(self._clock.now())
        except Exception as error:
            effects = []
            self._fail(error)
        self._drain(effects)
