from __future__ import annotations

from loopguard_cli.cli.render.budgets import bars
from loopguard_cli.cli.render.page import Bar


def test_budgets_are_in_the_units_of_a_person_and_in_one_order() -> None:
    given = {
        "cost": (0.5, 5.0),
        "seconds": (700.0, 900.0),
        "turns": (9, 30),
        "context_tokens": (12_345, 200_000),
    }
    assert list(bars(given)) == [
        ("continuations", Bar(9, 30, "9 / 30")),
        ("time", Bar(700.0, 900.0, "11 min 40 s / 15 min")),
        ("largest request", Bar(12_345, 200_000, "12,345 / 200,000")),
        ("cost", Bar(0.5, 5.0, "$0.50 / $5.00")),
    ]


def test_what_nobody_counts_is_left_out_and_what_nobody_knows_is_said() -> None:
    assert list(bars({"turns": (0, 0), "cost": (None, 0)})) == []
    assert list(bars({"total_tokens": (1440, 0)})) == [("tokens", Bar(1440, 0, "1,440"))]
    assert list(bars({"cost": (None, 5)})) == [("cost", Bar(0, 5, "unknown / $5.00"))]
