"""Numbers, money and spans of time as a person reads them, on a terminal or on a page."""

from __future__ import annotations

UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
"""Units of time and their seconds, greatest first."""


def number(value: float) -> str:
    """``12,345``, as in money and as goals are answered; fractions only for money."""
    return f"{value:,.0f}"


def figure(value: float) -> str:
    """A number that may have a fraction: ``0.5``, ``2,000,000``."""
    return number(value) if value == round(value) else f"{value:g}"


def money(value: float) -> str:
    """US dollars; more digits where two would say nothing."""
    return f"${value:,.2f}" if value >= 0.01 or not value else f"${value:.4f}"


def duration(seconds: float) -> str:
    """In the two greatest units: ``3 min 20 s``, ``2 d 4 h``."""
    rest = max(0, round(seconds))
    parts: list[str] = []
    for unit, size in UNITS:
        count, rest = divmod(rest, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def plural(count: float, word: str) -> str:
    """``call``, or ``calls`` of none or several."""
    return word if count == 1 else f"{word}s"


def counted(count: float, word: str) -> str:
    """``1 call``, ``2 calls``."""
    return f"{number(count)} {plural(count, word)}"
