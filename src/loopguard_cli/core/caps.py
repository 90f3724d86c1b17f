"""Hard caps of a run: calls, turns, tokens, cost, minutes. No approval and no reset lifts them.

Source: a loop guard whose counter was reset by every automatic approval let 10,943 edits through.
"""

from __future__ import annotations

from collections.abc import Mapping

from loopguard_cli.core.settings import CapSettings


class Caps:
    """Counts over all sessions of a run."""

    def __init__(self, settings: CapSettings) -> None:
        self._settings = settings
        self._started: float | None = None
        self.reached: str = ""
        """Name of the cap that was reached, once."""
        self.any = _any(settings)
        """There is a cap at all."""

    def limit(self) -> float:
        return float(getattr(self._settings, self.reached))

    def reconfigure(self, settings: CapSettings) -> None:
        """New limits; one that was reached is lifted only by a higher limit set by a person."""
        self._settings = settings
        self.reached = ""
        self.any = _any(settings)

    def start(self, now: float) -> None:
        if self._started is None:
            self._started = now

    def deadline(self) -> float | None:
        if self._started is None or self.reached or not self._settings.minutes:
            return None
        return self._started + self._settings.minutes * 60

    def used(self, now: float, totals: Mapping[str, float]) -> list[tuple[str, float, float]]:
        """Name, what is used and the limit (0: none) of each cap; ``totals`` as `Hub.totals` has them."""
        minutes = (now - self._started) / 60 if self._started is not None else 0.0
        values = {**totals, "minutes": minutes}
        return [(name, values[name], getattr(self._settings, name)) for name in CapSettings.__struct_fields__]

    def check(self, now: float, *, calls: int, turns: int, tokens: int, cost: float) -> bool:
        """True the moment a cap is reached; false before and after."""
        if self.reached:
            return False
        used = {"calls": calls, "turns": turns, "tokens": tokens, "cost": cost}
        for name, value, limit in self.used(now, used):
            # A cap of N calls or turns lets the Nth one through; a used-up budget is used up.
            over = value > limit if name in ("calls", "turns") else value >= limit
            if limit and over:
                self.reached = name
                return True
        return False


def _any(settings: CapSettings) -> bool:
    return any(getattr(settings, name) for name in CapSettings.__struct_fields__)
