"""A program whose standard output is read along on its way to ours; everything else is as without us."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO

from loopguard_cli.agents.base import Answer, LaunchPlan, OnTerminal
from loopguard_cli.runtime.processes import tree
from loopguard_cli.runtime.processes.child import Child
from loopguard_cli.runtime.processes.lifeline import held
from loopguard_cli.runtime.reach.outlet import own_descriptor, writable
from loopguard_cli.runtime.reach.pulse import after_its_output

READ_BYTES = 256 << 10
UNSENT_BYTES = 1 << 20
"""No more is read while our own standard output has not taken this much."""

Take = Callable[[Answer], None]


class TapChild(Child):
    """The process and the pipe for its standard output."""

    def _start(self, plan: LaunchPlan, environment: Mapping[str, str]) -> int:
        # What it says would reach nobody if we were killed outright, so it ends with us.
        with held(environment) as self._lifeline:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                plan.argv, env=environment, stdout=subprocess.PIPE
            )
        return self._process.pid

    def _ended(self, code: int) -> None:
        super()._ended(code)
        self._lifeline.let_go()

    @property
    def output(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout


class Tap:
    """Copies the output of one process, and has the adapter read it."""

    def __init__(self, child: TapChild, adapter: OnTerminal, take: Take) -> None:
        self._child = child
        self._adapter = adapter
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._source = child.output
        self._outward = own_descriptor(1)
        self._unsent = bytearray()
        self._reading = self._writing = self._at_end = False
        self.ended = asyncio.Event()
        """Its output is at its end, and all of it was copied."""
        os.set_blocking(self._source.fileno(), False)

    def begin(self) -> None:
        self._update()

    def interrupt(self) -> None:
        """As by ^C: what it has started in its own process group is meant as well.

        It may only be a program that waits for the real one and hands no signal on.
        """
        import psutil

        below = tree.of_group(self._child.pid)
        self._child.send(signal.SIGINT)
        for process in below:
            with suppress(psutil.Error):
                process.send_signal(signal.SIGINT)

    def close(self) -> None:
        if self._source.closed:
            return
        self._stop()
        while not self._source.closed and self._receive():
            pass
        while self._unsent and writable(self._outward):
            self._send()
        self._unsent.clear()
        self._source.close()
        if self._outward > 2:
            os.close(self._outward)
        self.ended.set()

    def _stop(self) -> None:
        self._at_end = True
        self._watch(False, False)

    def _update(self) -> None:
        if not self._source.closed:
            self._watch(not self._at_end and len(self._unsent) < UNSENT_BYTES, bool(self._unsent))

    def _watch(self, reading: bool, writing: bool) -> None:
        if reading is not self._reading:
            fd = self._source.fileno()
            self._loop.add_reader(fd, self._read) if reading else self._loop.remove_reader(fd)
        if writing is not self._writing:
            fd = self._outward
            self._loop.add_writer(fd, self._flush) if writing else self._loop.remove_writer(fd)
        self._reading, self._writing = reading, writing

    def _read(self) -> None:
        self._at_end = self._receive() == b""
        if self._at_end:
            after_its_output(self._child, lambda events: self._take(Answer(events=tuple(events))))
        self._flush()

    def _receive(self) -> bytes | None:
        """What came; None: nothing at present, empty: nothing any more."""
        try:
            data = os.read(self._source.fileno(), READ_BYTES)
        except BlockingIOError:
            return None
        if data:
            self._unsent += data
            self._send()
            self._take(self._adapter.printed(data))
        return data

    def _flush(self) -> None:
        self._send()
        self._update()
        if self._at_end and not self._unsent:
            self.ended.set()

    def _send(self) -> None:
        try:
            if self._unsent:
                del self._unsent[: os.write(self._outward, self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            # Nobody reads it any more, and the program is to learn that as it would without us.
            self._unsent.clear()
            self._stop()
            self._source.close()
            self.ended.set()
