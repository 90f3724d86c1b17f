"""Streams of tool calls to measure with: honest work, and loops of several kinds. 4 KiB of output a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from loopguard_cli.core.events import Event, ToolAsked, ToolFinished
from loopguard_cli.core.ids import CallId, RequestId, SessionId
from tests.bench.synthetic import words

SESSION = SessionId("bench")
CHARS = 4_096

Made = tuple[str, dict[str, Any], str, bool]
"""Tool, arguments, output, success."""


def _outputs() -> list[str]:
    rng = Random(20)
    return ["\n".join(words.code(rng, 200))[:CHARS] for _ in range(50)]


OUTPUTS = _outputs()


def honest(n: int) -> Made:
    if n % 3:
        return (
            "bash",
            {"command": f"grep -n name{n} src/f{n % 17}.py | head -{n % 40}"},
            f"{OUTPUTS[n % 50]}{n}",
            True,
        )
    return "read", {"filePath": f"/repo/src/f{n}.py", "offset": n}, f"{n}{OUTPUTS[n % 50]}", True


def edit_test(n: int) -> Made:
    if n % 2:
        return "bash", {"command": "npm test"}, f"{OUTPUTS[1][:-20]}\n{n} failed", False
    return (
        "edit",
        {"filePath": "a.py", "oldString": OUTPUTS[n % 50][:300], "newString": f"x = {n}"},
        "Edit applied.",
        True,
    )


def identical(_: int) -> Made:
    return "bash", {"command": "make"}, OUTPUTS[0], True


def volatile(n: int) -> Made:
    """One call; its output differs in a time and a process id."""
    return "bash", {"command": "make"}, f"{OUTPUTS[0][:-40]}\ntook {n / 7:.2f}s, pid {n}", False


def stamped(n: int) -> Made:
    """One call; every line of its output begins with a time."""
    stamp = f"2026-01-02T03:{n // 60 % 60:02}:{n % 60:02}Z"
    return (
        "bash",
        {"command": "make"},
        "\n".join(f"{stamp} {line}" for line in OUTPUTS[0][:2_400].split("\n")),
        True,
    )


def cycle(n: int) -> Made:
    return "read", {"filePath": f"/f{n % 5}"}, OUTPUTS[n % 5], True


def counter(n: int) -> Made:
    return "look_up", {"query": "x", "attempt": n}, OUTPUTS[0], True


def errors(n: int) -> Made:
    text = OUTPUTS[n % 50][:400]
    return (
        "edit",
        {"filePath": "a", "oldString": text, "newString": f"y{n}"},
        "String to replace not found in file.",
        False,
    )


def poll(_: int) -> Made:
    return "get_status", {"id": 4}, "running", True


STREAMS: dict[str, Callable[[int], Made]] = {
    "honest work": honest,
    "edit and test": edit_test,
    "one call, equal outputs": identical,
    "one call, volatile parts in its output": volatile,
    "one call, a time on every line": stamped,
    "five calls in turn": cycle,
    "a counter in the arguments": counter,
    "failing edits": errors,
    "polling": poll,
}


def events(make: Callable[[int], Made], calls: int, start: int = 0) -> Iterator[tuple[Event, float]]:
    """Two events a call, with their times."""
    for n in range(start, start + calls):
        tool, args, output, ok = make(n)
        name = CallId(f"c{n}")
        yield ToolAsked(session=SESSION, request=RequestId(name), call=name, tool=tool, args=args), 6.0 * n
        yield (
            ToolFinished(session=SESSION, call=name, tool=tool, args=args, ok=ok, output=output),
            6.0 * n + 3,
        )
