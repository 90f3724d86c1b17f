"""What commands show: plain data in, a page on standard output out.

In a terminal the page is laid out by rich (colours unless NO_COLOR is set, long cells wrapped);
into a pipe or file the same page goes as plain text, nothing cut and nothing coloured. Rich is
imported only in the first case.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import typer

from loopguard_cli.cli.render.texts import clean, width


class Tone(StrEnum):
    """What a piece of text means; the values are rich styles."""

    PLAIN = ""
    QUIET = "dim"
    STRONG = "bold"
    GOOD = "green"
    WARN = "yellow"
    BAD = "bold red"


class Cell(NamedTuple):
    text: str
    tone: Tone = Tone.PLAIN
    elastic: bool = False
    """In a line on a terminal: it takes what the others leave, and is cut there."""


class Bar(NamedTuple):
    """How much of a budget is used; without a ``limit`` only the amount. Red when it is used up."""

    used: float
    limit: float
    text: str
    """The same in words."""


class Line(NamedTuple):
    """One line of text made of pieces."""

    cells: tuple[Cell, ...]


class Table(NamedTuple):
    columns: Sequence[str]
    """Headings; one that begins with ``>`` belongs to a column of numbers. All empty: no headings."""
    rows: Sequence[Sequence[Cell | Bar]]


Block = Line | Table


def line(*cells: Cell | str) -> Line:
    return Line(tuple(Cell(cell) if isinstance(cell, str) else cell for cell in cells))


def on_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def show(blocks: Sequence[Block]) -> None:
    """Print a page."""
    if on_terminal():
        _show_rich(blocks)
        return
    for block in blocks:
        for text in _plain(block):
            typer.echo(text)


def show_json(data: Any) -> None:
    """Print ``data`` (msgspec structs, plain values) as indented JSON."""
    import msgspec

    typer.echo(msgspec.json.format(msgspec.json.encode(data)).decode())


def _plain(block: Block) -> list[str]:
    if isinstance(block, Line):
        return ["".join(clean(cell.text) for cell in block.cells).rstrip()]
    rows = [[name.lstrip(">") for name in block.columns]]
    rows += [[clean(cell.text) for cell in row] for row in block.rows]
    widths = [max(width(row[n]) for row in rows) for n in range(len(block.columns))]
    lines = []
    for row in rows if _headed(block) else rows[1:]:
        cells = []
        for name, text, most in zip(block.columns, row, widths, strict=True):
            gap = " " * (most - width(text))
            cells.append(gap + text if name.startswith(">") else text + gap)
        lines.append("  ".join(cells).rstrip())
    return lines


def _headed(block: Table) -> bool:
    return any(name.lstrip(">") for name in block.columns)


def _show_rich(blocks: Sequence[Block]) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    for block in blocks:
        console.print(rich_block(block))


def rich_block(block: Block) -> Any:
    """What rich prints for ``block``."""
    return _rich_table(block) if isinstance(block, Table) else _rich_line(block)


def _rich_line(block: Line) -> Any:
    from rich.table import Table as RichTable
    from rich.text import Text

    if not any(cell.elastic for cell in block.cells):
        return Text.assemble(*((clean(cell.text), cell.tone.value) for cell in block.cells))
    grid = RichTable.grid()
    for cell in block.cells:
        grid.add_column(no_wrap=not cell.elastic)
    grid.add_row(*map(_rich_cell, block.cells))
    return grid


def _rich_table(block: Table) -> Any:
    from rich.table import Table as RichTable

    headed = _headed(block)
    table = RichTable(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0), show_header=headed)
    for name in block.columns:
        table.add_column(name.lstrip(">"), justify="right" if name.startswith(">") else "left")
    for row in block.rows:
        table.add_row(*map(_rich_cell, row))
    return table


def _rich_cell(cell: Cell | Bar) -> Any:
    from rich.text import Text

    if isinstance(cell, Cell):
        text = Text(clean(cell.text), cell.tone.value)
        if cell.elastic:
            text.no_wrap, text.overflow = True, "ellipsis"
        return text
    from rich.progress_bar import ProgressBar
    from rich.table import Table as RichTable

    if not cell.limit:
        return Text(clean(cell.text))
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    full = cell.used >= cell.limit
    bar = ProgressBar(
        total=cell.limit, completed=min(cell.used, cell.limit), width=16,
        complete_style="red" if full else "cyan", finished_style="red",
    )  # fmt: skip
    grid.add_row(bar, Text(clean(cell.text)))
    return grid
