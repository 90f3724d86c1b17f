"""Status, history and list as plain data, and the same as plain text.

The command line renders the data for a terminal; agents, pipes and toasts get the text.
"""

from __future__ import annotations

from datetime import UTC, datetime

from loopguard_cli.core.measures import counted, number
from loopguard_cli.goal.model import STOPS, Book, Goal, Mode, Result, State, StopReason, Usage, shorten
from loopguard_cli.goal.settings import Audit, GoalSettings
from loopguard_cli.goal.shapes import CheckpointData, GoalData, HistoryData, ListData, ResultData, UsageData

AUDIT_NAMES = {
    Audit.NONE: "evidence gate only",
    Audit.BUILTIN: "built-in independent verifier",
    Audit.COMMAND: "custom auditor",
}


def goal_data(goal: Goal, settings: GoalSettings, now: float) -> GoalData:
    """One live goal."""
    meters, limits = goal.meters, goal.limits
    stop = STOPS.get(goal.stop)
    return {
        "id": goal.id,
        "objective": goal.objective,
        "state": goal.state.value,
        "stop_reason": goal.stop.value,
        "stop_title": stop.title if stop else "",
        "suggestion": stop.action if stop else "",
        "blocker": goal.blocker,
        "audit": AUDIT_NAMES[settings.audit],
        "success": goal.success,
        "constraints": goal.constraints,
        "mode": goal.mode.value,
        "checks": [check.command for check in goal.checks],
        "turns": {"used": goal.turns, "limit": limits.turns},
        "context_tokens": {"used": meters.context_tokens, "limit": limits.context_tokens},
        "total_tokens": {"used": meters.usage.total, "limit": limits.total_tokens},
        "seconds": {"used": round(goal.time_in_force(now), 3), "limit": limits.seconds},
        "cost": {"used": meters.usage.cost, "limit": limits.cost},
        "usage": usage_data(meters.usage),
        "last_progress": meters.last_progress or None,
        "counters": {
            "no_progress": meters.no_progress,
            "no_tool": meters.no_tool,
            "format_failures": meters.format_failures,
            "check_failures": meters.check_failures,
            "prompt_failures": meters.prompt_failures,
        },
        "checkpoint": _checkpoint(goal),
        "status": goal.status,
        "created": goal.created,
    }


def result_data(result: Result) -> ResultData:
    """One finished goal."""
    return {
        "id": result.id,
        "objective": result.objective,
        "state": State.ACHIEVED.value,
        "evidence": result.evidence,
        "finished": result.finished,
        "turns": {"used": result.turns, "limit": result.limits.turns},
        "context_tokens": {"used": result.meters.context_tokens, "limit": result.limits.context_tokens},
        "usage": usage_data(result.meters.usage),
        "seconds": {"used": round(result.elapsed, 3), "limit": result.limits.seconds},
        "checkpoint": _checkpoint(result),
        "status": result.status,
    }


def usage_data(usage: Usage) -> UsageData:
    return {
        "input": usage.input,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "cost": usage.cost,
    }


def list_data(book: Book) -> ListData:
    """All goals of a session and its archive."""
    return {
        "ordered": book.ordered,
        "goals": [
            {
                "number": number,
                "id": goal.id,
                "objective": goal.objective,
                "place": _place(book, goal),
                "state": goal.state.value,
                "stop_reason": goal.stop.value,
                "reason": _reason(goal),
            }
            for number, goal in enumerate(book.goals, start=1)
        ],
        "archive": [
            {"id": r.id, "objective": r.objective, "state": State.ACHIEVED.value, "finished": r.finished}
            for r in book.archive
        ],
    }


def history_data(source: Goal | Result) -> HistoryData:
    return {
        "id": source.id,
        "objective": source.objective,
        "checkpoint": _checkpoint(source),
        "events": [{"at": e.at, "kind": e.kind, "detail": e.detail} for e in source.history],
    }


# --- text --------------------------------------------------------------------------------------


