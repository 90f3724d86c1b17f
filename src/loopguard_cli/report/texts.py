"""Numbers and times in words, for a page."""

from __future__ import annotations

import time
from html import escape

from loopguard_cli.core import measures
from loopguard_cli.core.measures import money, number


def duration(seconds: float) -> str:
    """As everywhere, but with tenths below ten seconds."""
    return f"{seconds:.1f} s" if 0 < seconds < 10 else measures.duration(seconds)


def short(value: float) -> str:
    """For axes: ``950``, ``12k``, ``3.4M``."""
    for size, suffix in ((1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")):
        if value >= size:
            return f"{value / size:.3g}{suffix}"
    return f"{value:.3g}"


def amount(value: float, unit: str) -> str:
    """A value in its unit (see `model.Budget.unit`)."""
    if unit == "$":
        return money(value)
    if unit == "s":
        return duration(value)
    return f"{number(value)} {unit}".rstrip()


def date(then: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(then))


def clock(then: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(then))


def hour(then: float, *, seconds: bool) -> str:
    return time.strftime("%H:%M:%S" if seconds else "%H:%M", time.localtime(then))


def offset(then: float) -> int:
    """Seconds by which the local clock was ahead of UTC."""
    return time.localtime(then).tm_gmtoff


def html(text: str) -> str:
    """Foreign text made harmless: escaped, and without control characters but line ends and tabs."""
    return escape(
        "".join(
            char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text
        )
    )
