"""A screen that is drawn on, cell by cell: what an alternate screen shows at present.

As much of a terminal as tells which characters are where: the cursor, erasing, inserting and deleting,
scroll regions. Colours do not matter. Rows are strings; a wide character is followed by a filler.
"""

from __future__ import annotations

from loopguard_cli.wire.cells import blanked, deleted, erased, in_cells, inserted, next_tab, put
from loopguard_cli.wire.terminal import Control, Csi, Escape, Text, Token


class Picture:
    """Takes tokens; `lines` is what is to be seen."""

    def __init__(self, rows: int, columns: int) -> None:
        self._rows, self._columns = rows, columns
        self._cells = [""] * rows
        self._row = self._column = 0
        self._saved = (0, 0)
        self._top, self._bottom = 0, rows - 1
        self._last = ""

    def lines(self) -> list[str]:
        """All rows, without trailing blanks."""
        return [row.rstrip() for row in self._cells]

    def take(self, token: Token) -> None:
        match token:
            case Text():
                self._write(token.text)
            case Control():
                self._control(token.char)
            case Csi(private="", intermediates=""):
                self._csi(token)
            case Escape(intermediates=""):
                self._escape(token.final)
            case _:
                pass

    # --- tokens ------------------------------------------------------------------------------

    def _write(self, text: str) -> None:
        cells = in_cells(text)
        self._last = text[-1:]
        while cells:
            if self._column >= self._columns:
                self._column = 0
                self._down()
            piece = cells[: self._columns - self._column]
            self._put(piece)
            self._column += len(piece)
            cells = cells[len(piece) :]

    def _put(self, cells: str) -> None:
        self._cells[self._row] = put(self._cells[self._row], self._column, cells)

    def _control(self, char: str) -> None:
        match char:
            case "\r":
                self._column = 0
            case "\n" | "\x0b" | "\x0c" | "\x84":
                self._down()
            case "\x85":
                self._column = 0
                self._down()
            case "\b":
                self._column = max(0, min(self._column, self._columns - 1) - 1)
            case "\t":
                self._column = next_tab(self._column, self._columns)
            case "\x8d":
                self._up()
            case _:
                pass

    def _escape(self, final: str) -> None:
        match final:
            case "7":
                self._saved = (self._row, self._column)
            case "8":
                self._go(*self._saved)
            case "D":
                self._down()
            case "E":
                self._column = 0
                self._down()
            case "M":
                self._up()
            case "c":
                self.__init__(self._rows, self._columns)  # type: ignore[misc]
            case _:
                pass

    def _csi(self, csi: Csi) -> None:
        row, column, count = self._row, min(self._column, self._columns - 1), csi.number()
        first = csi.numbers[0] if csi.numbers else 0
        cells = self._cells[row]
        match csi.final:
            case "A":
                self._go(self._above(count), column)
            case "B" | "e":
                self._go(self._below(count), column)
            case "C" | "a":
                self._go(row, column + count)
            case "D":
                self._go(row, column - count)
            case "E":
                self._go(self._below(count), 0)
            case "F":
                self._go(self._above(count), 0)
            case "G" | "`":
                self._go(row, count - 1)
            case "d":
                self._go(count - 1, column)
            case "H" | "f":
                self._go(count - 1, csi.number(1) - 1)
            case "s":
                self._saved = (row, column)
            case "u":
                self._go(*self._saved)
            case "J":
                self._erase(first)
            case "K":
                self._erase_in_row(first)
            case "P":
                self._cells[row] = deleted(cells, column, count)
            case "X":
                self._cells[row] = blanked(cells, column, count)
            case "@":
                self._cells[row] = inserted(cells, column, count, self._columns)
            case "b":
                if self._last:
                    self._write(self._last * min(count, self._columns))
            case "L" | "M":
                if self._top <= row <= self._bottom:
                    self._shift(row, count if csi.final == "L" else -count)
                    self._column = 0
            case "S" | "T":
                self._shift(self._top, -count if csi.final == "S" else count)
            case "r":
                self._region(csi)
            case _:
                pass

    # --- the screen --------------------------------------------------------------------------

    def _go(self, row: int, column: int) -> None:
        self._row = max(0, min(row, self._rows - 1))
        self._column = max(0, min(column, self._columns - 1))

    def _above(self, count: int) -> int:
        """The cursor does not leave the scroll region by moving up or down."""
        return max(self._row - count, self._top if self._row >= self._top else 0)

    def _below(self, count: int) -> int:
        return min(self._row + count, self._bottom if self._row <= self._bottom else self._rows - 1)

    def _region(self, csi: Csi) -> None:
        top = csi.number() - 1
        bottom = (csi.number(1) if len(csi.numbers) > 1 and csi.numbers[1] else self._rows) - 1
        if 0 <= top < bottom < self._rows:
            self._top, self._bottom = top, bottom
        self._go(0, 0)

    def _down(self) -> None:
        if self._row == self._bottom:
            self._shift(self._top, -1)
        else:
            self._row = min(self._row + 1, self._rows - 1)

    def _up(self) -> None:
        if self._row == self._top:
            self._shift(self._top, 1)
        else:
            self._row = max(self._row - 1, 0)

    def _shift(self, top: int, count: int) -> None:
        """Move the rows from ``top`` to the end of the region down by ``count``, or up if negative."""
        part = self._cells[top : self._bottom + 1]
        size = len(part)
        blank = [""] * min(abs(count), size)
        moved = [*blank, *part][:size] if count > 0 else [*part, *blank][-size:]
        self._cells[top : self._bottom + 1] = moved

    def _erase(self, how: int) -> None:
        if how == 0:
            self._erase_in_row(0)
            self._cells[self._row + 1 :] = [""] * (self._rows - self._row - 1)
        elif how == 1:
            self._erase_in_row(1)
            self._cells[: self._row] = [""] * self._row
        else:
            self._cells = [""] * self._rows

    def _erase_in_row(self, how: int) -> None:
        column = min(self._column, self._columns - 1)
        self._cells[self._row] = erased(self._cells[self._row], column, how)
