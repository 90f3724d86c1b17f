"""The two interfaces that the hub is given from outside: detectors and goal loop.

The core may not import upwards; `runtime.assemble` puts the real ones in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from loopguard_cli.core.effects import Effect
from loopguard_cli.core.events import Event
from loopguard_cli.core.findings import Panel
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.settings import GuardSettings


class PanelFactory(Protocol):
    def __call__(self, session: SessionId, settings: GuardSettings) -> Panel: ...


class GoalLoop(Protocol):
    """The goal loop of all sessions of a run (implemented by `goal.loop.Goals`).

    It sees every event the hub sees, in order, and answers with effects; results of its effects
    come back as events. ``Asked`` with an operation that begins with ``goal.`` or ``tool.goal``
    (or names an alias tool) is its to answer, exactly once.
    """

    def receive(self, event: Event, now: float) -> Sequence[Effect]: ...

    def deadline(self) -> float | None: ...

    def tick(self, now: float) -> Sequence[Effect]: ...

    def hold(self, session: SessionId, held: bool, now: float) -> Sequence[Effect]:
        """While held (the guard is recovering, or has stopped the session) nothing is prompted.

        Releasing makes the loop look at the session again as at a fresh idle.
        """

    def drives(self, session: SessionId) -> bool:
        """An active goal of this session would continue it at the next idle."""

    def exit_code(self) -> int | None:
        """How the goals of this run ended (0, 81, 82, 83), None if none was ever driven."""
