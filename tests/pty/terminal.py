"""A pseudo-terminal with a screen, for programs that need a real one.

A thread reads all the time, so that the program never blocks on a full terminal; everything that
waits does so on one condition.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

import pyte

T = TypeVar("T")

QUIET_SECONDS = 0.5
"""A program that has written nothing for so long has drawn what it wants to."""

_STTY = shutil.which("stty") or "stty"
"""Found before a test changes where programs are looked for."""

TAKE_TERMINAL = (
    "import fcntl, os, sys, termios\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "os.execvp(sys.argv[1], sys.argv[1:])\n"
)
"""Becomes the program, with the terminal as its controlling one (`subprocess` cannot)."""

_INCOMPLETE = re.compile(rb"\x1b(\[[0-?]*[ -/]*|[P\]X^_][^\x07\x1b]*\x1b?)?\Z")
_UNKNOWN_TO_PYTE = re.compile(
    rb"\x1b[PX^_][^\x1b]*\x1b\\"  # strings to the terminal
    rb"|\x1b\[[<=>?][0-9;?]*[mu]"  # keyboard protocols
    rb"|\x1b\[\??[0-9;]*\$p"  # mode queries
    rb"|\x1b\[[>=][0-9;]*[cq]"  # version queries
    rb"|\x1b\[[0-9;]*:[0-9;:]*m"  # colours with colons
)
_MODE = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
_KEYBOARD = re.compile(rb"\x1b\[([<>])[0-9;]*u")

_CURSOR = 25
_ON_BY_DEFAULT = {_CURSOR, 7}  # cursor, wrap around
_UNIMPORTANT = {12, 2026, 2027, 2031, 2048}
"""Cursor blink, synchronised output, grapheme clusters (OpenCode leaves them on), colour and size
reports: nothing that a shell trips over."""


class Picture(NamedTuple):
    """What a terminal shows."""

    rows: list[list[pyte.screens.Char]]
    """Cell by cell: the character, both colours, and each attribute."""
    cursor: tuple[int, int, bool]
    """Row, column, whether it is hidden."""


def emulated(data: bytes, rows: int, columns: int) -> Picture:
    """What a terminal shows that ``data`` was written to."""
    screen = pyte.Screen(columns, rows)
    pyte.ByteStream(screen).feed(_UNKNOWN_TO_PYTE.sub(b"", data))
    return pictured(screen)


def pictured(screen: pyte.Screen) -> Picture:
    rows = [[screen.buffer[row][column] for column in range(screen.columns)] for row in range(screen.lines)]
    return Picture(rows, (screen.cursor.y, screen.cursor.x, screen.cursor.hidden))


class Terminal:
    """Runs ``argv`` on a new pseudo-terminal; use it as a context manager.

    What is left of the program when the block ends is killed. ``exit_code`` is negative when a
    signal ended it.
    """

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path,
        env: Mapping[str, str],
        rows: int = 40,
        columns: int = 130,
    ) -> None:
        self._master, self._slave = pty.openpty()
        self._changed = threading.Condition()
        self._over = threading.Event()
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._held = b""
        self._raw = bytearray()
        self.modes: dict[int, bool] = {}
        """Private modes as last set."""
        self.keyboard_depth = 0
        """Keyboard protocols pushed and not popped."""
        self.resize(rows, columns)
        self.settings = termios.tcgetattr(self._slave)
        """The terminal settings before the program started."""
        self.stty_before = self.stty
        """What ``stty -a`` said before it started."""
        self._stop_reader, self._stop_writer = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-IS", "-c", TAKE_TERMINAL, *map(str, argv)],
            cwd=cwd,
            env={**env, "TERM": "xterm-256color"},
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name="terminal")
        self._reader.start()
        self._ended = threading.Thread(target=self._watch, name="terminal-end")
        self._ended.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def text(self) -> str:
        """The screen as it is now, without trailing blanks."""
        with self._changed:
            return self._text()

    @property
    def stty(self) -> str:
        """All that ``stty -a`` says of the terminal at present."""
        said = subprocess.run([_STTY, "-a"], stdin=self._slave, capture_output=True, check=True)
        return said.stdout.decode()

    @property
    def raw(self) -> bytes:
        """Everything written to the terminal so far."""
        with self._changed:
            return bytes(self._raw)

    def wait_for(self, wanted: str | Callable[[str], T], timeout: float = 120.0) -> T | bool:
        """Wait until the screen holds ``wanted``, or a predicate over it is true.

        Raises `TimeoutError` with the screen as it is instead, at once when the program has ended.
        """
        holds = (lambda text: wanted in text) if isinstance(wanted, str) else wanted
        with self._changed:
            over = self._over
            self._changed.wait_for(lambda: holds(self._text()) or over.is_set(), timeout)
            found = holds(self._text())
            if not found:
                what = "the program has ended" if over.is_set() else f"not within {timeout:g} s"
                raise TimeoutError(f"not on the screen, {what}: {wanted!r}\n{self._text()}")
            return found

    def send(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def write(self, data: bytes) -> None:
        """All of ``data``, however slowly it is taken."""
        while data:
            data = data[os.write(self._master, data[:4096]) :]

    def read_on(self) -> None:
        """Take what somebody else than the program, which has ended, has written since."""
        self._stop()
        while select.select([self._master], [], [], 0)[0]:
            self._take(os.read(self._master, 65536))

    def settle(self) -> None:
        """Wait until everything written so far is on the screen."""
        with self._changed:
            while select.select([self._master], [], [], 0)[0]:
                self._changed.wait(0.05)

    def rest(self) -> Picture:
        """Wait until nothing has been written for a moment; what is on the screen then."""
        with self._changed:
            while self._changed.wait(QUIET_SECONDS):
                pass
            return pictured(self._screen)

    def hang_up(self) -> None:
        """Take the terminal away, as when its window is closed."""
        self._stop()
        os.close(self._master)
        self._master = -1

    @property
    def same_settings(self) -> bool:
        """The settings are as they were before the program started."""
        return termios.tcgetattr(self._slave) == self.settings

    @property
    def foreground(self) -> int:
        """The process group that gets what is typed."""
        return os.tcgetpgrp(self._master)

    def resize(self, rows: int, columns: int) -> None:
        with self._changed:  # what is drawn for the new size comes to a screen that has it
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            self._screen.resize(rows, columns)

    def wait(self, timeout: float = 30.0) -> int:
        """The exit code, once the program ended and all it wrote was read."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"still running after {timeout:g} s\n{self.text}") from error
        self._stop()
        return code

    @property
    def changed_modes(self) -> list[str]:
        """What a program left of the screen's modes and the terminal's settings that was not so before."""
        left = [
            f"mode {mode} {'on' if on else 'off'}"
            for mode, on in self.modes.items()
            if on is not (mode in _ON_BY_DEFAULT) and mode not in _UNIMPORTANT
        ]
        if self.keyboard_depth:
            left.append(f"keyboard protocol pushed {self.keyboard_depth} times")
        if not self.same_settings:
            left.append("terminal settings")
        return left

    def close(self) -> None:
        if self.process.poll() is None:
            with suppress(ProcessLookupError):  # it ended just now
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._stop()
        self._ended.join()
        for descriptor in (self._master, self._slave, self._stop_reader, self._stop_writer):
            if descriptor >= 0:
                os.close(descriptor)
        self._master = self._slave = self._stop_reader = self._stop_writer = -1

    # --- the threads ------------------------------------------------------------------

    def _stop(self) -> None:
        if self._reader.is_alive():
            os.write(self._stop_writer, b".")
            self._reader.join()

    def _read(self) -> None:
        stopping = False
        while True:
            ready = select.select([self._master, self._stop_reader], [], [], 0 if stopping else None)[0]
            stopping = stopping or self._stop_reader in ready
            if self._master in ready:
                self._take(os.read(self._master, 65536))
            elif stopping:
                return

    def _watch(self) -> None:
        self.process.wait()
        self._stop()  # with everything read that it wrote
        with self._changed:
            self._over.set()
            self._changed.notify_all()

    def _take(self, data: bytes) -> None:
        with self._changed:
            self._raw += data
            data = self._held + data
            cut = _INCOMPLETE.search(data)
            self._held = data[cut.start() :] if cut else b""
            data = data[: cut.start()] if cut else data
            self._note_modes(data)
            self._draw(data)
            self._changed.notify_all()
        for query, answer in ((b"\x1b[c", b"\x1b[?62;c"), (b"\x1b[6n", b"\x1b[1;1R")):
            for _ in range(data.count(query)):
                os.write(self._master, answer)

    def _draw(self, data: bytes) -> None:
        self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", data))

    def _note_modes(self, data: bytes) -> None:
        for numbers, switch in _MODE.findall(data):
            for number in numbers.split(b";"):
                self.modes[int(number)] = switch == b"h"
        for direction in _KEYBOARD.findall(data):
            self.keyboard_depth = max(0, self.keyboard_depth + (1 if direction == b">" else -1))

    def _text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()
