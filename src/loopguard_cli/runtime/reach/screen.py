"""An agent on a pseudo-terminal: bytes are copied both ways, unchanged, and read along on the way out.

The copy never waits for the reading: what the adapter gets is a copy of what the person has already,
and where more is printed than can be read along in passing, the adapter is told how much it missed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import termios
import tty
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from loopguard_cli.agents.base import Answer, Keys, OnTerminal, ReadsAlong
from loopguard_cli.runtime.processes.screen_child import ScreenChild, window_size
from loopguard_cli.runtime.reach.flow import Flow
from loopguard_cli.runtime.reach.outlet import own_descriptor, writable
from loopguard_cli.runtime.reach.tee import Tee

READ_BYTES = 64 << 10

UNSENT_BYTES = 256 << 10
"""No more is read from the person while the agent has not taken this much."""

DRAWN_SECONDS = 0.006
"""Without output for so long, a picture is whole (`ReadsPictures.drawn`); sixty a second leave 16 ms each."""

PAUSE_SECONDS = 0.05
"""Without output for so long, what is on the screen counts as drawn (`OnTerminal.paused`)."""

STILL_SECONDS = 2.0
"""Without output for so long, the program waits for the person (`ReadsAlong.still`). Spinners, clocks and
cursors of programs at work move more often."""

Take = Callable[[Answer], None]


class Screen:
    """Copies between the person's terminal and the agent's, and types."""

    def __init__(self, child: ScreenChild, adapter: OnTerminal | None, take: Take) -> None:
        self._child = child
        self._loop = asyncio.get_running_loop()
        self._reader: ReadsAlong | None = adapter if isinstance(adapter, ReadsAlong) else None
        self._take = take
        self._tee = Tee(adapter, take) if adapter is not None else None
        self._to_agent = bytearray()
        self._reading: set[int] = set()
        self._writing: set[int] = set()
        self._typing: list[asyncio.TimerHandle] = []
        self._next_key = 0.0
        self._before: list[Any] | None = None
        self._inward, self._outward = 0, own_descriptor(1)
        self._to_person = Flow(child.master, self._outward, self._tee)
        self.ended = asyncio.Event()
        """The agent's terminal is closed: everything it wrote was copied."""

    def begin(self) -> None:
        """Take the person's terminal over and start copying."""
        self._raw()
        self.resized()
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
        self._child.resize()
        if self._reader is not None:
            self._take(self._reader.sized(*window_size()))

    def suspend(self) -> None:
        """The agent has stopped itself; the terminal is the shell's until `resume`."""
        self._empty()
        self._cooked()

    def resume(self) -> None:
        self._raw()
        self.resized()

    def close(self) -> None:
        if self.closed:
            return
        for timer in self._typing:
            timer.cancel()
        for fd in list(self._reading):
            self._loop.remove_reader(fd)
        for fd in list(self._writing):
            self._loop.remove_writer(fd)
        self._reading.clear()
        self._writing.clear()
        self._empty()
        if self._tee is not None:
            self._tee.close()
        self._cooked()
        self._child.hang_up()
        if self._outward > 2:
            os.close(self._outward)
        self._outward = -1
        self.ended.set()

    @property
    def closed(self) -> bool:
        return self._outward < 0

    def _empty(self) -> None:
        """Bring everything that the agent has written so far to the person, waiting for the terminal."""
        while True:
            while self._to_person.pending and writable(self._outward):
                self._to_person.give()
            if self._to_person.pending:
                self._to_person.drop()
                return
            if self._to_person.ended or not self._to_person.take():
                return

    # --- the person's terminal ---------------------------------------------------------------

    def _raw(self) -> None:
        if self._inward >= 0 and os.isatty(self._inward):
            with suppress(termios.error):
                self._before = self._before or termios.tcgetattr(self._inward)
                tty.setraw(self._inward, termios.TCSANOW)

    def _cooked(self) -> None:
        if self._before is None or self._inward < 0:
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
        if self.closed:
            return
        master = self._child.master
        out = self._to_person
        self._watch(self._reading, master, out.hungry, self._from_agent)
        self._watch(self._reading, self._inward, len(self._to_agent) < UNSENT_BYTES, self._from_person)
        self._watch(self._writing, master, bool(self._to_agent) and not out.ended, self._flush)
        self._watch(self._writing, self._outward, out.pending, self._from_agent)

    def _watch(self, watched: set[int], fd: int, wanted: bool, call: Callable[[], None]) -> None:
        if wanted == (fd in watched) or fd < 0:
            return
        reading = watched is self._reading
        if wanted:
            try:
                (self._loop.add_reader if reading else self._loop.add_writer)(fd, call)
            except OSError:
                # A regular file is always ready, and the event loop does not take it.
                self._loop.call_soon(self._unwatched, fd, call)
                return
            watched.add(fd)
        else:
            (self._loop.remove_reader if reading else self._loop.remove_writer)(fd)
            watched.discard(fd)

    def _unwatched(self, fd: int, call: Callable[[], None]) -> None:
        if not self.closed and fd in (self._inward, self._outward):
            call()

    def _from_agent(self) -> None:
        self._to_person.carry(self._inward if self._inward in self._reading else -1)
        self._flush()

    def _from_person(self) -> None:
        try:
            data = os.read(self._inward, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._watch(self._reading, self._inward, False, self._from_person)
            if not os.isatty(self._inward):
                self._type(b"\x04")  # the end of a file is typed on a terminal
            self._inward = -1
            return
        if self._reader is not None:
            self._take(self._reader.keyed(data))
        self._type(data)

    def _type(self, data: bytes) -> None:
        self._to_agent += data
        self._flush()

    def _flush(self) -> None:
        if self.closed:
            return
        if self._to_agent:
            try:
                del self._to_agent[: os.write(self._child.master, self._to_agent)]
            except BlockingIOError:
                pass
            except OSError:
                self._to_agent.clear()
        self._to_person.give()
        if self._to_person.ended and not self._to_person.pending:
            self.ended.set()
        self._update()
