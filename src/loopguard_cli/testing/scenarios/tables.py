"""Rows of tables: one pure function each."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loopguard_cli.goal import claims, markers, verdicts
from loopguard_cli.goal.escape import escape
from loopguard_cli.goal.flags import parse
from loopguard_cli.goal.model import Limits, Mode
from loopguard_cli.goal.numbers import token_budget
from loopguard_cli.store.paths import STATE_DIR_VARIABLE, is_default_state_path, session_name, state_path
from loopguard_cli.testing.scenarios.engine import Engine
from loopguard_cli.testing.scenarios.expect import matches
from loopguard_cli.testing.scenarios.given import text_of
from loopguard_cli.testing.scenarios.host import DEFAULT_SESSION

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
    got = {"approved": verdict.approved, "kind": verdict.answer.value, "reason": verdict.reason}
    return _compare(got, row["expect"])


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
    wrong = [name for name, want in row["expect"].items() if got[name] != want]
    return [f"{name}: expected {row['expect'][name]!r}, got {got[name]!r}" for name in wrong]


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


def _paths(row: Row) -> list[str]:
    """Expectations in words: ``below X``, a path, or what must not happen."""
    given, want = row["given"], row["expect"]
    if "session" in given:
        name = session_name(given["session"])
        return [] if re.fullmatch(r"[0-9a-f]+", name) else [f"{name!r} holds parts of the id"]
    project = Path(given.get("project", "/p"))
    environ = {STATE_DIR_VARIABLE: given["env"]} if given.get("env") else {}
    path = state_path(project, option=given.get("option") or "", environ=environ)
    if want.startswith("below "):
        return [] if path.is_relative_to(want.split()[1]) else [f"{path} is not {want}"]
    if want.startswith("/"):
        return _compare(str(path), want)
    return [] if not is_default_state_path(project, path) else [f"{path} counts as the default"]


TABLES: dict[str, Callable[[Row], list[str]]] = {
    "markers-table": _markers,
    "claims-table": _claims,
    "audit-verdict-table": _verdicts,
    "budget-suffix-table": _budget,
    "escaping-table": _escaping,
    "flags-table": _flags,
    "commands-table": _commands,
    "paths-table": _paths,
}
