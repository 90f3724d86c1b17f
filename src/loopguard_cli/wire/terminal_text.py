"""The text that a program says on a terminal, told from what it merely draws there.

A screen full of redrawing is modelled just far enough to know which lines are final. Lines come out
once, when nothing will be drawn on them any more:

* A program that only writes downwards has each line final when the next one begins. What a carriage
  return or backspaces overwrite was a spinner or a progress bar; only what stays in the line counts.
* A program that goes back up (``CSI A``, ``CSI H``, ...) owns everything from the highest line it went
  to. Lines above that are final; the rest becomes final when it leaves the screen, or when the program
  goes back to a lower line than before and so leaves it behind.
* The alternate screen is a picture: of that only comes out what is seen being written (`written_text`).
* After the screen was cleared, or drawn beyond its top, programs write again what they had said
  before; so many lines that were out already do not come again.

Purely a function of the bytes and the size; bounded by the size of the screen and `REMEMBERED`.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from loopguard_cli.wire.cells import FILLER, blanked, deleted, erased, in_cells, inserted, next_tab, put
from loopguard_cli.wire.terminal import Control, Csi, Escape, Text, Token, Tokenizer
from loopguard_cli.wire.written_text import Painting

MAX_ROWS = 500
MAX_COLUMNS = 2000

REMEMBERED = 2000
"""Lines that may be written again after the screen was cleared."""

DRAWINGS = 64
"""So often a program may leave a line alone while it draws below, and still come back to it. Several
progress bars in one block are drawn on one at a time."""

_ALTERNATE, _SYNCHRONISED = frozenset((47, 1047, 1049)), 2026


class _Row:
    __slots__ = ("cells", "wrapped")

    def __init__(self, *, wrapped: bool = False) -> None:
        self.cells = ""
        self.wrapped = wrapped
        """It goes on where the row above had no room left."""


class TerminalText:
    """Takes what a program writes; gives pieces of text, each a line or, of long ones, a row of it."""

    def __init__(self, rows: int = 24, columns: int = 80) -> None:
        self._tokens = Tokenizer()
        self._rows, self._columns = rows, columns
        self._screen = [_Row()]
        self._row = self._column = 0
        self._saved = (0, 0)
        self._next = 0
        """The first row that is not out yet."""
        self._redraws = False
        """The program goes back up."""
        self._again = 0
        """So many lines may be what it had written before, written again."""
        self._count = 0
        """Lines that came out, as far as they are remembered."""
        self._downwards = 0
        """Rows that left the screen since it last went back up."""
        self._scrolled = 0
        """Rows that left the screen altogether; added to a row it gives a number that stays."""
        self._up: int | None = None
        """How far up it went since it last wrote."""
        self._tops: deque[int] = deque(maxlen=DRAWINGS)
        """How far up it went lately, in numbers that stay."""
        self._out: OrderedDict[str, None] = OrderedDict()
        self._pieces: list[str] = []
        self._line_open = False
        """The last piece that came out was not the end of its line."""
        self.alternate = False
        """The alternate screen is shown."""
        self._painting = Painting(rows, columns)
        self.bracketed_paste = False
        """It wants to be told where a paste begins and ends."""

    def resize(self, rows: int, columns: int) -> None:
        """The terminal has another size; programs then draw everything anew."""
        rows, columns = max(2, min(rows, MAX_ROWS)), max(2, min(columns, MAX_COLUMNS))
        if (rows, columns) == (self._rows, self._columns):
            return
        self._rows, self._columns = rows, columns
        self._painting.begin(rows, columns)
        self._column = min(self._column, columns - 1)
        if self._redraws:
            self._writes_again()
        while len(self._screen) > rows:
            self._leave()

    def feed(self, data: bytes) -> list[str]:
        """The text that has become final."""
        for token in self._tokens.feed(data):
            if type(token) is Text and not self.alternate:
                self._write(token.text)
            else:
                self._take(token)
        return self._come_out()

    def drawn(self) -> list[str]:
        """The same, where what is on the alternate screen is whole at this moment."""
        if self.alternate:
            self._pieces += self._painting.look()
        return self._come_out()

    def touched(self) -> None:
        """The person typed: what changes on the alternate screen may be the echo of that."""
        self._painting.forget()

    def _come_out(self) -> list[str]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def forget(self) -> None:
        """Some of the output was missed: begin anew with what comes."""
        self._tokens = Tokenizer()
        self._painting.forget()
        self._screen, self._row, self._column, self._next = [_Row()], 0, 0, 0
        self._redraws = self._line_open = False
        self._again = 0
        self._up = None
        self._tops.clear()

    # --- tokens ------------------------------------------------------------------------------

    def _take(self, token: Token) -> None:
        match token:
            case Csi(private="?", intermediates=""):
                self._mode(token)
            case _ if self.alternate:
                self._painting.take(token)
            case Control():
                self._control(token.char)
            case Csi(private="", intermediates=""):
                self._csi(token)
            case Escape(intermediates=""):
                self._escape(token.final)
            case _:
                pass

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
                self._column = max(0, self._column - 1)
            case "\t":
                self._column = next_tab(self._column, self._columns)
            case _:
                pass

    def _escape(self, final: str) -> None:
        match final:
            case "7":
                self._saved = (self._row, self._column)
            case "8":
                self._go(*self._saved)
            case "M":
                self._go(self._row - 1, self._column)
            case "D":
                self._down()
            case "E":
                self._column = 0
                self._down()
            case "c":
                self._go(0, 0)
                self._erase(2)
            case _:
                pass

    def _csi(self, csi: Csi) -> None:
        row, column, count = self._row, self._column, csi.number()
        match csi.final:
            case "A":
                self._go(row - count, column)
            case "F":
                self._go(row - count, 0)
            case "B" | "e":
                self._go(row + count, column)
            case "E":
                self._go(row + count, 0)
            case "C" | "a":
                self._column = min(self._columns - 1, column + count)
            case "D":
                self._column = max(0, column - count)
            case "G" | "`":
                self._column = min(self._columns - 1, count - 1)
            case "d":
                self._go(count - 1, column)
            case "H" | "f":
                self._go(count - 1, csi.number(1) - 1)
            case "s":
                self._saved = (row, column)
            case "u":
                self._go(*self._saved)
            case "K":
                self._erase_in_row(csi.numbers[0] if csi.numbers else 0)
            case "J":
                self._erase(csi.numbers[0] if csi.numbers else 0)
            case "P":
                self._screen[row].cells = deleted(self._screen[row].cells, column, count)
            case "X":
                self._screen[row].cells = blanked(self._screen[row].cells, column, count)
            case "@":
                self._screen[row].cells = inserted(self._screen[row].cells, column, count, self._columns)
            case "L" | "M" | "S" | "T":
                # Whole rows are moved about: that is drawing.
                self._up = row if self._up is None else min(row, self._up)
            case _:
                pass

    def _mode(self, csi: Csi) -> None:
        if csi.final not in "hl":
            return
        on = csi.final == "h"
        if 2004 in csi.numbers:
            self.bracketed_paste = on
        if _SYNCHRONISED in csi.numbers and not on and self.alternate:
            self._pieces += self._painting.look()
        if _ALTERNATE & set(csi.numbers):
            self.alternate = on
            self._painting.begin(self._rows, self._columns)

    # --- drawing -----------------------------------------------------------------------------

    def _write(self, text: str) -> None:
        if self._up is not None:
            self._went_up()
        cells = in_cells(text)
        while cells:
            room = self._columns - self._column
            if room <= 0:
                self._wrap()
                room = self._columns
            self._put(cells[:room])
            self._column += len(cells[:room])
            cells = cells[room:]

    def _put(self, cells: str) -> None:
        row = self._screen[self._row]
        row.cells = put(row.cells, self._column, cells)

    def _wrap(self) -> None:
        self._column = 0
        self._down(wrapped=True)

    def _down(self, *, wrapped: bool = False) -> None:
        if self._up is not None:
            self._went_up()
        self._row += 1
        if self._row == len(self._screen):
            self._screen.append(_Row(wrapped=wrapped))
        while len(self._screen) > self._rows:
            self._leave()
            self._downwards += 1
        if self._redraws and self._downwards >= self._rows:
            self._redraws = False
            self._tops.clear()
        if not self._redraws:
            self._final(self._row)

    def _leave(self) -> None:
        """The topmost row leaves the screen: it is final."""
        self._final(1)
        del self._screen[0]
        self._row = max(0, self._row - 1)
        self._next = max(0, self._next - 1)
        self._scrolled += 1

    def _go(self, row: int, column: int) -> None:
        """Move the cursor. Addresses count from the first row that we know of."""
        if row < 0:
            self._writes_again()
        row = max(0, min(row, self._rows - 1))
        if row < self._row or row == 0:
            self._up = row if self._up is None else min(row, self._up)
        while len(self._screen) <= row:
            self._screen.append(_Row())
        self._row, self._column = row, max(0, min(column, self._columns - 1))

    def _went_up(self) -> None:
        """It draws from there on, so what it has left behind above is final."""
        assert self._up is not None
        top, self._up = self._up, None
        self._tops.append(top + self._scrolled)
        self._redraws, self._downwards = True, 0
        self._final(min(self._tops) - self._scrolled)
        self._next = min(self._next, top)

    def _erase_in_row(self, how: int) -> None:
        row = self._screen[self._row]
        row.cells = erased(row.cells, self._column, how)

    def _erase(self, how: int) -> None:
        if how == 0:
            self._erase_in_row(0)
            del self._screen[self._row + 1 :]
        elif how in (2, 3):
            for row in self._screen:
                row.cells = ""
            self._up = 0
            self._writes_again()

    def _writes_again(self) -> None:
        self._again = self._count

    # --- what comes out ----------------------------------------------------------------------

    def _final(self, until: int) -> None:
        """The rows above ``until`` are final."""
        for at in range(self._next, min(until, len(self._screen))):
            row = self._screen[at]
            text = row.cells.replace(FILLER, "")
            goes_on = at + 1 < len(self._screen) and self._screen[at + 1].wrapped
            self._piece(text if goes_on else text.rstrip(), row.wrapped, goes_on)
        self._next = max(self._next, until)

    def _piece(self, text: str, wrapped: bool, goes_on: bool) -> None:
        known = text in self._out
        if known and self._again:
            self._again -= 1
            return
        if text.strip():
            self._count = min(self._count + 1, REMEMBERED)
            self._out[text] = None
            self._out.move_to_end(text)
            while len(self._out) > REMEMBERED:
                self._out.popitem(last=False)
        if self._line_open and not wrapped:
            self._pieces.append("\n")
        self._line_open = goes_on
        self._pieces.append(text if goes_on else text + "\n")
