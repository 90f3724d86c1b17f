"""How long to wait before the next prompt."""

from __future__ import annotations

from loopguard_cli.goal.model import Goal

FIRST_RETRY = 5.0
"""Seconds after the first prompt that could not be delivered."""


def earliest(goal: Goal, attempted: float, longest: float) -> float:
    """When the next continuation may be sent, in seconds since the epoch; 0: at once.

    The gap after the newest attempt is the goal's cooldown, doubled with every fruitless turn in a
    row beyond the first, up to ``longest``.
    """
    newest = max(goal.continued, attempted)
    if not newest:
        return 0.0
    doublings = min(max(0, goal.meters.fruitless - 1), 30)
    return newest + max(goal.limits.cooldown, min(longest, goal.limits.cooldown * float(1 << doublings)))


def retry_delay(failures: int, longest: float) -> float:
    """Seconds until a failed prompt is tried again, after ``failures`` in a row."""
    return min(longest, FIRST_RETRY * float(1 << min(max(0, failures - 1), 30)))
