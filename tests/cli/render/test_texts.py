from __future__ import annotations

import time

import pytest

from loopguard_cli.cli.render import texts


@pytest.mark.parametrize(
    ("age", "expected"),
    [(0, "now"), (-10, "now"), (1, "1 s ago"), (119, "1 min ago"), (7200, "2 h ago"), (1e6, "11 d ago")],
)
def test_ages_take_their_greatest_unit(age: float, expected: str) -> None:
    assert texts.ago(1000.0, 1000.0 + age) == expected


def test_times_of_other_days_carry_the_date() -> None:
    noon = time.mktime((2026, 8, 2, 12, 0, 0, 0, 0, -1))
    assert texts.stamp(noon, noon + 60) == "12:00:00"
    assert texts.stamp(noon, noon + 86_400) == "2026-08-02 12:00:00"


def test_foreign_text_loses_its_controls() -> None:
    assert texts.clean("a\x1b[2J\nb\x9bc\u202ed") == "a [2J b c d"
    assert texts.cut("  one \n two  three", 8) == "one two…"
    assert texts.cut("short", 5) == "short"


def test_a_home_folder_is_shortened_and_no_other_that_begins_alike() -> None:
    shown = [texts.tilde(path, "/home/dev") for path in ("/home/dev", "/home/dev/shop", "/home/developer/x")]
    assert shown == ["~", "~/shop", "/home/developer/x"]


def test_wide_characters_take_two_columns() -> None:
    assert [texts.width(text) for text in ("abc", "日本", "e\u0301")] == [3, 4, 1]
