"""Budgets: which one is used up."""

from __future__ import annotations

from msgspec.structs import replace

from loopguard_cli.goal.model import Goal, Limits, StopReason

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


def left(goal: Goal, now: float) -> Limits:
    """What remains of the budgets of a goal that reached none of them."""
    limits, usage = goal.limits, goal.meters.usage
    return replace(
        limits,
        turns=limits.turns - goal.turns,
        seconds=limits.seconds - goal.time_in_force(now),
        total_tokens=limits.total_tokens - usage.total if limits.total_tokens else 0,
        cost=limits.cost - (usage.cost or 0.0) if limits.cost else 0.0,
    )


BUDGETS = ("turns", "seconds", "context_tokens", "total_tokens", "cost", "talk_turns", "low_output_turns")
"""Fields of `Limits` that only a person raises."""
_UNLIMITED_AT_ZERO = ("total_tokens", "cost", "talk_turns")


def raised(before: Limits, after: Limits) -> bool:
    """``after`` allows more than ``before``."""
    return any(_amount(name, after) > _amount(name, before) for name in BUDGETS)


def tighter(one: Limits, other: Limits) -> Limits:
    """``one``, with what ``other`` allows less of taken from there."""
    less = [name for name in BUDGETS if _amount(name, other) < _amount(name, one)]
    return replace(one, **{name: getattr(other, name) for name in less})


def _amount(name: str, limits: Limits) -> float:
    value: float = getattr(limits, name)
    return value or (float("inf") if name in _UNLIMITED_AT_ZERO else 0.0)
