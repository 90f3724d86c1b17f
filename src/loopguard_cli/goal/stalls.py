"""Turns that bring nothing: which they are, and when it is enough."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from loopguard_cli.goal.model import Goal, Meters, StopReason
from loopguard_cli.goal.turns import Turn


class Stall(msgspec.Struct, frozen=True):
    """What one turn means for the counters."""

    meters: Meters
    stop: StopReason = StopReason.NONE
    warning: str = ""


def judge(goal: Goal, turn: Turn, *, repeated: bool, changed: bool, refused: bool) -> Stall:
    """Count one turn.

    Low: fewer output tokens than the floor. Stalled: low, no tool, no thinking, nothing new. A turn
    that is not stalled clears that counter. Talk: no tool, and not counted as stalled, so that the
    two windows are independent. Before the first continuation nothing counts.
    """
    meters, limits = goal.meters, goal.limits
    begun = goal.turns > 0 or goal.continued > 0
    if not begun or turn.control or not turn.message:
        return Stall(replace(meters, no_progress=0, no_tool=0, fruitless=0))
    tools = turn.tools > 0
    low = turn.output < limits.low_output
    stalled = low and not tools and not turn.reasoning and (repeated or not turn.text or not changed)
    if stalled:
        count = meters.no_progress + 1
        meters = replace(meters, no_progress=count, fruitless=meters.fruitless + 1)
        if count < limits.low_output_turns:
            return Stall(meters, warning=f"low-progress turn {count}/{limits.low_output_turns}")
        if refused:
            meters = replace(meters, format_failures=meters.format_failures + 1)
        return Stall(meters, StopReason.NO_PROGRESS)
    meters = replace(meters, no_progress=0)
    if tools or not limits.talk_turns:
        return Stall(replace(meters, no_tool=0, fruitless=0))
    count = meters.no_tool + 1
    meters = replace(meters, no_tool=count, fruitless=meters.fruitless + 1)
    if count < limits.talk_turns:
        return Stall(meters, warning=f"turn without tools {count}/{limits.talk_turns}")
    return Stall(meters, StopReason.NO_TOOL_CALLS)
