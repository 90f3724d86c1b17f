"""Budgets: which one is used up."""

from __future__ import annotations

from loopguard_cli.goal.model import Goal, StopReason

_ROUNDING = 1e-6
"""Seconds; sums of floating-point times miss a limit by less than this."""


def reached(goal: Goal, now: float) -> StopReason:
    """The first limit that is reached; empty: none."""
    limits, meters = goal.limits, goal.meters
    if goal.turns >= limits.turns:
        return StopReason.MAX_TURNS
    if goal.time_in_force(now) >= limits.seconds - _ROUNDING:
        return StopReason.MAX_DURATION
    if meters.context_tokens >= limits.context_tokens:
        return StopReason.MAX_TOKENS
    if limits.total_tokens and meters.usage.total >= limits.total_tokens:
        return StopReason.MAX_TOTAL_TOKENS
    if limits.cost and (meters.usage.cost or 0.0) >= limits.cost:
        return StopReason.MAX_COST
    return StopReason.NONE


def handoff_due(goal: Goal, ratio: float) -> bool:
    """Requests have grown so large that the rest of the budget is needed for an orderly end."""
    return not goal.handoff_sent and goal.meters.context_tokens >= int(goal.limits.context_tokens * ratio)
