"""Rows of a screen as strings, one character per cell, and what is done to them.

A wide character is followed by `FILLER`; what has no width of its own has no cell. A row is as long as what
was written in it: behind its end all is blank.
"""

from __future__ import annotations

import unicodedata

FILLER = "\0"
"""The second cell of a wide character."""

TAB = 8


def in_cells(text: str) -> str:
    """One character per cell of the screen; what has no width of its own is left out of the count."""
    if text.isascii():
        return text
    cells: list[str] = []
    for char in text:
        if unicodedata.east_asian_width(char) in "WF":
            cells.append(char + FILLER)
        elif not unicodedata.combining(char):
            cells.append(char)
    return "".join(cells)


def put(row: str, column: int, cells: str) -> str:
    """``cells`` written over ``row`` from ``column``."""
    before = row if len(row) >= column else row.ljust(column)
    return before[:column] + cells + before[column + len(cells) :]


def erased(row: str, column: int, how: int) -> str:
    """As by EL: 0 to the end, 1 to the cursor, otherwise all."""
    if how == 0:
        return row[:column]
    return " " * min(column + 1, len(row)) + row[column + 1 :] if how == 1 else ""


def blanked(row: str, column: int, count: int) -> str:
    """As by ECH: ``count`` cells made blank."""
    gone = min(count, max(0, len(row) - column))
    return row[:column] + " " * gone + row[column + gone :]


def deleted(row: str, column: int, count: int) -> str:
    """As by DCH: what is behind moves up."""
    return row[:column] + row[column + count :]


def inserted(row: str, column: int, count: int, columns: int) -> str:
    """As by ICH: what is behind moves on, and out of ``columns``."""
    padded = row.ljust(column)
    return (padded[:column] + " " * count + padded[column:])[:columns]


def next_tab(column: int, columns: int) -> int:
    return min(columns - 1, (column // TAB + 1) * TAB)
