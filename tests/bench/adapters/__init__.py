"""What guarding costs each agent: calls, aborts, start-up. Agents that are not installed are named.

Guarded and bare runs of the real agent with the same script take turns; a call is timed where the model
is, from its answer to the next request, so everything is in it: the agent's own work and the command too.
``python -m tests.bench.adapters NAME...`` measures some of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator

from tests.bench.adapters import cases, terminal, timing

TITLE = "Other agents"

CALL_P50_MS, CALL_P99_MS = 20.0, 100.0
CUT_MS = 100.0
START_MS = 400.0
SECTION_SECONDS = 240.0
"""On a machine so busy that this does not do, the last agents are not measured, which is said."""

TERMINAL = "terminal"
NAMES = (*cases.CASES, TERMINAL)

_HEAD = """\
A call takes longer by the difference of the percentiles of {calls} calls with and without us, of fewer where
an agent makes fewer in {calls_seconds:g} s. A loop is cut off from the third sentence sent by the model to
the closing of its connection, {loops} times; of a program on a terminal from the ninth line on. The first
request to the model comes later by the difference of the shortest of {starts} starts each. All in
milliseconds; figures in bold are over the budget in the second line. What is *known* was measured before,
without us, on another machine: how long the agent takes for an interrupt of its own, and for a whole turn of
one answer.

"""
_COLUMNS = (
    "agent", "a call takes longer, p50", "p99", "loop cut off, least", "most", "*interrupt, known*",
    "first request later", "without us", "*turn, known*",
)  # fmt: skip


def body(names: Collection[str] = NAMES) -> str:
    """The section, in Markdown."""
    head = _HEAD.format(
        calls=timing.CALLS,
        calls_seconds=timing.CALLS_SECONDS,
        loops=timing.LOOPS,
        starts=timing.STARTS,
    )
    budgets = [f"{budget:g}" for budget in (CALL_P50_MS, CALL_P99_MS, CUT_MS, CUT_MS)]
    table = [
        _row(*_COLUMNS),
        "|---" * len(_COLUMNS) + "|",
        _row("*budget*", *budgets, "", f"{START_MS:g}", "", ""),
    ]
    return head + "\n".join([*table, *_lines(names)])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _lines(names: Collection[str]) -> Iterator[str]:
    deadline = time.monotonic() + SECTION_SECONDS
    if TERMINAL in names:
        yield _line("any program on a terminal", terminal.measured)
    for name, case in cases.CASES.items():
        if name not in names:
            continue
        program = case.found()
        known = (case.interrupt, case.turn)
        if program is None:
            yield _empty(case.title, "not installed: `make test-agents` does it", *known)
        elif time.monotonic() > deadline:
            yield _empty(case.title, "not measured: the machine was too busy", *known)
        else:
            sys.stderr.write(f"measuring: {name}, {deadline - time.monotonic():.0f} s left\n")
            yield _line(case.title, lambda case=case, program=program: timing.measured(case, program), *known)


def _line(title: str, measure: Callable[[], timing.Figures], interrupt: str = "", turn: str = "") -> str:
    try:
        figures = measure()
    except timing.NotMeasured as error:
        return _empty(title, f"not measured: {error}", interrupt, turn)
    cuts = figures.cuts
    return _row(
        title,
        _cell(figures.call_p50, CALL_P50_MS),
        _cell(figures.call_p99, CALL_P99_MS),
        _cell(min(cuts), CUT_MS) if cuts else "with its message",
        _cell(max(cuts), CUT_MS) if cuts else "",
        interrupt,
        _cell(figures.starts_later, START_MS),
        "" if figures.starts is None else f"{figures.starts:,.0f}",
        turn,
    )


def _empty(title: str, why: str, interrupt: str, turn: str) -> str:
    return _row(title, why, "", "", "", interrupt, "", "", turn)


def _cell(value: float | None, budget: float) -> str:
    if value is None:
        return "no calls seen"
    text = f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return text if value <= budget else f"**{text}**"
