"""Times, numbers and foreign text, put into words for a terminal."""

from __future__ import annotations

import time
from unicodedata import combining, east_asian_width

_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def clean(text: str) -> str:
    """``text`` on one line and without terminal controls: it may come from a file or an agent."""
    return "".join(char if char.isprintable() else " " for char in text)


def width(text: str) -> int:
    """Columns that ``text`` takes on a terminal."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, length: int) -> str:
    """`clean`, and cut to ``length`` characters."""
    text = " ".join(clean(text).split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def duration(seconds: float) -> str:
    """In the two greatest units: ``3 min 20 s``, ``2 d 4 h``."""
    rest = max(0, round(seconds))
    parts: list[str] = []
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def ago(then: float, now: float) -> str:
    """``then`` seen from ``now`` (Unix times), in the greatest unit."""
    seconds = now - then
    if seconds < 1:
        return "now"
    unit, size = next((unit, size) for unit, size in _UNITS if seconds >= size)
    return f"{int(seconds // size)} {unit} ago"


def stamp(then: float, now: float) -> str:
    """A Unix time as local clock time, with the date if it is not today's."""
    moment, today = time.localtime(then), time.localtime(now)
    same_day = moment[:3] == today[:3]
    return time.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S", moment)


def iso(then: float) -> str:
    """A Unix time in UTC, for programs."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(then, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def number(value: float) -> str:
    """``12 345`` is hard to misread; fractions only for money."""
    return f"{value:,.0f}".replace(",", " ")


def money(value: float) -> str:
    return f"${value:.2f}" if value >= 0.01 or not value else f"${value:.4f}"


def counted(count: float, word: str) -> str:
    """``1 call``, ``2 calls``."""
    return f"{number(count)} {word}{'' if count == 1 else 's'}"
