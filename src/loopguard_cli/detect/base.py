"""What a detector is, to the panel that runs it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from loopguard_cli.core.events import Event
from loopguard_cli.core.findings import Finding, Gauge

MAX_EVIDENCE = 32
"""A finding names at most this many events."""


class Detector(Protocol):
    """One family of rules over the events of one session.

    Deterministic: equal events at equal times give equal findings. Everything it keeps is bounded.
    """

    HEARS: frozenset[type[Event]]
    """The events that are its business; empty: all. Others of its session it may see or not."""

    def observe(self, event: Event, seq: int, now: float) -> Iterable[Finding]: ...

    def deadline(self) -> float | None:
        """When `tick` should be called next, if nothing happens before."""

    def tick(self, now: float) -> Iterable[Finding]: ...

    def reset(self) -> None:
        """A person asked to forget the counters."""

    def resumed(self, now: float) -> None:
        """A recovery continued the turn: do not trip at once on old history, do not forget it."""

    def gauges(self, now: float) -> Iterable[Gauge]:
        """How near its rules are to their thresholds. Looking changes nothing."""


class Quiet:
    """The uneventful half of `Detector`, for detectors without timers."""

    HEARS: frozenset[type[Event]] = frozenset()

    def deadline(self) -> float | None:
        return None

    def tick(self, now: float) -> Iterable[Finding]:
        return ()

    def reset(self) -> None:
        pass

    def resumed(self, now: float) -> None:
        pass

    def gauges(self, now: float) -> Iterable[Gauge]:
        return ()


def evidence(events: Iterable[int]) -> tuple[int, ...]:
    """The first and the latest of ``events``, in order, so that a long proof stays short."""
    numbers = tuple(events)
    if len(numbers) <= MAX_EVIDENCE:
        return numbers
    half = MAX_EVIDENCE // 2
    return numbers[:half] + numbers[-half:]
