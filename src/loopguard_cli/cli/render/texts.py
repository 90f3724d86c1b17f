"""Times and foreign text, put into words for a terminal."""

from __future__ import annotations

import time
from unicodedata import combining, east_asian_width

from loopguard_cli.core.measures import UNITS


def clean(text: str) -> str:
    """``text`` on one line and without terminal controls: it may come from a file or an agent."""
    return "".join(char if char.isprintable() else " " for char in text)


def tilde(path: str, home: str) -> str:
    """``path``, with the person's home folder as ``~``."""
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") or path == home else path


def width(text: str) -> int:
    """Columns that ``text`` takes on a terminal."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, length: int) -> str:
    """`clean`, and cut to ``length`` characters."""
    text = " ".join(clean(text).split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def age(seconds: float) -> str:
    """In the greatest unit, rounded down: ``20 min``."""
    unit, size = next(((unit, size) for unit, size in UNITS if seconds >= size), ("s", 1))
    return f"{max(0, int(seconds // size))} {unit}"


def ago(then: float, now: float) -> str:
    """``then`` seen from ``now`` (Unix times), in the greatest unit."""
    return "now" if now - then < 1 else f"{age(now - then)} ago"


def stamp(then: float, now: float) -> str:
    """A Unix time as local clock time, with the date if it is not today's."""
    moment, today = time.localtime(then), time.localtime(now)
    same_day = moment[:3] == today[:3]
    return time.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S", moment)


def iso(then: float) -> str:
    """A Unix time in UTC, for programs."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(then, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
