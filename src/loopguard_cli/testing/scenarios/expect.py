"""What a scenario expects, compared with what the product says about itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from loopguard_cli.core.effects import Purpose
from loopguard_cli.goal.model import Book, Goal
from loopguard_cli.goal.records import BOOKKEEPING
from loopguard_cli.goal.settings import GoalSettings
from loopguard_cli.testing.scenarios.engine import Engine
from loopguard_cli.testing.scenarios.given import text_of
from loopguard_cli.testing.scenarios.host import DEFAULT_SESSION, Sent

IGNORED = {"at", "session", "note", "strength"}

_REPLIES = {
    "already_stopped": "already_paused",
    "error:already_running": "already_running",
    "error:no_active_goal": "error:no_goal",
    "error:session_owned_elsewhere": "error:owned_elsewhere",
}


class Moment:
    """Everything visible right after one step."""

    def __init__(self, engine: Engine, replies_before: int) -> None:
        self._engine = engine
        new = engine.replies[replies_before:]
        self.reply = new[-1] if new else None

    def differences(self, expected: dict[str, Any]) -> list[str]:
        """One line for each expectation that does not hold."""
        session = str(expected.get("session", DEFAULT_SESSION))
        found = []
        for key, want in expected.items():
            if key in IGNORED:
                continue
            check = getattr(self, f"_see_{key}", None)
            got = check(session) if check is not None else self._compare(key, want, session)
            if isinstance(got, str) and got.startswith("!"):
                found.append(f"{key}: {got[1:]}")
            elif check is not None and not matches(got, want):
                found.append(f"{key}: expected {want!r}, got {got!r}")
        return found

    # --- the focused goal --------------------------------------------------------------------

    def _book(self, session: str) -> Book:
        return self._engine.book(session)

    def _goal(self, session: str) -> Goal | None:
        return self._book(session).focused

    def _of_goal(self, session: str, read: Callable[[Goal], Any], default: Any = None) -> Any:
        goal = self._goal(session)
        return default if goal is None else read(goal)

    def _see_goal_state(self, session: str) -> str:
        return str(self._of_goal(session, lambda g: g.state.value, "none"))

    def _see_stop_reason(self, session: str) -> str:
        return str(self._of_goal(session, lambda g: g.stop.value, ""))

    def _see_objective(self, session: str) -> Any:
        return self._of_goal(session, lambda g: g.objective)

    def _see_blocked_reason(self, session: str) -> Any:
        return self._of_goal(session, lambda g: g.blocker, "")

    def _see_success_criteria(self, session: str) -> Any:
        return self._of_goal(session, lambda g: g.success, "")

    def _see_constraints(self, session: str) -> Any:
        return self._of_goal(session, lambda g: g.constraints, "")

    def _see_mode(self, session: str) -> Any:
        return self._of_goal(session, lambda g: g.mode.value, "normal")

    def _see_turn_count(self, session: str) -> Any:
        return self._of_goal(session, lambda g: g.turns, 0)

    def _see_context_tokens(self, session: str) -> Any:
        return self._of_goal(session, lambda g: g.meters.context_tokens, 0)

    def _see_limits(self, session: str) -> Any:
        return self._of_goal(session, lambda g: limits_of(g, self._engine.settings), {})

    def _see_usage(self, session: str) -> Any:
        def read(goal: Goal) -> dict[str, Any]:
            usage = goal.meters.usage
            return {
                "input": usage.input,
                "output": usage.output,
                "reasoning": usage.reasoning,
                "cache_read": usage.cache_read,
                "cache_write": usage.cache_write,
                "cost": usage.cost or 0,
                "cost_known": usage.cost is not None,
            }

        return self._of_goal(session, read, {})

    def _see_counters(self, session: str) -> Any:
        def read(goal: Goal) -> dict[str, Any]:
            meters = goal.meters
            return {
                "no_progress": meters.no_progress,
                "no_tool": meters.no_tool,
                "format_failures": meters.format_failures,
                "prompt_failures": meters.prompt_failures,
            }

        return self._of_goal(session, read, {})

    # --- all goals of the session ------------------------------------------------------------

    def _see_live_goals(self, session: str) -> list[str]:
        return [g.objective for g in self._book(session).goals]

    def _see_live_stop_reasons(self, session: str) -> list[str]:
        return [g.stop.value for g in self._book(session).goals]

    def _see_ordered(self, session: str) -> bool:
        return self._book(session).ordered

    def _see_archived(self, session: str) -> list[str]:
        return [r.objective for r in self._book(session).archive]

    def _see_last_result(self, session: str) -> Any:
        result = self._book(session).last_result
        if result is None:
            return None
        return {"objective": result.objective, "state": "achieved", "evidence": result.evidence}

    # --- history -----------------------------------------------------------------------------

    def _checkpoints(self, session: str) -> list[str]:
        book = self._book(session)
        source = book.focused or book.last_result
        return [c.text for c in source.checkpoints] if source is not None else []

    def _see_checkpoints(self, session: str) -> int:
        return len(self._checkpoints(session))

    def _see_last_checkpoint(self, session: str) -> str:
        return (self._checkpoints(session) or [""])[-1]

    def _history(self, session: str) -> list[str]:
        book = self._book(session)
        source = book.focused or book.last_result
        return [e.kind for e in source.history] if source is not None else []

    def _see_history_length(self, session: str) -> int:
        return len(self._history(session))

    def _see_history_types(self, session: str) -> list[str]:
        return self._history(session)

    def _recorded(self, session: str) -> list[str]:
        names = [r.event for s, r in self._engine.records if s == session and r.event not in BOOKKEEPING]
        return names + self._history(session)

    # --- prompts -----------------------------------------------------------------------------

    def _prompts(self, session: str, purpose: Purpose | None = None) -> list[Sent]:
        sent = self._engine.host(session).prompts
        return [p for p in sent if purpose is None or p.purpose == purpose.value]

    def _see_continuations_sent(self, session: str) -> int:
        return len(self._prompts(session, Purpose.CONTINUATION))

    def _see_handoffs_sent(self, session: str) -> int:
        return len(self._prompts(session, Purpose.HANDOFF))

    def _see_aborts(self, session: str) -> int:
        return self._engine.host(session).aborts

    def _see_last_prompt(self, session: str) -> Any:
        sent = self._prompts(session)
        return read_prompt(sent[-1]) if sent else None

    def _compare(self, key: str, want: Any, session: str) -> str:
        """Expectations that are no plain equality; the empty text when they hold, else ``!why``."""
        texts = self._texts(session)
        match key:
            case "last_prompt_text_must_mention":
                sent = self._prompts(session)
                return _mentions(sent[-1].text if sent else "", want)
            case "prompt_gap_at_least_ms":
                times = [p.at for p in self._prompts(session)]
                gaps = [b - a for a, b in pairwise(times)]
                return "" if all(gap >= want for gap in gaps) else f"!smallest gap {min(gaps)}"
            case "history_includes":
                return _has(self._recorded(session), want)
            case "history_excludes":
                extra = [name for name in want if name in self._recorded(session)]
                return f"!unexpected {extra}" if extra else ""
            case "ledger_includes":
                return _has([r.event for s, r in self._engine.records if s == session], want)
            case "reply":
                got = self.reply.data.get("reply") if self.reply else None
                got = _REPLIES.get(str(got), got)
                return "" if got == want else f"!expected {want!r}, got {got!r}"
            case "reply_errors":
                got = self.reply.data.get("errors") if self.reply else None
                return "" if got == want else f"!expected {want!r}, got {got!r}"
            case "reply_must_mention" | "must_mention":
                return _mentions("\n".join(texts), want)
            case "must_not_mention":
                return _avoids("\n".join([*texts, *(t.text for t in self._engine.told)]), want)
            case "tool_ok":
                got = self.reply.ok if self.reply else None
                return "" if got == want else f"!expected {want!r}, got {got!r} ({self.reply})"
            case "tool_error":
                got = {"shutting_down": "plugin_disposed"}.get(
                    code := self.reply.code if self.reply else "", code
                )
                return "" if got == want else f"!expected {want!r}, got {got!r}"
            case "audit_sequence":
                topics = [t.topic.removeprefix("goal.audit.") for t in self._told(session, audit=True)]
                return "" if topics == want else f"!expected {want!r}, got {topics!r}"
            case "notices":
                topics = [t.topic.removeprefix("goal.") for t in self._told(session, audit=False)]
                return "" if _notices(topics, want) else f"!expected {want!r}, got {topics!r}"
            case "notice_count":
                count = len(self._told(session, audit=False))
                return "" if count == want else f"!expected {want!r}, got {count!r}"
            case _:
                found = self._engine.storage.compare(self._engine, key, want, session)
                return f"!nothing knows {key!r}" if found is None else found

    def _texts(self, session: str) -> list[str]:
        """What this step handed out: the answer, or what a compaction gets."""
        if self.reply is not None:
            return [self.reply.text]
        return [self._engine.host(session).compaction]

    def _told(self, session: str, *, audit: bool) -> list[Any]:
        told = [t for t in self._engine.told if t.session == session]
        return [t for t in told if t.topic.startswith("goal.audit.") == audit]


def matches(got: Any, want: Any) -> bool:
    """Equal; of objects only the wanted keys."""
    if isinstance(want, dict) and "repeat" in want:
        want = text_of(want)
    if isinstance(want, dict):
        return isinstance(got, dict) and all(key in got and matches(got[key], v) for key, v in want.items())
    if isinstance(want, float) or isinstance(got, float):
        return isinstance(got, int | float) and abs(got - want) < 1e-6
    return bool(got == want)


def limits_of(goal: Goal, settings: GoalSettings) -> dict[str, Any]:
    """A goal's limits under the names of the scenario format."""
    limits = goal.limits
    return {
        "max_turns": limits.turns,
        "max_duration_ms": round(limits.seconds * 1000),
        "max_tokens": limits.context_tokens,
        "min_delay_ms": round(limits.cooldown * 1000),
        "no_progress_token_threshold": limits.low_output,
        "no_progress_turns": limits.low_output_turns,
        "no_tool_turns": limits.talk_turns,
        "max_prompt_failures": settings.max_prompt_failures,
        "budget_wrapup_ratio": settings.wrapup_ratio,
    }


