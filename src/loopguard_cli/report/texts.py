"""Numbers and times in words, for a page."""

from __future__ import annotations

import time
from html import escape

_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))

THIN_SPACE = "\N{NARROW NO-BREAK SPACE}"


def number(value: float) -> str:
    return f"{value:,.0f}".replace(",", THIN_SPACE)


def short(value: float) -> str:
    """For axes: ``950``, ``12k``, ``3.4M``."""
    for size, suffix in ((1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")):
        if value >= size:
            return f"{value / size:.3g}{suffix}"
    return f"{value:.3g}"


def money(value: float) -> str:
    return f"${value:,.2f}" if value >= 0.01 or not value else f"${value:.4f}"


def duration(seconds: float) -> str:
    """In the two greatest units; tenths below ten seconds."""
    if 0 < seconds < 10:
        return f"{seconds:.1f} s"
    rest = max(0, round(seconds))
    parts: list[str] = []
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def amount(value: float, unit: str) -> str:
    """A value in its unit (see `model.Budget.unit`)."""
    if unit == "$":
        return money(value)
    if unit == "s":
        return duration(value)
    return f"{number(value)} {unit}".rstrip()


def counted(count: float, word: str) -> str:
    return f"{number(count)} {word}{'' if count == 1 else 's'}"


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
