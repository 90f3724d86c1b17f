"""The loop of ``loopguard status --watch``.

On a terminal: one page on the alternate screen, once a second; only lines that changed are written,
so that nothing flickers and little goes over a slow line. Into a pipe: a line when something changed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from loopguard_cli.cli.render import page as pages
from loopguard_cli.cli.render import watch as render
from loopguard_cli.cli.render.status import StatusView
from loopguard_cli.store.lines import Entry

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

REFRESH_S = 1.0
LEAST_LATEST = 4
"""Lines kept for what happened last, even if that cuts the rest."""

Look = Callable[[], StatusView]
News = Callable[[], list[Entry]]


def watch(look: Look, news: News, *, as_json: bool) -> None:
    """Show what ``look`` and ``news`` tell until q, Ctrl-C or the end of the output."""
    with suppress(KeyboardInterrupt):
        if as_json:
            _stream(look, _json)
        elif pages.on_terminal():
            _screen(look, news)
        else:
            _stream(look, render.plain)


# --- pipes ---------------------------------------------------------------------------------------


def _stream(look: Look, told: Callable[[StatusView], list[str]]) -> None:
    before: list[str] = []
    while True:
        view = look()
        lines = told(view)
        for text in lines:
            if text not in before:
                typer.echo(text if told is _json else f"{_clock(view.now)} {text}")
        sys.stdout.flush()
        before = lines
        time.sleep(REFRESH_S)


def _json(view: StatusView) -> list[str]:
    import msgspec

    return [msgspec.json.encode(view).decode()]


def _clock(now: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(now))


# --- the screen ----------------------------------------------------------------------------------


def _screen(look: Look, news: News) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    with console.screen(hide_cursor=True), _keys() as pressed:
        shown: list[list[Segment]] = []
        size = console.size
        while True:
            if console.size != size:
                shown, size = [], console.size
                console.clear()
            lines = compose(console, look(), news())
            paint(console, shown, lines)
            shown = lines
            if pressed(REFRESH_S) in ("q", "Q", "\x03"):
                return


def compose(console: Console, view: StatusView, entries: Sequence[Entry]) -> list[list[Segment]]:
    """The lines of one frame, exactly as many as the console has."""
    width, height = console.size
    options = console.options.update(width=width, height=None)
    rule = pages.Cell("─" * width, pages.Tone.QUIET)
    top = [
        *_lines(console, [render.head(view)], width),
        *console.render_lines(pages.rich_block(pages.line(rule)), options),
    ]
    happened = [
        line for block in render.latest(entries, view.now) for line in _lines(console, [block], width)
    ]
    room = height - len(top)
    least = min(len(happened), LEAST_LATEST) + bool(happened)
    body = _fit(console, view, width, room - least)
    space = room - len(body) - 1
    if happened and space > 0:
        body += _lines(console, [pages.line(pages.Cell("Latest", pages.Tone.STRONG))], width)
        body += happened[-space:]
    blank = console.render_lines("", options)
    return [*top, *body, *blank * height][:height]


def _fit(console: Console, view: StatusView, width: int, room: int) -> list[list[Segment]]:
    lines = _lines(console, render.page(view), width)
    if len(lines) <= room:
        return lines
    kept = max(room - 1, 0)
    more = f"  … {len(lines) - kept} more lines; make the window higher"
    return [*lines[:kept], *_lines(console, [pages.line(pages.Cell(more, pages.Tone.WARN))], width)]


def _lines(console: Console, blocks: Sequence[pages.Block], width: int) -> list[list[Segment]]:
    """Tables may wrap their cells; other lines are cut to the width."""
    options = console.options.update(width=width, height=None)
    lines: list[list[Segment]] = []
    for block in blocks:
        cut = options.update(no_wrap=True, overflow="ellipsis") if isinstance(block, pages.Line) else options
        lines += console.render_lines(pages.rich_block(block), cut)
    return lines


def paint(console: Console, before: Sequence[list[Segment]], lines: Sequence[list[Segment]]) -> None:
    """Write those of ``lines`` that are not on the screen yet, all at once."""
    from rich.control import Control
    from rich.segment import Segments

    with console:
        for row, line in enumerate(lines):
            if row >= len(before) or before[row] != line:
                console.control(Control.move_to(0, row))
                console.print(Segments(line), end="", no_wrap=True, overflow="ignore", crop=False)


@contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """Keys as they are typed, without echo; a resized window ends the waiting as well."""
    try:
        import termios
        import tty
    except ImportError:  # Windows

        def wait(seconds: float) -> str:
            time.sleep(seconds)
            return ""

        yield wait
        return
    import select

    keyboard = sys.stdin.fileno() if sys.stdin.isatty() else -1
    before = termios.tcgetattr(keyboard) if keyboard >= 0 else None
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    os.set_blocking(ear, False)
    former = signal.signal(signal.SIGWINCH, lambda *_: None)
    # By default it would leave the screen and the keyboard as they are now.
    former_end = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    former_fd = signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)

    def pressed(seconds: float) -> str:
        ready, _, _ = select.select([ear] + [keyboard] * (keyboard >= 0), [], [], seconds)
        if ear in ready:
            with suppress(BlockingIOError):
                os.read(ear, 1024)
        return os.read(keyboard, 1).decode("ascii", "replace") if keyboard in ready else ""

    try:
        if before is not None:
            tty.setcbreak(keyboard)
        yield pressed
    finally:
        signal.set_wakeup_fd(former_fd)
        signal.signal(signal.SIGWINCH, former)
        signal.signal(signal.SIGTERM, former_end)
        os.close(ear)
        os.close(mouth)
        if before is not None:
            termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
