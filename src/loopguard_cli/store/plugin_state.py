"""The goal plugin's names for things, and ours.

Times there are milliseconds. Every entry is judged alone: what is not valid is left out, what is
missing has the default.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

from loopguard_cli.goal.model import (
    MAX_BLOCKER,
    MAX_CHECKPOINT,
    MAX_CHECKPOINTS,
    MAX_CRITERIA,
    MAX_DETAIL,
    MAX_EVIDENCE,
    MAX_HISTORY,
    MAX_OBJECTIVE,
    STOPS,
    Checkpoint,
    Entry,
    Goal,
    Limits,
    Meters,
    Mode,
    Result,
    StopReason,
    TurnContext,
    Usage,
    shorten,
)

_REASONS = {stop.title: name for name, stop in STOPS.items()}
_LIMITS = {
    "maxTurns": ("turns", 1),
    "maxDurationMs": ("seconds", 0.001),
    "maxTokens": ("context_tokens", 1),
    "minDelayMs": ("cooldown", 0.001),
    "noProgressTokenThreshold": ("low_output", 1),
    "noProgressTurnsBeforePause": ("low_output_turns", 1),
    "noToolCallTurnsBeforePause": ("talk_turns", 1),
}
"""Its option, our limit, and the factor between them."""
_MAX_TIME_MS = 8.64e15


class Fields:
    """Reads single values out of foreign JSON without trusting any."""

    def __init__(self, raw: Any) -> None:
        self.raw: dict[str, Any] = raw if isinstance(raw, dict) else {}

    def text(self, name: str, most: int = 2000) -> str | None:
        """Trimmed; empty where there is none; None where it is too long."""
        value = self.raw.get(name)
        text = value.strip() if isinstance(value, str) else ""
        return text if len(text) <= most else None

    def number(self, name: str) -> float:
        """Not negative; 0 where there is none."""
        value = self.raw.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return 0
        return value if math.isfinite(value) and value >= 0 else 0

    def seconds(self, name: str) -> float:
        """A point in time; 0 where there is none."""
        value = self.number(name)
        return value / 1000 if value <= _MAX_TIME_MS else 0.0

    def inner(self, name: str) -> Fields:
        return Fields(self.raw.get(name))

    def entries(self, name: str, most: int) -> Iterator[Fields]:
        value = self.raw.get(name)
        yield from map(Fields, value[-most:] if isinstance(value, list) else ())


def goal_of(fields: Fields) -> Goal | None:
    """A live goal, paused; None where the entry is not valid."""
    session, objective = fields.text("sessionID"), fields.text("condition", MAX_OBJECTIVE)
    success, constraints = (
        fields.text("successCriteria", MAX_CRITERIA),
        fields.text("constraints", MAX_CRITERIA),
    )
    blocker = fields.text("blockedReason", MAX_BLOCKER)
    if not session or not objective or success is None or constraints is None or blocker is None:
        return None
    history = _history(fields)
    begun = fields.seconds("startedAt")
    seen = fields.seconds("pausedAt") or max((entry.at for entry in history), default=begun)
    stop = _stop(fields)
    return Goal(
        id=fields.text("goalId") or _id(session, objective, begun),
        objective=objective,
        success=success,
        constraints=constraints,
        mode=Mode.ORDERED if fields.text("mode") in ("ordered", "sequence", "sisyphus") else Mode.NORMAL,
        limits=_limits(fields.inner("options")),
        context=_context(fields.inner("executionContext")),
        stop=stop,
        blocker=blocker if stop is StopReason.BLOCKED else "",
        turns=int(fields.number("turnCount")),
        handoff_sent=fields.raw.get("budgetWrapupSent") is True,
        meters=_meters(fields),
        status=shorten(fields.text("lastStatus", 10_000) or "", MAX_DETAIL),
        created=begun,
        elapsed=max(0.0, seen - begun),
        seen=seen,
        checkpoints=_checkpoints(fields),
        history=history,
    )


def result_of(fields: Fields) -> Result | None:
    """A finished goal; None where the entry is not valid or was not achieved."""
    session, objective = fields.text("sessionID"), fields.text("condition", MAX_OBJECTIVE)
    if not session or not objective or fields.text("state") != "achieved":
        return None
    begun, finished = fields.seconds("startedAt"), fields.seconds("finishedAt")
    return Result(
        id=_id(session, objective, finished),
        objective=objective,
        evidence=(fields.text("evidence", 1 << 20) or "")[:MAX_EVIDENCE],
        finished=finished,
        turns=int(fields.number("turnCount")),
        meters=_meters(fields),
        elapsed=max(0.0, finished - begun),
        status=shorten(fields.text("lastStatus", 10_000) or "", MAX_DETAIL),
        checkpoints=_checkpoints(fields),
        history=_history(fields),
    )


def _stop(fields: Fields) -> StopReason:
    if fields.raw.get("stopped") is not True:
        return StopReason.RECOVERED
    said = (fields.text("stopReason") or "").partition(" (")[0]
    return _REASONS.get(said, StopReason.RECOVERED) or StopReason.RECOVERED


def _limits(options: Fields) -> Limits:
    found: dict[str, Any] = {}
    for name, (ours, factor) in _LIMITS.items():
        value = options.number(name)
        if value > 0 or (name in options.raw and ours == "talk_turns" and options.raw[name] == 0):
            found[ours] = value * factor if factor != 1 else int(value)
    return Limits(**found)


def _context(context: Fields) -> TurnContext:
    model = context.inner("model")
    provider, name = model.text("providerID"), model.text("modelID")
    return TurnContext(
        agent=context.text("agent") or "",
        model=f"{provider}/{name}" if provider and name else context.text("model") or "",
        variant=context.text("variant") or "",
    )


def _meters(fields: Fields) -> Meters:
    usage = fields.inner("usage")
    return Meters(
        context_tokens=int(fields.number("totalTokens")),
        usage=Usage(
            input=int(usage.number("input")),
            output=int(usage.number("output")),
            reasoning=int(usage.number("reasoning")),
            cache_read=int(usage.number("cacheRead")),
            cache_write=int(usage.number("cacheWrite")),
            cost=usage.number("cost") if usage.raw.get("costKnown") is True else None,
        ),
        last_progress=fields.seconds("lastProgressAt"),
        no_progress=int(fields.number("noProgressTurns")),
        no_tool=int(fields.number("noToolCallTurns")),
        format_failures=int(fields.number("formatFailures")),
        prompt_failures=int(fields.number("promptFailures")),
    )


def _history(fields: Fields) -> tuple[Entry, ...]:
    return tuple(
        Entry(
            e.seconds("timestamp"),
            e.text("type") or "event",
            shorten(e.text("detail", 1 << 20) or "", MAX_DETAIL),
        )
        for e in fields.entries("history", MAX_HISTORY)
    )


def _checkpoints(fields: Fields) -> tuple[Checkpoint, ...]:
    found = (
        (e.seconds("timestamp"), e.text("summary", 1 << 20))
        for e in fields.entries("checkpoints", MAX_CHECKPOINTS)
    )
    return tuple(Checkpoint(at, shorten(text, MAX_CHECKPOINT)) for at, text in found if text)


def _id(session: str, objective: str, moment: float) -> str:
    """The same entry gets the same id at each import."""
    text = f"{session}\0{objective}\0{moment}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
