"""The budgets of a goal: their names and units, and how much is used, as bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from loopguard_cli.cli.render.page import Bar
from loopguard_cli.core.measures import duration, money, number

BUDGETS = {
    "turns": ("continuations", ""),
    "seconds": ("time", "s"),
    "context_tokens": ("largest request", "tokens"),
    "total_tokens": ("tokens", "tokens"),
    "cost": ("cost", "$"),
}
"""Names for a person, and units (see `report.Budget.unit`)."""

_FORMS: Mapping[str, Callable[[float], str]] = {"s": duration, "$": money}


def bars(budgets: Mapping[str, tuple[float | None, float]]) -> Iterator[tuple[str, Bar]]:
    """``budgets``: what is used (None: nobody knows) and the limit (0: none), by the names of `BUDGETS`."""
    for key, (name, unit) in BUDGETS.items():
        used, limit = budgets.get(key, (0, 0))
        if not (used or limit):
            continue
        form = _FORMS.get(unit, number)
        text = "unknown" if used is None else form(used)
        yield name, Bar(used or 0, limit, f"{text} / {form(limit)}" if limit else text)
