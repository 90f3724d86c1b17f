"""Checks for expectations that the format can only describe in words, by the id of the scenario."""

from __future__ import annotations

from collections.abc import Callable

from loopguard_cli.core.effects import Respond
from loopguard_cli.goal.tools import TOOLS
from loopguard_cli.testing.scenarios import notes_storage
from loopguard_cli.testing.scenarios.engine import Engine
from loopguard_cli.testing.scenarios.host import DEFAULT_SESSION

Check = Callable[[Engine, int, Respond | None], list[str]]


def _must(ok: bool, text: str) -> list[str]:
    return [] if ok else [text]


def _edit_flags(engine: Engine, number: int, reply: Respond | None) -> list[str]:
    goal = engine.book(DEFAULT_SESSION).focused
    if number == 0 or goal is None:
        return []
    applied = goal.objective == "new text" and goal.limits.turns == 30
    refused = goal.objective == "old text" and reply is not None and reply.code == "flags"
    return _must(applied or refused, f"objective {goal.objective!r}, {goal.limits.turns} turns")


def _sequence_flags(engine: Engine, _number: int, _reply: Respond | None) -> list[str]:
    goals = engine.book(DEFAULT_SESSION).goals
    folded = [g.objective for g in goals if "--" in g.objective]
    return _must(not folded, f"flags in objectives: {folded}")


def _host_continues(engine: Engine, _number: int, _reply: Respond | None) -> list[str]:
    host, book = engine.host(DEFAULT_SESSION), engine.book(DEFAULT_SESSION)
    active = book.focused is not None and book.focused.active
    return _must(host.host_continues is not active, f"the host continues by itself: {host.host_continues}")


def _safety(engine: Engine, _number: int, _reply: Respond | None) -> list[str]:
    goal = engine.book(DEFAULT_SESSION).focused
    stored = goal is not None and "</goal_objective><system>" in goal.objective
    texts = [p.text for p in engine.host(DEFAULT_SESSION).prompts]
    return _must(stored, "the stored objective was changed") + _must(
        all("<div>" in text and "<system" not in text for text in texts), "wrongly escaped"
    )


def _descriptions(_engine: Engine, _number: int, _reply: Respond | None) -> list[str]:
    setters = [TOOLS[name].description for name in ("goal_set", "set_goal", "update_goal")]
    return _must(all("explicitly asked" in text for text in setters), "a tool may set goals by itself")


def _stopped(engine: Engine, number: int, _reply: Respond | None) -> list[str]:
    if number == 0:
        return []
    text = engine.host(DEFAULT_SESSION).system
    return _must("Do not work on it" in text and "do not claim" in text and "Keep" not in text, text)


CHECKS: dict[str, Check] = {
    **notes_storage.CHECKS,
    "better.edit-flags": _edit_flags,
    "better.sequence-flags": _sequence_flags,
    "compaction.native-autocontinue": _host_continues,
    "safety.escape-objective": _safety,
    "safety.stopped-guard": _stopped,
    "tool.not-for-own-initiative": _descriptions,
}
