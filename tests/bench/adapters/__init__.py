"""What guarding costs each agent: calls, aborts, start-up. Agents that are not installed are named.

Guarded and bare runs of the real agent with the same script take turns; a call is timed where the model
is, from its answer to the next request, so everything is in it: the agent's own work and the command too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.bench.adapters import cases, terminal, timing
from tests.bench.section import percentile

TITLE = "Other agents"

CALL_P50_MS, CALL_P99_MS = 20.0, 100.0
CUT_MS = 100.0
START_MS = 400.0

_HEAD = """\
A call takes longer by the difference of the percentiles of {calls} calls with and without us. A loop is cut
off from the third sentence sent by the model to the closing of its connection, {loops} times. Figures in bold
are over the budget in the second line. How long an agent's own interrupt takes was known before, measured
without us on another machine.

| agent | gate: a call takes longer, p50 | p99 | loop cut off, median | worst | own interrupt | starts later |
|---|---|---|---|---|---|---|
| *budget* | {call_p50:g} ms | {call_p99:g} ms | {cut:g} ms | {cut:g} ms | | {start:g} ms |
"""


def body() -> str:
    """The section, in Markdown."""
    head = _HEAD.format(
        calls=timing.CALLS,
        loops=timing.LOOPS,
        call_p50=CALL_P50_MS,
        call_p99=CALL_P99_MS,
        cut=CUT_MS,
        start=START_MS,
    )
    return head + "\n".join(_lines())


def _lines() -> Iterator[str]:
    for case in cases.CASES:
        program = case.found()
        if program is None:
            yield f"| {case.title} | not installed: `make test-agents` does it | | | | {case.known} | |"
            continue
        yield _line(case.title, case.known, lambda case=case, program=program: timing.measured(case, program))
    yield _line("any program on a terminal", "", terminal.measured)


def _line(title: str, known: str, measure: Callable[[], timing.Figures]) -> str:
    try:
        figures = measure()
    except timing.NotMeasured as error:
        return f"| {title} | not measured: {error} | | | | {known} | |"
    cuts = figures.cuts
    cells = (
        _cell(figures.call_p50, CALL_P50_MS),
        _cell(figures.call_p99, CALL_P99_MS),
        _cell(percentile(cuts, 0.5), CUT_MS),
        _cell(max(cuts), CUT_MS),
        known,
        _cell(figures.starts_later, START_MS),
    )
    return f"| {title} | {' | '.join(cells)} |"


def _cell(value: float | None, budget: float) -> str:
    if value is None:
        return "no calls seen"
    text = f"{value:.3g} ms" if abs(value) < 1000 else f"{value:,.0f} ms"
    return text if value <= budget else f"**{text}**"
