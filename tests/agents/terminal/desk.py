"""A terminal agent under a real hub, on a virtual clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopguard_cli.agents.base import Answer, BridgeAddress, Keys, Setup
from loopguard_cli.agents.terminal import make, unknown
from loopguard_cli.core.effects import Abort, Effect, Prompt, ReadSession, Record, Tell
from loopguard_cli.core.events import Event
from loopguard_cli.core.records import LoopFound
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.core.terminal import TerminalSettings
from loopguard_cli.runtime.assemble import make_hub

PORTION = 0.05
"""Seconds between two portions of output."""


class Watched:
    """What a run does between the program, the adapter and the hub."""

    def __init__(self, *, named: bool = True, settings: TerminalSettings | None = None) -> None:
        setup = Setup(argv=("./program",), directory="/project", terminal=settings or TerminalSettings())
        self.agent: Any = make(setup) if named else unknown(setup)
        self.agent.launch({}, BridgeAddress(token=""))
        self.hub = make_hub(GuardSettings(), self.agent.capabilities, salt="t")
        self.now = 0.0
        self.events: list[Event] = []
        self.effects: list[Effect] = []
        self.typed: list[bytes] = []
        self.agent.sized(24, 80)

    def prints(self, data: bytes | str, seconds: float = PORTION) -> None:
        self.now += seconds
        self._tick()
        self.take(self.agent.printed(data.encode() if isinstance(data, str) else data))
        self.take(self.agent.drawn())

    def rests(self) -> None:
        """It writes nothing for a while."""
        self.now += 2.0
        self._tick()
        self.take(self.agent.still())

    def keys(self, data: bytes) -> None:
        self.take(self.agent.keyed(data))

    def take(self, answer: Answer) -> None:
        self.typed += [order.data for order in answer.orders if isinstance(order, Keys)]
        for event in answer.events:
            self.events.append(event)
            self._perform(self.hub.receive(event, self.now))

    def _tick(self) -> None:
        while (due := self.hub.deadline()) is not None and due <= self.now:
            self._perform(self.hub.tick(self.now))

    def _perform(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            self.effects.append(effect)
            if isinstance(effect, Abort | ReadSession | Prompt | Tell):
                self.take(self.agent.carry_out(effect))

    @property
    def found(self) -> list[str]:
        return [
            effect.record.rule
            for effect in self.effects
            if isinstance(effect, Record) and isinstance(effect.record, LoopFound)
        ]
