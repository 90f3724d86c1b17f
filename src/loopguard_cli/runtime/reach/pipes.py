"""A driven agent: its standard streams are ours, and each line on them is one JSON message.

It runs in a process group of its own, so that ^C is ours to understand (stop the turn) instead of
being its end, and so that everything it started in that group can be signalled at once.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from loopguard_cli.agents.base import Answer, Concluding, Driven, LaunchPlan, Pinged, Relayed
from loopguard_cli.core.events import AgentConnected, AgentDisconnected, Event, Unparsed
from loopguard_cli.runtime.processes.child import Child
from loopguard_cli.runtime.processes.lifeline import held
from loopguard_cli.runtime.reach.pulse import Pulse, after_its_output, readers_time
from loopguard_cli.wire.ndjson import Decoder, Malformed, encode

LINE_BYTES = 64 << 20
"""Longest message of an agent; a tool result is one line."""

READ_BYTES = 256 << 10

UNSENT_BYTES = 64 << 20
"""An agent that does not read what we send is given up."""

COMPLAINTS = 40
"""Lines of its standard error that are kept back."""

Take = Callable[[Answer], None]
Post = Callable[[Iterable[Event]], None]


class PipedChild(Child):
    """The process and its three pipes."""

    group = True

    def _start(self, plan: LaunchPlan, environment: Mapping[str, str]) -> int:
        with held(environment) as self._lifeline:
            self._process = subprocess.Popen(
                plan.argv,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if plan.quiet else None,
                process_group=0,
            )
        self._lifeline.hold(self._process.pid)
        return self._process.pid

    def _ended(self, code: int) -> None:
        self._process.returncode = code
        self._lifeline.let_go()

    def streams(self) -> tuple[Any, Any, Any]:
        return self._process.stdin, self._process.stdout, self._process.stderr


class Pipes:
    """Speaks with one driven process until its output ends."""

    def __init__(self, adapter: Driven | Relayed, child: PipedChild, take: Take, post: Post) -> None:
        self._adapter = adapter
        self._take = take
        self._post = post
        self._decoder: Decoder[Any] = Decoder(adapter.speaks, limit=LINE_BYTES)
        self._child = child
        self._stdin, self._stdout, self._stderr = child.streams()
        self._unsent = bytearray()
        self._writing = False
        self._closing = False
        self._partial = b""
        self.ended = asyncio.Event()
        """Its standard output is at its end: everything it said was heard."""
        self.complaints: deque[str] = deque(maxlen=COMPLAINTS)
        """The end of its standard error, where that is kept back."""
        loop = self._loop = asyncio.get_running_loop()
        for stream in (self._stdin, self._stdout, self._stderr):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
        loop.add_reader(self._stdout.fileno(), self._read)
        if self._stderr is not None:
            loop.add_reader(self._stderr.fileno(), self._complain)
        self._pulse = _pulse(adapter, child.pid, take, post)

    def write(self, message: dict[str, Any]) -> None:
        if self._stdin is None or self._closing:
            return
        self._unsent += encode(message)
        if len(self._unsent) > UNSENT_BYTES:
            self._hang_up()
        elif not self._writing:
            self._flush()

    def finish(self) -> None:
        """Close its standard input once all is sent: it is dismissed."""
        self._closing = True
        self._end_pulse()
        if not self._unsent:
            self._hang_up()

    def close(self) -> None:
        self._hang_up()
        self._end_reading()
        if self._stderr is not None:
            self._loop.remove_reader(self._stderr.fileno())
            self._stderr.close()
            self._stderr = None

    # --- reading -----------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            data = os.read(self._stdout.fileno(), READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if self._pulse is not None:
            self._pulse.heard()
        if not data:
            self._end_reading()
            if not self._closing:
                after_its_output(self._child, self._post)
            return
        for message in self._decoder.feed(data):
            if isinstance(message, Malformed):
                self._post((Unparsed(native=f"line: {message.reason}"[:100]),))
            else:
                self._take(self._adapter.heard(message))

    def _end_pulse(self) -> None:
        if self._pulse is not None:
            self._pulse.close()
            self._pulse = None

    def _end_reading(self) -> None:
        self._end_pulse()
        if not self.ended.is_set():
            self._loop.remove_reader(self._stdout.fileno())
            self._stdout.close()
            if isinstance(self._adapter, Concluding):
                self._take(self._adapter.concluded())
            self.ended.set()

    def _complain(self) -> None:
        try:
            data = os.read(self._stderr.fileno(), READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._stderr.fileno())
            return
        *lines, self._partial = (self._partial + data).split(b"\n")
        self._partial = self._partial[-4096:]
        self.complaints.extend(line.decode(errors="replace") for line in lines if line.strip())

    # --- writing -----------------------------------------------------------------------------

    def _flush(self) -> None:
        if self._stdin is None:
            return
        try:
            sent = os.write(self._stdin.fileno(), self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._hang_up()
            return
        del self._unsent[:sent]
        if self._unsent and not self._writing:
            self._writing = True
            self._loop.add_writer(self._stdin.fileno(), self._flush)
        elif not self._unsent:
            self._stop_writing()
            if self._closing:
                self._hang_up()

    def _stop_writing(self) -> None:
        if self._writing and self._stdin is not None:
            self._writing = False
            self._loop.remove_writer(self._stdin.fileno())

    def _hang_up(self) -> None:
        self._unsent.clear()
        if self._stdin is not None:
            self._stop_writing()
            with suppress(OSError):
                self._stdin.close()
            self._stdin = None


def _pulse(adapter: Driven | Relayed, pid: int, take: Take, post: Post) -> Pulse | None:
    """For an agent that can be asked whether it is there, while a turn of it runs."""
    if not isinstance(adapter, Pinged) or isinstance(adapter, Relayed):
        return None
    used = readers_time(pid)

    def tell(deaf: bool) -> None:
        lost = AgentDisconnected(reason="it says nothing and does not answer", bypassed=True)
        post((lost if deaf else AgentConnected(agent=adapter.name),))

    def worked() -> float | None:
        return used() if adapter.session and not adapter.waiting else None

    return Pulse(worked, ask=lambda: take(adapter.ping()), tell=tell)
