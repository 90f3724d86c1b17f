"""Drawings: in bounds, in order, and pauses drawn short."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_cli.report import Alarm, Curve, Item, Kind, Report, Turn, charts
from loopguard_cli.report.charts import LEFT, RIGHT, WIDTH
from tests.report.reading import Page

START = 1_800_000_000.0


def report(times: list[float], **more: object) -> Report:
    items = [Item(event=n, time=START + t, kind=Kind.CALL, title="x") for n, t in enumerate(times)]
    turn = Turn(number=1, time=START, ended=START + max(times), who="person", items=items)
    return Report(title="t", started=START, ended=START + max(times), turns=[turn], **more)  # type: ignore[arg-type]


def ticks(svg: str) -> list[float]:
    return [float(x) for x in re.findall(r'<rect class="call" x="([-\d.]+)"', svg)]


def test_items_stand_in_the_order_of_their_times() -> None:
    found = ticks(charts.strip(report([0, 5, 10])))
    middle = (LEFT + WIDTH - RIGHT) / 2
    assert found == sorted(found)
    assert abs(found[1] + 1 - middle) < 1


def test_a_long_pause_is_drawn_short_and_marked() -> None:
    svg = charts.strip(report([0, 10, 20, 30, 36_000, 36_010, 36_020]))
    found = ticks(svg)
    assert "nothing for 9 h 59 min" in svg
    assert found[4] - found[3] < found[3] - found[0]
    assert found[1] - found[0] > 50


def test_a_moment_is_a_drawing_too() -> None:
    one = report([0])
    assert Page(charts.strip(one))
    assert Page(charts.curve(Curve(name="Tokens", unit="tokens", points=[(START, 0.0)]), one))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.floats(0, 1e7, allow_nan=False), min_size=1, max_size=40),
    st.lists(st.floats(0, 1e12, allow_nan=False), min_size=1, max_size=40),
)
def test_nothing_is_drawn_outside(times: list[float], values: list[float]) -> None:
    whole = report(
        times, alarms=[Alarm(number=1, rule="r", action="block", time=START, event=0, explanation="")]
    )
    points = sorted(zip(sorted(START + t for t in times), sorted(values), strict=False))
    curve = charts.curve(
        Curve(name="Tokens", unit="tokens", points=points), whole, [("limit", max(values) * 2)]
    )
    for svg in (charts.strip(whole), curve):
        assert Page(svg)
        assert "nan" not in svg
        assert "inf" not in svg.replace("info", "")
        for x in re.findall(r'\b(?:x|cx|x1|x2)="([-\d.]+)"', svg):
            assert -7 <= float(x) <= WIDTH + 7


def test_limits_far_above_the_curve_are_left_out() -> None:
    one = report([0, 10])
    curve = Curve(name="Tokens", unit="tokens", points=[(START, 0.0), (START + 10, 100.0)])
    assert 'class="limit"' in charts.curve(curve, one, [("limit", 150)])
    assert 'class="limit"' not in charts.curve(curve, one, [("limit", 5_000)])
