"""The two drawings of a report, as SVG: what happened when, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import floor, log10
from typing import TypeVar

from loopguard_cli.core.measures import money
from loopguard_cli.report.model import HINTS, Curve, Item, Kind, Report, names
from loopguard_cli.report.texts import amount, clock, duration, hour, html, offset, short

T = TypeVar("T")

WIDTH = 1000
LEFT = 72
RIGHT = 12
MAX_TICKS = 600
"""Ordinary items that are drawn; more would be closer than a pixel."""

LANES: tuple[tuple[str, frozenset[Kind]], ...] = (
    ("calls", frozenset([Kind.CALL])),
    ("text", frozenset([Kind.TEXT, Kind.REASONING])),
    ("guard", frozenset([Kind.ALARM, Kind.BLOCK, Kind.ABORT, Kind.CONTINUATION, Kind.NUDGE])),
    ("other", frozenset([Kind.GOAL, Kind.ERROR])),
)
LANE_HEIGHT = 26
MIN_PAUSE = 120.0
PAUSE_SHARE = 0.12
"""Nothing happened for this share of the whole time, and for `MIN_PAUSE` seconds: a gap."""
GAP_SHARE = 0.05
"""How wide a gap is drawn, as a share of the time in which something happened."""


_TIME_STEPS = (
    0.1,
    0.5,
    1,
    2,
    5,
    10,
    30,
    60,
    120,
    300,
    600,
    1800,
    3600,
    7200,
    14_400,
    43_200,
    86_400,
    604_800,
)
"""Seconds between two marks."""


class _Scale:
    """Time to horizontal position. Long pauses are drawn short, as a gap, or the rest were a smear."""

    def __init__(self, report: Report) -> None:
        times = {report.started, report.ended}
        for turn in report.turns:
            times |= {turn.time, *(item.time for item in turn.items)}
        ordered = sorted(time for time in times if report.started <= time <= report.ended)
        self.start, self.end = report.started, report.ended
        longest = max(MIN_PAUSE, (self.end - self.start) * PAUSE_SHARE)
        self.gaps = [(a, b) for a, b in pairwise(ordered) if b - a > longest]
        self.active = self.end - self.start - sum(b - a for a, b in self.gaps)
        self._cut = max(self.active * GAP_SHARE, 1e-6)
        self._drawn = max(self._at(self.end), 1e-6)

    @property
    def span(self) -> float:
        """Seconds from the first to the last."""
        return self.end - self.start

    def stretches(self) -> list[tuple[float, float]]:
        """The times between the gaps."""
        edges = [self.start, *(edge for gap in self.gaps for edge in gap), self.end]
        return list(zip(edges[::2], edges[1::2], strict=True))

    def x(self, time: float) -> float:
        share = self._at(min(self.end, max(self.start, time))) / self._drawn
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def _at(self, time: float) -> float:
        """Seconds since the start, pauses shortened."""
        at = time - self.start
        for begin, end in self.gaps:
            if time >= end:
                at -= end - begin - self._cut
            elif time > begin:
                at -= (time - begin) * (1 - self._cut / (end - begin))
        return at


def strip(report: Report) -> str:
    """Every item as a tick on the lane of its kind, over the time of the session."""
    scale = _Scale(report)
    items = [item for turn in report.turns for item in turn.items]
    lanes = [(name, [item for item in items if item.kind in kinds]) for name, kinds in LANES]
    lanes = [(name, found) for name, found in lanes if found or name == "calls"]
    height = LANE_HEIGHT * len(lanes) + 34
    parts = [_axis(scale, height - 24)]
    for turn in report.turns:
        if turn.who == "person":
            x = scale.x(turn.time)
            parts.append(
                f'<g class="person"><line x1="{x}" x2="{x}" y1="6" y2="{height - 24}"/>'
                f'<circle cx="{x}" cy="6" r="3.5"/><title>{clock(turn.time)} message of a person</title></g>'
            )
    for row, (name, found) in enumerate(lanes):
        y = 14 + row * LANE_HEIGHT
        parts.append(f'<text class="lane" x="{LEFT - 8}" y="{y + 13}">{name}</text>')
        parts += [_tick(item, scale, y) for item in _thinned(found)]
    guard = sum(len(found) for name, found in lanes if name == "guard")
    label = f"Timeline of {len(items)} items over {duration(scale.span)}, {guard} of them of the guard"
    return _svg("strip", height, label, parts)


def curve(curve: Curve, report: Report, limits: Sequence[tuple[str, float]] = ()) -> str:
    """A rising sum, with the alarms on it and the limits above it."""
    scale = _Scale(report)
    top = max([value for _, value in curve.points] + [0.0])
    shown = [(name, limit) for name, limit in limits if 0 < limit <= 3 * top]
    peak = max([top, *(limit for _, limit in shown)]) * 1.05 or 1.0
    height, floor_y = 170, 146

    def y(value: float) -> float:
        return round(floor_y - value / peak * (floor_y - 10), 1)

    parts = [_axis(scale, floor_y)]
    for value in _steps(peak):
        label = money(value) if curve.unit == "$" else short(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value)}" y2="{y(value)}"/>')
        parts.append(f'<text class="lane" x="{LEFT - 8}" y="{y(value) + 4}">{label}</text>')
    path, last = [f"M{scale.x(report.started)} {y(0)}"], 0.0
    for time, value in _thinned(curve.points):
        path.append(f"H{scale.x(time)}V{y(value)}")
        last = value
    path.append(f"H{scale.x(report.ended)}")
    line = "".join(path)
    parts.append(f'<path class="area" d="{line}V{y(0)}Z"/><path class="line" d="{line}"/>')
    for name, limit in shown:
        parts.append(
            f'<line class="limit" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(limit)}" y2="{y(limit)}"/>'
            f'<text class="limit" x="{WIDTH - RIGHT}" y="{y(limit) - 4}">{html(name)}</text>'
        )
    named = names(report.alarms)
    for alarm in report.alarms:
        x, at = scale.x(alarm.time), y(_value_at(curve.points, alarm.time))
        said = f"{clock(alarm.time)} {named[alarm.number]}: {html(alarm.rule)}"
        kind = Kind.NUDGE if alarm.action in HINTS else Kind.ALARM
        parts.append(
            f'<a href="#alarm-{alarm.number}" aria-label="{said}">'
            f'<circle class="{kind}" cx="{x}" cy="{at}" r="5"/><title>{said}</title></a>'
        )
    return _svg("curve", height, f"{curve.name} over time, in the end {amount(last, curve.unit)}", parts)


def _svg(kind: str, height: int, label: str, parts: Iterable[str]) -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html(label)}">'
        f"{''.join(parts)}</svg>"
    )


def _axis(scale: _Scale, y: float) -> str:
    """The line of time, with the hours on it, and the gaps."""
    marks, free = [], 0.0
    step = next((one for one in _TIME_STEPS if scale.active / one <= 9), _TIME_STEPS[-1])
    for begin, end in scale.stretches():
        first = _aligned(begin, step)
        for number in range(int((end - first) / step) + 1 if first <= end else 0):
            time = first + number * step
            x = scale.x(time)
            if x < free or x > WIDTH - 30:
                continue
            free = x + 80
            label = hour(time, seconds=step < 60) if step >= 1 else f"{time - scale.start:.1f} s"
            marks.append(
                f'<line class="grid" x1="{x}" x2="{x}" y1="{y}" y2="{y + 4}"/>'
                f'<text class="time" x="{x}" y="{y + 18}">{label}</text>'
            )
    for begin, end in scale.gaps:
        a, b = scale.x(begin), scale.x(end)
        marks.append(
            f'<g class="gap"><rect x="{a}" y="4" width="{round(b - a, 1)}" height="{y - 4}"/>'
            f"<title>nothing for {duration(end - begin)}</title></g>"
        )
    return f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>{"".join(marks)}'


def _aligned(time: float, step: float) -> float:
    """The first round hour, minute or second of the local clock from ``time`` on."""
    if step < 1:
        return time
    local = time + offset(time)
    return time + (-local % step)


def _tick(item: Item, scale: _Scale, y: float) -> str:
    x = scale.x(item.time)
    failed = " failed" if item.ok is False else ""
    title = f"<title>{clock(item.time)} {html(item.title)}</title>"
    mark = f'<rect class="{item.kind}{failed}" x="{x - 1}" y="{y}" width="2.5" height="17" rx="1"/>'
    match item.kind:
        case Kind.ALARM | Kind.NUDGE:
            mark = f'<rect class="{item.kind}" x="{x - 2.5}" y="{y - 1}" width="5" height="19" rx="2"/>'
        case Kind.BLOCK:
            mark = f'<circle class="block" cx="{x}" cy="{y + 8.5}" r="5.5"/>'
        case Kind.ABORT:
            mark = f'<rect class="abort" x="{x - 6}" y="{y + 2.5}" width="12" height="12"/>'
        case Kind.CONTINUATION | Kind.GOAL:
            mark = f'<path class="{item.kind}" d="M{x - 4} {y + 1}l9 7.5l-9 7.5z"/>'
        case _:
            pass
    if item.alarm:
        return f'<a href="#alarm-{item.alarm}">{mark}{title}</a>'
    return f"<g>{mark}{title}</g>"


def _thinned(points: Sequence[T]) -> Sequence[T]:
    step = -(-len(points) // MAX_TICKS) or 1
    kept = list(points[::step])
    if points and kept[-1] != points[-1]:
        kept.append(points[-1])
    return kept


def _steps(peak: float, count: int = 4) -> list[float]:
    """Round values from 0 up to ``peak``."""
    if peak < 1e-9:
        return [0.0]
    rough = peak / count
    size = 10 ** floor(log10(rough))
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough)
    return [step * number for number in range(int(peak / step + 1e-9) + 1)]


def _value_at(points: Sequence[tuple[float, float]], time: float) -> float:
    return next((value for then, value in reversed(points) if then <= time), 0.0)
