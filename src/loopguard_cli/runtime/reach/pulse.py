"""Whether what an agent tells us still comes: from a bridge that is connected, from its own output.

Silence proves nothing: a model may think for minutes. So a bridge that says nothing is asked, and one
that does not answer is given up only once its process has worked meanwhile: a process that is stopped,
starved or waits for something cannot answer either, and does nothing that we should hear of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from loopguard_cli.core.events import AgentDisconnected, Event
from loopguard_cli.runtime.processes.child import Child

if TYPE_CHECKING:
    import psutil

LOOK_SECONDS = 1.0

QUIET_SECONDS = 2.0
"""A bridge that has said nothing for so long is asked."""

DEAF_SECONDS = 6.0
"""For the answer. Together it is known within ten seconds."""

WORKED_SECONDS = 0.2
"""Of processor time, after the question: it was there to answer."""

OUTLIVED_SECONDS = 1.0
"""Between the end of an agent's output and its own, if that is a normal end."""


class Pulse:
    """Of one bridge. ``ask`` sends the question, ``tell`` hears that it is deaf, or is not any more."""

    def __init__(
        self, worked: Callable[[], float | None], ask: Callable[[], None], tell: Callable[[bool], None]
    ) -> None:
        """``worked``: seconds of processor time its process has used, None when that cannot be had."""
        self._worked = worked
        self._ask = ask
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._heard = self._loop.time()
        self._asked: tuple[float, float] | None = None
        """When it was asked, and what its process had used until then."""
        self.deaf = False
        self._timer = self._loop.call_later(LOOK_SECONDS, self._look)

    def heard(self) -> None:
        """It said something, whatever it was."""
        self._heard, self._asked = self._loop.time(), None
        if self.deaf:
            self.deaf = False
            self._tell(False)

    def close(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        self._timer = self._loop.call_later(LOOK_SECONDS, self._look)
        now = self._loop.time()
        if self._asked is None:
            worked = self._worked() if now - self._heard >= QUIET_SECONDS else None
            if worked is not None:
                self._asked = now, worked
                self._ask()
            return
        asked, before = self._asked
        if self.deaf or now - asked < DEAF_SECONDS:
            return
        worked = self._worked()
        if worked is not None and worked - before >= WORKED_SECONDS:
            self.deaf = True
            self._tell(True)


def processor_time(pid: int) -> Callable[[], float | None]:
    """For `Pulse`: of the process with this number, which is the bridge's as long as that is connected."""

    def used() -> float | None:
        import psutil

        try:
            times = psutil.Process(pid).cpu_times()
        except psutil.Error:
            return None
        return float(times.user + times.system)

    return used


def readers_time(pid: int) -> Callable[[], float | None]:
    """For `Pulse`: of the process that we started, and of those below it that read what we write to it.

    Many agents are started by a small program that hands its standard input on and then only waits. Where
    it cannot be seen who reads, the process that we started counts alone.
    """
    readers: list[psutil.Process] = []

    def used() -> float | None:
        import psutil

        try:
            if not all(reader.is_running() for reader in readers):
                readers.clear()
            if not readers:
                readers.extend(_readers(psutil.Process(pid)))
            times = [reader.cpu_times() for reader in readers]
        except psutil.Error:
            return None
        return sum(float(time.user + time.system) for time in times)

    return used


def _readers(process: psutil.Process) -> list[psutil.Process]:
    pipe = _standard_input(process)
    below = process.children(recursive=True) if pipe else []
    return [process, *(child for child in below if _standard_input(child) == pipe)]


def _standard_input(process: psutil.Process) -> str:
    try:
        return str(Path(f"/proc/{process.pid}/fd/0").readlink())
    except OSError:
        return ""


def after_its_output(child: Child, post: Callable[[Iterable[Event]], None]) -> None:
    """The output of ``child``, which is all that it tells us, is at its end: it should end as well."""

    def look() -> None:
        if child.code is None:
            post((AgentDisconnected(reason="it has closed its output and goes on"),))

    asyncio.get_running_loop().call_later(OUTLIVED_SECONDS, look)
