"""Text that is being written on a picture, told from everything else that changes there.

A model's words come a few at a time: the end of one row gets longer, then the next row begins, and once
there is no room left all of it moves up. Nothing else on a screen does that: editors and pagers show
whole rows, spinners and clocks change in place, bars grow without words. So a text is only read once it
has been seen to go on several times, in the middle of a row or of a sentence; what has been there
before is never said.

`see` compares one picture with the one before. Periodic text, the kind that matters most, looks the same
after it moved by a whole period; then the smallest move is taken, and the text said stays periodic.
"""

from __future__ import annotations

from typing import NamedTuple

from loopguard_cli.wire.cells import FILLER
from loopguard_cli.wire.picture import Picture
from loopguard_cli.wire.terminal import Token

GROWN = 3
"""So often a row's end must have grown before it is read."""

ROOM = 24
"""A row that ends so near to the longest row's end goes on in the next; other ends are those of a line."""

REACH = 60
"""Rows that may be written at once."""

MARGIN = 4
"""So much may the beginnings of rows of one text differ; a bullet or a mark stands before some."""

_FRAME = " \t│┃║╎┆▌▐|"


class _Tail(NamedTuple):
    """The row that grows."""

    row: int
    text: str
    """The whole row up to its end."""
    above: str
    """The row above it."""


class Painting:
    """An alternate screen, and what is written on it."""

    def __init__(self, rows: int, columns: int) -> None:
        self.begin(rows, columns)

    def begin(self, rows: int, columns: int) -> None:
        """It is empty, and has this size."""
        self._columns = columns
        self._picture = Picture(rows, columns)
        self._written = WrittenText()

    def take(self, token: Token) -> None:
        self._picture.take(token)

    def look(self) -> list[str]:
        """What was written since; the picture is whole at this moment."""
        said = self._written.see(self._picture.lines(), self._columns)
        return said.replace(FILLER, "").splitlines(keepends=True)

    def forget(self) -> None:
        """What changed may be the echo of keys, or there is a gap."""
        self._written.forget()


class WrittenText:
    """Takes pictures, all of one size; gives what was written on them meanwhile."""

    def __init__(self) -> None:
        self._before: list[str] = []
        self._tail: _Tail | None = None
        self._grown = 0
        self._columns = 0
        self._width = 0
        """Where the longest row of this text ended."""
        self._held = ""
        """Seen to grow, but not yet often enough."""
        self._flows = False
        """What was added last goes on in the middle of something."""

    def forget(self) -> None:
        """Whatever grows from now on has yet to prove itself."""
        self._before, self._tail, self._grown, self._held, self._width = [], None, 0, "", 0

    def see(self, lines: list[str], columns: int) -> str:
        """What was written since the picture before; a row can have so many ``columns``."""
        self._columns = columns
        before, self._before = self._before, lines
        if not before or before == lines:
            return ""
        tail = self._tail
        said = self._follow(before, lines) if tail is not None else None
        if not said:
            kept = self._tail if said is not None else None
            if elsewhere := self._find(before, lines):
                said, self._grown, self._held = elsewhere, 0, ""
            else:
                self._tail = kept
                return ""
        self._grown += self._flows
        self._held += said
        if self._grown < GROWN:
            return ""
        said, self._held = self._held, ""
        return said

    # --- inside ------------------------------------------------------------------------------

    def _find(self, before: list[str], lines: list[str]) -> str | None:
        """Where something was added to the end of a text, and nothing else there; the lowest such place."""
        for moved in (0, 1, 2):
            for row in range(len(lines) - 1 - moved, -1, -1):
                old, above, was_above = before[row + moved], _at(lines, row - 1), _at(before, row + moved - 1)
                if above != was_above or not old.strip(_FRAME) or not lines[row].startswith(old):
                    continue
                said = self._take(_Tail(row + moved, old, was_above), row, before, lines)
                if any(char.isalpha() for char in said):
                    return said
        return None

    def _follow(self, before: list[str], lines: list[str]) -> str | None:
        """The tail, wherever it is now; None when it is gone."""
        tail = self._tail
        assert tail is not None
        stem, _, word = tail.text.rpartition(" ")
        stem = stem.rstrip()
        for row in range(min(tail.row, len(lines) - 1), -1, -1):
            if row and lines[row - 1] != tail.above:
                continue
            if lines[row].startswith(tail.text):
                return self._take(tail, row, before, lines)
            below = _at(lines, row + 1)
            if lines[row] == stem and word and below.lstrip(_FRAME).startswith(word):
                # The word has got too long for its row.
                moved = _Tail(tail.row + 1, below[: _margin(below) + len(word)], stem)
                return self._take(moved, row + 1, before, lines)
        return None

    def _take(self, tail: _Tail, row: int, before: list[str], lines: list[str]) -> str:
        """The tail is in ``row`` now: what comes behind it, where nothing was before."""
        moved = tail.row - row
        self._flows = any(char.isalpha() for char in lines[row][len(tail.text) :])
        said = lines[row][len(tail.text) :]
        last = row
        self._width = max(self._width, len(lines[row]))
        for at in range(row + 1, min(row + REACH, len(lines))):
            line = lines[at]
            if not line:
                continue
            if at > last + 2 or abs(_margin(line) - _margin(lines[row])) > MARGIN:
                break
            was = before[at]
            if was.strip(_FRAME) and not (moved and lines[at - moved] == was):
                break  # it was there before, and did not move up with the text
            self._flows = self._flows or (at == last + 1 and _goes_on(lines[last], line))
            said += self._between(lines[last], at - last) + line.strip(_FRAME)
            self._width = max(self._width, len(line))
            last = at
        self._tail = _Tail(last, lines[last], _at(lines, last - 1))
        return said

    def _between(self, above: str, rows: int) -> str:
        """What stands for the end of the row ``above``, as far as can be guessed."""
        if rows > 1 or len(above) < self._width - ROOM:
            return "\n"
        return "" if len(above) == self._columns else " "


def _at(lines: list[str], row: int) -> str:
    return lines[row] if 0 <= row < len(lines) else ""


def _goes_on(above: str, line: str) -> bool:
    """A sentence goes on from one row to the next; whole lines are drawn by all kinds of programs."""
    return (above[-1:].isalnum() or above[-1:] == ",") and line.lstrip(_FRAME)[:1].islower()


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(_FRAME))
