"""Finds the line on which a key stands in a TOML file, for error messages and edits.

The standard parser keeps no positions. But the first N lines of a file that parse tell whether a
key stands within them, so the statement that brings it can be found by bisection, exactly, with no
second parser of our own.
"""

from __future__ import annotations

import tomllib
from typing import Any, NamedTuple


class Span(NamedTuple):
    """Lines of one statement, counted from 0; ``end`` is exclusive."""

    start: int
    end: int


def statement(text: str, path: tuple[str, ...]) -> Span | None:
    """The statement of a valid document that brings ``path``; None if it has no such key."""
    lines = text.splitlines(keepends=True)
    low, high = 0, len(lines)
    if not _has(_prefix(lines, high), path):
        return None
    while low < high:
        middle = (low + high) // 2
        end = _valid_from(lines, middle)
        if _has(_prefix(lines, end), path):
            high = middle
        else:
            low = end + 1
    end = _valid_from(lines, low)
    start = end - 1
    while start > 0 and _prefix(lines, start) is None:
        start -= 1
    return Span(start, end)


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """The line, counted from 1, on which the statement of ``path`` begins."""
    span = statement(text, path)
    return span.start + 1 if span else None


def _valid_from(lines: list[str], count: int) -> int:
    """The least number of lines, ``count`` or more, that parse; all of them do."""
    while count < len(lines) and _prefix(lines, count) is None:
        count += 1
    return count


def _prefix(lines: list[str], count: int) -> dict[str, Any] | None:
    try:
        return tomllib.loads("".join(lines[:count]))
    except (ValueError, RecursionError):
        return None


def _has(document: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        if not isinstance(document, dict) or name not in document:
            return False
        document = document[name]
    return True
