"""Reports of `study.evaluate`, side by side, for a person or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import msgspec

from loopguard_cli.cli.render.page import Block, Cell, Table, Tone, line, show_json
from loopguard_cli.cli.render.page import show as show_page
from loopguard_cli.study.evaluate import Group, Report, Score


class Measured(msgspec.Struct):
    """One preset."""

    report: Report
    scores: Sequence[Score]


class Evaluation(msgspec.Struct):
    """What ``eval --json`` prints."""

    presets: Sequence[Measured]


class Progress:
    """A bar on standard error while it works, if that is a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress as RichProgress

            self._bar = RichProgress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("traces", total=self._total)
            self._bar.start()
        return self

    def step(self) -> None:
        if self._bar is not None:
            self._bar.advance(self._task)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def show_as_json(reports: Sequence[Report], scores: Mapping[str, Sequence[Score]]) -> None:
    show_json(Evaluation([Measured(one, scores[one.preset]) for one in reports]))


def show(reports: Sequence[Report]) -> None:
    blocks: list[Block] = [_table(reports)]
    for report in reports:
        blocks += _details(report)
    show_page(blocks)


def _table(reports: Sequence[Report]) -> Table:
    rows: list[tuple[Cell, ...]] = []

    def row(name: str, values: Sequence[str], tone: Tone = Tone.PLAIN) -> None:
        rows.append((Cell(name, tone), *(Cell(value) for value in values)))

    row("traces (healthy)", [f"{one.traces} ({one.healthy})" for one in reports])
    row("healthy with a false alarm", [_share(len(one.false_alarms), one.healthy) for one in reports])
    row("healthy with a false nudge", [_share(len(one.false_nudges), one.healthy) for one in reports])
    row("precision of alarms", [_number(one.precision) for one in reports])
    row("recall: alarms / with nudges", ["" for _ in reports], Tone.STRONG)
    for name in ("exact", "varying", "other", "all"):
        row(f"  {name}", [_recall(one.groups[name]) for one in reports], Tone.STRONG)
    for kind in sorted({kind for one in reports for kind in one.kinds}):
        row(f"    {kind}", [_recall(one.kinds[kind]) for one in reports], Tone.QUIET)
    row("ended by themselves at three", [_recall(one.apart) for one in reports])
    row("delay of alarms: median / p95", [_pair(one.delay_median, one.delay_p95) for one in reports])
    row("with nudges: median / p95", [_pair(one.soft_delay_median, one.soft_delay_p95) for one in reports])
    row("calls spent after the point", [f"{one.spent} of {one.unguarded}" for one in reports])
    return Table(("", *(f">{one.preset}" for one in reports)), rows)


def _details(report: Report) -> list[Block]:
    missed = report.groups["all"].missed
    found: list[Block] = []
    for title, names in (
        ("false alarms", report.false_alarms),
        ("false nudges", report.false_nudges),
        ("missed", missed),
    ):
        if names:
            found.append(line(Cell(f"{report.preset}, {title}: ", Tone.WARN), ", ".join(names)))
    return found


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.1%})" if whole else str(part)


def _recall(group: Group) -> str:
    if not group.loops:
        return "-"
    return f"{group.recall:.3f} / {group.soft_recall:.3f} of {group.loops}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _pair(median: float | None, p95: float | None) -> str:
    return "-" if median is None or p95 is None else f"{median:g} / {p95:.1f}"
