"""What a section of the benchmarks measures, and how it is written down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One figure beside its budget."""

    what: str
    value: float
    unit: str
    budget: float | None = None
    at_least: bool = False
    """The budget is a lower bound."""

    @property
    def met(self) -> bool | None:
        if self.budget is None:
            return None
        return self.value >= self.budget if self.at_least else self.value <= self.budget


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def table(rows: Iterable[Row]) -> str:
    """A Markdown table."""
    lines = ["| what | measured | budget | |", "|---|---|---|---|"]
    for row in rows:
        bound = ""
        if row.budget is not None:
            bound = f"{'≥' if row.at_least else '≤'} {_number(row.budget)} {row.unit}"
        mark = {True: "met", False: "**missed**", None: ""}[row.met]
        lines.append(f"| {row.what} | {_number(row.value)} {row.unit} | {bound} | {mark} |")
    return "\n".join(lines)


def _number(value: float) -> str:
    if value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
