from __future__ import annotations

import pytest

from loopguard_cli.core.measures import counted, duration, figure, money, number


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"), (0.4, "0 s"), (59.6, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (3661, "1 h 1 min"),
        (3601, "1 h"), (200_000, "2 d 7 h"), (-5, "0 s"),
    ],
)  # fmt: skip
def test_durations_take_their_two_greatest_units(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_numbers_are_grouped_and_counted() -> None:
    assert number(1_234_567) == "1,234,567"
    assert [counted(n, "call") for n in (0, 1, 2, 1000)] == ["0 calls", "1 call", "2 calls", "1,000 calls"]
    assert [money(v) for v in (0, 0.0042, 0.5, 1234)] == ["$0.00", "$0.0042", "$0.50", "$1,234.00"]


def test_figures_are_never_powers_of_ten() -> None:
    assert [figure(v) for v in (0, 0.5, 20.0, 2_000_000)] == ["0", "0.5", "20", "2,000,000"]
