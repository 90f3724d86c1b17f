"""One quiet line at the bottom of the terminal while an agent without a screen runs.

The agent writes to the same terminal and we never see its bytes, so nothing may be written where it
writes. As apt does it, the terminal scrolls above the last row only (DECSTBM), and that row is ours.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

MIN_ROWS, MIN_COLUMNS = 12, 40
"""In a smaller window each row is the agent's."""

_SAVE, _BACK = "\x1b7", "\x1b8"
_RELEASE = f"{_SAVE}\x1b[r{_BACK}\x1b[J"
"""Below the cursor of a program without a screen there is nothing but our row, wherever a window that
was resized has put it."""
_MAKE_ROOM = "\x1bD\x1b[A"
"""Scrolls where the cursor is on the last row, and else moves nothing; the column stays in both cases."""


def possible(fd: int, environ: Mapping[str, str]) -> bool:
    """Whether a person is looking at ``fd``, and at more than a log."""
    return os.isatty(fd) and not environ.get("CI") and environ.get("TERM", "dumb") != "dumb"


class StatusLine:
    """The last row of the terminal ``fd``. `show` takes it, `hide` gives it back."""

    def __init__(self, fd: int, *, plain: bool = False) -> None:
        """``plain``: without any style."""
        self._fd = fd
        self._style, self._end = ("", "") if plain else ("\x1b[2m", "\x1b[m")
        self._row = 0
        """The row that is ours; 0: none."""

    def show(self, text: str) -> None:
        """``text``, cut to the width. Nothing happens while another job has the terminal, or it is halted."""
        size = _quietly(lambda: os.get_terminal_size(self._fd))
        if size is None or not self._foreground():
            return
        if size.lines < MIN_ROWS or size.columns < MIN_COLUMNS:
            self.hide()
            return
        # A terminal halted by ^S would halt us, and with us the agent's calls.
        if not select.select([], [self._fd], [], 0)[1]:
            return
        take = ""
        if size.lines != self._row:
            release = _RELEASE if self._row else ""
            take = f"{release}{_MAKE_ROOM}{_SAVE}\x1b[1;{size.lines - 1}r{_BACK}"
            self._row = size.lines
        shown = text[: size.columns - 1]
        self._write(f"{take}{_SAVE}\x1b[{self._row};1H\x1b[2K{self._style}{shown}{self._end}{_BACK}")

    def hide(self) -> None:
        """The whole terminal scrolls again, and the row is empty."""
        if self._row:
            self._write(_RELEASE)
            self._row = 0

    def _foreground(self) -> bool:
        return _quietly(lambda: os.tcgetpgrp(self._fd)) == os.getpgrp()

    def _write(self, sequence: str) -> None:
        # As a background job we would be stopped for putting the terminal right.
        former = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            # At once: in the midst of it, the agent would write somewhere else.
            with suppress(OSError):
                os.write(self._fd, sequence.encode())
        finally:
            signal.signal(signal.SIGTTOU, former)


def _quietly(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except OSError:
        return None
