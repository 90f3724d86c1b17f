"""An agent on a pseudo-terminal: bytes are copied both ways, unchanged, and read along on the way out.

The copy never waits for the reading: what the adapter gets is a copy of what the person has already.
"""

from __future__ import annotations

import asyncio
import os
import signal
import termios
import tty
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from loopguard_cli.agents.base import Answer, Keys, LaunchPlan, OnTerminal
from loopguard_cli.runtime.child import Child

READ_BYTES = 64 << 10

UNSENT_BYTES = 256 << 10
"""No more is read from one side while the other has not taken this much."""

PAUSE_SECONDS = 0.05
"""Without output for so long, what is on the screen counts as drawn (`OnTerminal.paused`)."""

_DEFAULT_SIZE = (24, 80)

Take = Callable[[Answer], None]


class ScreenChild(Child):
    """The process and our end of its terminal."""

    group = True

    def _start(self, plan: LaunchPlan, environment: Mapping[str, str]) -> int:
        from ptyprocess import PtyProcess, PtyProcessError

        try:
            self._terminal = PtyProcess.spawn(
                list(plan.argv), env=dict(environment), dimensions=window_size()
            )
        except PtyProcessError as error:
            raise OSError(str(error)) from error
        os.set_blocking(self._terminal.fd, False)
        return int(self._terminal.pid)

    @property
    def master(self) -> int:
        return int(self._terminal.fd)

    def _ended(self, code: int) -> None:
        """ptyprocess would wait for the process when it is collected; it is ours to wait for."""
        self._terminal.terminated = True

    def resize(self, rows: int, columns: int) -> None:
        with suppress(OSError):
            self._terminal.setwinsize(rows, columns)

    def hang_up(self) -> None:
        with suppress(OSError):
            os.close(self.master)
        self._terminal.closed = True
        self._terminal.fd = -1


class Screen:
    """Copies between the person's terminal and the agent's, and types."""

    def __init__(self, child: ScreenChild, adapter: OnTerminal | None, take: Take) -> None:
        self._child = child
        self._adapter = adapter
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._to_agent = bytearray()
        self._to_person = bytearray()
        self._reading: set[int] = set()
        self._writing: set[int] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._typing: list[asyncio.TimerHandle] = []
        self._next_key = 0.0
        self._before: list[Any] | None = None
        self._inward, self._outward = 0, 1
        self.ended = asyncio.Event()
        """The agent's terminal is closed: everything it wrote was copied."""

    def begin(self) -> None:
        """Take the person's terminal over and start copying."""
        self._raw()
        self._update()

    def type(self, keys: Keys) -> None:
        """Type into the agent's terminal, behind whatever is still being typed."""
        now = self._loop.time()
        self._next_key = max(self._next_key, now) + keys.pause
        if self._next_key <= now:
            self._type(keys.data)
        else:
            self._typing.append(self._loop.call_at(self._next_key, self._type, keys.data))

    def resized(self) -> None:
        self._child.resize(*window_size())

    def suspend(self) -> None:
        """The agent has stopped itself; the terminal is the shell's until `resume`."""
        self._cooked()

    def resume(self) -> None:
        self._raw()
        self.resized()

    def close(self) -> None:
        for timer in self._typing:
            timer.cancel()
        if self._pause is not None:
            self._pause.cancel()
        for fd in list(self._reading):
            self._loop.remove_reader(fd)
        for fd in list(self._writing):
            self._loop.remove_writer(fd)
        self._reading.clear()
        self._writing.clear()
        if self._to_person:
            with suppress(OSError):
                os.write(self._outward, self._to_person)
        self._cooked()
        self._child.hang_up()
        self.ended.set()

    # --- the person's terminal ---------------------------------------------------------------

    def _raw(self) -> None:
        if os.isatty(self._inward):
            with suppress(termios.error):
                self._before = self._before or termios.tcgetattr(self._inward)
                tty.setraw(self._inward, termios.TCSANOW)

    def _cooked(self) -> None:
        if self._before is None:
            return
        old = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            with suppress(termios.error):
                termios.tcsetattr(self._inward, termios.TCSADRAIN, self._before)
        finally:
            signal.signal(signal.SIGTTOU, old)

    # --- copying -----------------------------------------------------------------------------

    def _update(self) -> None:
        """Watch what can go on: no side is read while the other is behind."""
        master = self._child.master
        self._watch(self._reading, master, len(self._to_person) < UNSENT_BYTES, self._from_agent)
        self._watch(self._reading, self._inward, len(self._to_agent) < UNSENT_BYTES, self._from_person)
        self._watch(self._writing, master, bool(self._to_agent), self._flush)
        self._watch(self._writing, self._outward, bool(self._to_person), self._flush)

    def _watch(self, watched: set[int], fd: int, wanted: bool, call: Callable[[], None]) -> None:
        if wanted == (fd in watched) or fd < 0:
            return
        reading = watched is self._reading
        if wanted:
            try:
                (self._loop.add_reader if reading else self._loop.add_writer)(fd, call)
            except OSError:
                return  # a regular file: always ready, and never worth waiting for
            watched.add(fd)
        else:
            (self._loop.remove_reader if reading else self._loop.remove_writer)(fd)
            watched.discard(fd)

    def _from_agent(self) -> None:
        try:
            data = os.read(self._child.master, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:  # EIO: nobody has the terminal open any more
            data = b""
        if not data:
            self._loop.remove_reader(self._child.master)
            self._reading.discard(self._child.master)
            self.ended.set()
            return
        self._to_person += data
        self._flush()
        if self._adapter is not None:
            self._take(self._adapter.printed(data))
            if self._pause is not None:
                self._pause.cancel()
            self._pause = self._loop.call_later(PAUSE_SECONDS, self._paused)

    def _paused(self) -> None:
        if self._adapter is not None:
            self._take(self._adapter.paused())

    def _from_person(self) -> None:
        try:
            data = os.read(self._inward, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._watch(self._reading, self._inward, False, self._from_person)
            self._inward = -1
            return
        self._type(data)

    def _type(self, data: bytes) -> None:
        self._to_agent += data
        self._flush()

    def _flush(self) -> None:
        for fd, waiting in ((self._child.master, self._to_agent), (self._outward, self._to_person)):
            if waiting and fd >= 0:
                try:
                    del waiting[: os.write(fd, waiting)]
                except BlockingIOError:
                    pass
                except OSError:
                    waiting.clear()
        self._update()


def window_size() -> tuple[int, int]:
    """Rows and columns of the person's terminal."""
    for fd in (0, 1, 2):
        with suppress(OSError):
            size = os.get_terminal_size(fd)
            if size.lines and size.columns:
                return size.lines, size.columns
    return _DEFAULT_SIZE
