"""Rows of tables: one pure function each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loopguard_cli.goal import claims, markers, verdicts
from loopguard_cli.goal.escape import escape
from loopguard_cli.goal.flags import parse
from loopguard_cli.goal.model import Limits, Mode
from loopguard_cli.goal.numbers import token_budget
from loopguard_cli.testing.scenarios.engine import DEFAULT_SESSION, Engine, text_of
from loopguard_cli.testing.scenarios.expect import matches

Row = dict[str, Any]


def _compare(got: Any, want: Any) -> list[str]:
    return [] if matches(got, want) else [f"expected {want!r}, got {got!r}"]


def _markers(row: Row) -> list[str]:
    found = markers.read(text_of(row["text"]))
    return _compare(
        {"signal": found.signal.value, "accepted": found.accepted, "detail": found.detail}, row["expect"]
    )


def _claims(row: Row) -> list[str]:
    try:
        got: dict[str, Any] = {"ok": True, "evidence": claims.render(row["claim"])}
    except claims.InvalidClaim as error:
        got = {"ok": False, "error": error.fault.value}
    return _compare(got, row["expect"])


def _verdicts(row: Row) -> list[str]:
    verdict = verdicts.parse(text_of(row["text"]))
    return _compare(
        {"approved": verdict.approved, "kind": verdict.answer.value, "reason": verdict.reason}, row["expect"]
    )


def _budget(row: Row) -> list[str]:
    return _compare(token_budget(text_of(row["text"])), row["expect"])


def _escaping(row: Row) -> list[str]:
    text = text_of(row["text"])
    return _compare({"changed": escape(text) != text}, row["expect"])


_LIMITS: dict[str, tuple[str, float]] = {
    "turns": ("max_turns", 1),
    "seconds": ("max_duration_ms", 1000),
    "context_tokens": ("max_tokens", 1),
    "cooldown": ("min_delay_ms", 1000),
    "low_output": ("no_progress_token_threshold", 1),
    "low_output_turns": ("no_progress_turns", 1),
    "talk_turns": ("no_tool_turns", 1),
}


def _flags(row: Row) -> list[str]:
    line = parse(text_of(row["text"]))
    options = line.options
    after, before = options.apply(Limits()), Limits()
    limits = {
        name: round(getattr(after, field) * scale)
        for field, (name, scale) in _LIMITS.items()
        if getattr(after, field) != getattr(before, field)
    }
    meta = {"success": options.success, "constraints": options.constraints}
    if options.mode not in (None, Mode.NORMAL):
        meta["mode"] = options.mode.value
    got = {
        "objective": line.words,
        "limits": limits,
        "meta": {name: value for name, value in meta.items() if value is not None},
        "errors": [[m.kind, m.flag] for m in line.mistakes],
    }
    return [
        f"{k}: {p}"
        for k, want in row["expect"].items()
        for p in ([] if got[k] == want else _compare(got[k], want) or [f"expected {want!r}, got {got[k]!r}"])
    ]


def _commands(row: Row) -> list[str]:
    engine = Engine({})
    for text in row["prior"]:
        engine.step({"do": "command", "text": text})
    engine.step({"do": "command", "text": text_of(row["text"])})
    focused = engine.book(DEFAULT_SESSION).focused
    reply = engine.replies[-1].data["reply"]
    return _compare(
        {"reply": reply, "focused_objective": focused.objective if focused else None}, row["expect"]
    )


TABLES: dict[str, Callable[[Row], list[str]]] = {
    "markers-table": _markers,
    "claims-table": _claims,
    "audit-verdict-table": _verdicts,
    "budget-suffix-table": _budget,
    "escaping-table": _escaping,
    "flags-table": _flags,
    "commands-table": _commands,
}