def goal_text(goal: Goal, settings: GoalSettings, now: float, name: str) -> str:
    """``name``: how goal commands begin where this is read."""
    meters, limits, usage = goal.meters, goal.limits, goal.meters.usage
    lines = [f"Goal: {goal.objective}", f"State: {goal.state.value}"]
    if not goal.active:
        lines.append(f"Reason: {STOPS[goal.stop].title}")
        lines += [f"Blocker: {goal.blocker}"] if goal.blocker else []
        lines.append(f"Suggestion: {STOPS[goal.stop].action} ({name} resume | clear)")
    lines.append(f"Completion: {AUDIT_NAMES[settings.audit]}")
    lines += [f"Success criteria: {goal.success}"] if goal.success else []
    lines += [f"Constraints: {goal.constraints}"] if goal.constraints else []
    lines += [f"Mode: {goal.mode.value}"] if goal.mode is not Mode.NORMAL else []
    lines += [f"Check: {check.command}" for check in goal.checks]
    lines.append(f"Continuations: {goal.turns}/{limits.turns}")
    lines.append(f"Context tokens: {number(meters.context_tokens)}/{number(limits.context_tokens)}")
    if limits.total_tokens:
        lines.append(f"Total tokens: {number(usage.total)}/{number(limits.total_tokens)}")
    lines.append(f"API usage: {_usage_text(usage, limits.cost)}")
    lines.append(f"Time in force: {goal.time_in_force(now):.0f}/{limits.seconds:.0f} s")
    progress = f"{_age(now - meters.last_progress)} ago" if meters.last_progress else "none yet"
    lines.append(f"Last progress: {progress}")
    lines.append(f"Low-progress turns: {meters.no_progress}/{limits.low_output_turns}")
    if goal.checkpoints:
        newest = goal.checkpoints[-1]
        lines.append(f"Checkpoint ({_age(now - newest.at)} ago): {newest.text}")
    lines += [f"Last status: {goal.status}"] if goal.status else []
    return "\n".join(lines)


def result_text(result: Result) -> str:
    lines = [
        f"Goal: {result.objective}",
        "State: achieved",
        f"Evidence: {result.evidence}",
        f"Continuations: {result.turns}/{result.limits.turns}",
        f"Context tokens: {number(result.meters.context_tokens)}/{number(result.limits.context_tokens)}",
        f"API usage: {_usage_text(result.meters.usage, 0.0)}",
        f"Time in force: {result.elapsed:.0f}/{result.limits.seconds:.0f} s",
    ]
    if result.checkpoints:
        lines.append(f"Checkpoint: {result.checkpoints[-1].text}")
    return "\n".join([*lines, f"Last status: {result.status}"])


def list_text(book: Book) -> str:
    note = " (ordered sequence)" if book.ordered else ""
    lines = [f"{counted(len(book.goals), 'goal')}{note}"] if book.goals else []
    for place, goal in enumerate(book.goals, start=1):
        state = goal.state.value + (f": {_reason(goal)}" if _reason(goal) else "")
        lines.append(f"{place}. [{_place(book, goal)}] {shorten(goal.objective, 160)} ({state})")
    if book.archive:
        lines.append("Finished:")
        lines += [f"- {shorten(result.objective, 160)} (achieved)" for result in book.archive]
    return "\n".join(lines)


def history_text(source: Goal | Result) -> str:
    lines = [f"Goal: {source.objective}"]
    if source.checkpoints:
        lines.append(f"Checkpoint: {source.checkpoints[-1].text}")
    for event in source.history:
        at = datetime.fromtimestamp(event.at, UTC).strftime("%Y-%m-%d %H:%M:%S")
        lines.append(f"{at}Z  {event.kind}" + (f"  {event.detail}" if event.detail else ""))
    return "\n".join(lines)


def _checkpoint(source: Goal | Result) -> CheckpointData | None:
    newest = source.checkpoints[-1] if source.checkpoints else None
    return {"at": newest.at, "text": newest.text} if newest else None


def _place(book: Book, goal: Goal) -> str:
    if goal.id == book.focus:
        return "focused"
    return "background" if goal.stop in (StopReason.BACKGROUNDED, StopReason.QUEUED) else "idle"


def _reason(goal: Goal) -> str:
    if goal.blocker:
        return shorten(goal.blocker, 160)
    return STOPS[goal.stop].title if goal.stop else ""


def _usage_text(usage: Usage, limit: float) -> str:
    cost = "unknown" if usage.cost is None else f"${usage.cost:.4f}"
    most = f"/${limit:.2f}" if limit else ""
    return (
        f"input {number(usage.input)}, output {number(usage.output)}, reasoning {number(usage.reasoning)}, "
        f"cache read {number(usage.cache_read)}, cache write {number(usage.cache_write)}, cost {cost}{most}"
    )


def _age(seconds: float) -> str:
    seconds = max(0.0, seconds)
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
