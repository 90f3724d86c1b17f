"""The table of the adapters' benchmark: every agent has a row, whatever became of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import adapters
from tests.bench.adapters import cases, terminal, timing
from tests.bench.adapters.cases import Case

SLOW = timing.Figures(25.0, 90.0, [50.0, 150.0], 300.0, 1200.0)
SILENT = timing.Figures(None, None, [], None, 5.0)


def table(names: tuple[str, ...] = adapters.NAMES) -> dict[str, list[str]]:
    """The cells behind the first of each row."""
    lines = [line for line in adapters.body(names).splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len({len(row) for row in rows}) == 1, "a row has as many cells as the head"
    return {row[0]: row[1:] for row in rows}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Case, "found", lambda _: Path("/agent"))
    monkeypatch.setattr(terminal, "measured", lambda: SILENT)


@pytest.mark.usefixtures("installed")
def test_figures_stand_beside_their_budgets_and_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "measured", lambda _case, _program: SLOW)
    rows = table()
    assert {case.title for case in cases.CASES.values()} <= rows.keys()
    p50, p99, least, most, interrupt, later, bare, turn = rows[cases.CASES["pi"].title]
    assert (p50, p99) == ("**25**", "90"), "in bold over the budget"
    assert (least, most, interrupt) == ("50", "**150**", "10")
    assert (later, bare, turn) == ("**1,200**", "300", "100 to 1,000")
    assert rows["any program on a terminal"][:2] == ["no calls seen", "no calls seen"]


@pytest.mark.usefixtures("installed")
def test_what_was_not_measured_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_case: Case, _program: Path) -> timing.Figures:
        raise timing.NotMeasured("the loop was not cut off")

    monkeypatch.setattr(timing, "measured", failing)
    assert "the loop was not cut off" in table(("pi",))[cases.CASES["pi"].title][0]
    monkeypatch.setattr(adapters, "SECTION_SECONDS", -1.0)
    assert "too busy" in table(("pi",))[cases.CASES["pi"].title][0]
    monkeypatch.setattr(Case, "found", lambda _: None)
    assert "not installed" in table(("pi",))[cases.CASES["pi"].title][0]