_BUDGET = re.compile(r"Budget: ([\d,]+) continuations?, ([\d,]+) context tokens?")
_NEAR = re.compile(r"Limits are near \(([^)]*)\)")
_OBJECTIVE = re.compile(r"<goal_objective>\n(.*?)\n</goal_objective>", re.DOTALL)


def read_prompt(sent: Sent) -> dict[str, Any]:
    """What a prompt says, read out of its text."""
    budget, near, objective = (p.search(sent.text) for p in (_BUDGET, _NEAR, _OBJECTIVE))
    correction = sent.text.partition("<correction>")[2]
    return {
        "handoff": sent.purpose == Purpose.HANDOFF.value,
        "evidence_missing": "[goal:complete] was refused" in correction,
        "blocker_missing": "[goal:blocked] was refused" in correction,
        "limits_near": near[1].split(", ") if near else [],
        "turns_remaining": _whole(budget[1]) if budget else None,
        "tokens_remaining": _whole(budget[2]) if budget else None,
        "objective": objective[1] if objective else None,
    }


def _whole(text: str) -> int:
    return int(text.replace(",", ""))


def _has(have: list[str], want: list[str]) -> str:
    missing = [name for name in want if name not in have]
    return f"!missing {missing} in {have}" if missing else ""


def _mentions(text: str, want: list[str]) -> str:
    missing = [word for word in want if word.lower() not in text.lower()]
    return f"!missing {missing} in {text!r}" if missing else ""


def _avoids(text: str, want: list[str]) -> str:
    extra = [word for word in want if word.lower() in text.lower()]
    return f"!unexpected {extra} in {text!r}" if extra else ""


def _notices(got: list[str], want: list[str]) -> bool:
    """Kinds agree; ``paused`` stands for every reason of a pause."""
    if len(got) != len(want):
        return False
    return all(g == w or (w == "paused" and g.startswith("paused:")) for g, w in zip(got, want, strict=True))
