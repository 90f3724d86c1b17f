"""One quiet line at the bottom of the terminal while an agent without a screen runs.

The agent writes to the same terminal and we never see its bytes, so nothing may be written where it
writes. As apt does it, the terminal scrolls above the last row only (DECSTBM), and that row is ours.
No terminal tells us where the cursor is, and not all of them put it back behind a row that is exactly
full. So there is a line beside agents that write whole lines, and beside no other.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import stat
import subprocess
import termios
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeVar
from unicodedata import combining, east_asian_width

from loopguard_cli.runtime.processes import tree
from loopguard_cli.runtime.reach.outlet import own_descriptor

T = TypeVar("T")

MIN_ROWS, MIN_COLUMNS = 12, 40
"""In a smaller window each row is the agent's."""

PATIENCE_SECONDS = 0.2
"""For a terminal that is being flooded to take the rest of what it has taken a part of."""

_SCRIPT = Path(__file__).with_name("statusline.sh")
_SAVE, _BACK = "\x1b7", "\x1b8"
_PLAIN = "\x1b[m\x1b(B\x0f"
"""What the agent writes with, and erases with, is its own: colours and characters."""
_ALL_ROWS = f"{_SAVE}\x1b[r{_BACK}"
_MAKE_ROOM = "\x1bD\x1b[A"
"""Scrolls where the cursor is on the last row, and else moves nothing; the column stays in both cases."""


def possible(fd: int, environ: Mapping[str, str], *, output: int | None = None) -> bool:
    """Whether a person is looking at ``fd``, and at more than a log.

    ``output``: where the agent's results go. A pager behind it would have the terminal for itself.
    """
    if not os.isatty(fd) or environ.get("CI") or environ.get("TERM", "dumb") == "dumb":
        return False
    if output is not None:
        kind = _quietly(lambda: os.fstat(output).st_mode)
        if kind is None or stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind):
            return False
    try:
        speed = termios.tcgetattr(fd)[5]
    except termios.error:
        return False
    return not termios.B0 < speed < termios.B9600  # a serial line would be busy with ours


class StatusLine:
    """The last row of the terminal ``fd``. `show` takes it, `hide` gives it back."""

    def __init__(self, fd: int, *, plain: bool = False) -> None:
        """``plain``: without any style."""
        self._fd = fd
        self._style, self._end = ("", "") if plain else ("\x1b[2m", "\x1b[m")
        self._row = 0
        """The row that is ours; 0: none."""
        self._own = -1
        """The terminal, opened for us alone: what is set or locked there holds for no other."""
        self._heir: _Heir | None = None

    def show(self, text: str) -> None:
        """``text``, cut to the width.

        Nothing happens while another job or another run has the terminal, or it is halted.
        """
        size = _quietly(lambda: os.get_terminal_size(self._fd))
        if size is None or not self._foreground():
            self.hide()
            return
        if size.lines < MIN_ROWS or size.columns < MIN_COLUMNS:
            self.hide()
            return
        if self._row not in (0, size.lines) or (self._heir is not None and not self._heir.lives()):
            self.hide()
        # A terminal halted by ^S would halt us, and with us the agent's calls.
        if not _writable(self._own if self._row else self._fd, 0):
            return
        if not self._row and not self._claim(size.lines):
            return
        # All of it each time: the agent, or what it shows, may have set the terminal back meanwhile.
        scrolled = f"{_ALL_ROWS}{_MAKE_ROOM}{_SAVE}\x1b[1;{self._row - 1}r\x1b[{self._row};1H"
        shown = f"{_PLAIN}\x1b[2K{self._style}{_cut(text, size.columns - 1)}{self._end}"
        if not self._write(f"{scrolled}{shown}{_BACK}"):
            self._release(written=False)

    def hide(self) -> None:
        """The whole terminal scrolls again, and the row is empty. A halted terminal is not waited for."""
        if self._row:
            self._release(written=self._write(self._erased()))

    def _erased(self) -> str:
        size = _quietly(lambda: os.get_terminal_size(self._fd))
        if size is not None and size.lines == self._row:
            ours = f"\x1b[{self._row};1H{_PLAIN}\x1b[2K"
        else:
            # Below a program without a screen there is nothing but our row, wherever it is now.
            ours = f"{_PLAIN}\x1b[J"
        return f"{_ALL_ROWS}{_SAVE}{ours}{_BACK}"

    def _claim(self, row: int) -> bool:
        """The row is nobody else's, and will be put right whatever becomes of us."""
        own = own_descriptor(self._fd)
        if own == self._fd:
            return False
        try:
            # Of two runs on one terminal, one has the line.
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._heir = _Heir(self._fd, row)
        except OSError:
            os.close(own)
            return False
        self._own, self._row = own, row
        return True

    def _release(self, *, written: bool) -> None:
        if self._heir is not None:
            self._heir.leave(done=written)
        os.close(self._own)
        self._row, self._own, self._heir = 0, -1, None

    def _foreground(self) -> bool:
        return _quietly(lambda: os.tcgetpgrp(self._fd)) == os.getpgrp()

    def _write(self, sequence: str) -> bool:
        """At once: in the midst of it, the agent would write somewhere else. False: not all was taken."""
        rest = sequence.encode()
        # As a background job we would be stopped for putting the terminal right.
        former = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        until = time.monotonic() + PATIENCE_SECONDS
        try:
            while rest:
                left = until - time.monotonic()
                if left <= 0 or not _writable(self._own, left):
                    return False
                with suppress(BlockingIOError):
                    rest = rest[os.write(self._own, rest) :]
        except OSError:
            return False
        finally:
            signal.signal(signal.SIGTTOU, former)
        return True


class _Heir:
    """Gives the row back when we are killed outright, or the terminal does not take it now.

    Raises OSError when it cannot be started.
    """

    def __init__(self, fd: int, row: int) -> None:
        self._process = subprocess.Popen(
            ("/bin/sh", str(_SCRIPT), str(row)),
            env={"PATH": "/usr/bin:/bin"},
            stdin=subprocess.PIPE,
            stdout=fd,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # neither ^C nor the end of our process group reaches it
        )
        self._kept = ExitStack()
        self._kept.enter_context(tree.keeping(self._process.pid))

    def lives(self) -> bool:
        return self._process.poll() is None

    def leave(self, *, done: bool) -> None:
        """``done``: the row is given back already."""
        assert self._process.stdin is not None
        with suppress(OSError):
            if done:
                self._process.stdin.write(b"done\n")
                self._process.stdin.flush()
        with suppress(OSError):
            self._process.stdin.close()
        if done or not self.lives():
            self._kept.close()  # the rest of the run may end it
        self._process.returncode = 0  # it is collected with the orphans


def _cut(text: str, columns: int) -> str:
    taken = 0
    for place, char in enumerate(text):
        taken += 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1
        if taken > columns:
            return text[:place]
    return text


def _writable(fd: int, seconds: float) -> bool:
    return bool(select.select([], [fd], [], seconds)[1])


def _quietly(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except OSError:
        return None
