"""What the agent's processes have been doing: the evidence that `core.watchdog` judges by.

Processes are told by number and start time, so that a reused number is another process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from loopguard_cli.core.events import Event, Sampled

if TYPE_CHECKING:
    import psutil

_Key = tuple[int, float]


class _Used(NamedTuple):
    """What one process has used so far."""

    cpu: float = 0.0
    read: int = 0
    written: int = 0


class Evidence:
    """Samples one agent process and all below it, while ``wanted``."""

    def __init__(self, wanted: Callable[[], bool]) -> None:
        self._wanted = wanted
        self._root: _Key | None = None
        self._own: set[_Key] = set()
        """What the agent consisted of when it was first seen."""
        self._used: dict[_Key, _Used] = {}
        self._at = 0.0

    def look(self, pid: int, spare: Collection[int] = ()) -> Iterator[Event]:
        """A sample of the process ``pid`` and what is below it; ``spare``: children of ours that are not
        the agent's. None at the first look, which only learns what is there."""
        import psutil

        first = self._root is None or self._root[0] != pid
        if not first and not self._wanted():
            self._used.clear()
            return
        with suppress(psutil.Error):
            processes = _tree(pid, spare)
            now = time.monotonic()
            used = {key: _usage(process) for key, process in processes.items()}
            if first:
                self._root = next(key for key in processes if key[0] == pid)
                self._own = set(processes)
            elif self._used:
                yield self._sample(processes, used, now - self._at)
            self._used, self._at = used, now

    def _sample(
        self, processes: dict[_Key, psutil.Process], used: dict[_Key, _Used], seconds: float
    ) -> Sampled:
        own_cpu = below_cpu = 0.0
        own_bytes = below_bytes = 0
        for key, now in used.items():
            before = self._used.get(key, _Used())
            cpu = max(0.0, now.cpu - before.cpu)
            if key in self._own:
                own_cpu += cpu
                own_bytes += max(0, now.read - before.read)
            else:
                below_cpu += cpu
                below_bytes += max(0, now.read - before.read) + max(0, now.written - before.written)
        return Sampled(
            seconds=round(seconds, 3),
            own_cpu=round(own_cpu, 3),
            below_cpu=round(below_cpu, 3),
            own_bytes=own_bytes,
            below_bytes=below_bytes,
            below=len(used.keys() - self._own),
            came_or_went=len(used.keys() ^ self._used.keys()),
            connected=any(_connected(processes[key]) for key in used.keys() & self._own),
        )


def _tree(pid: int, spare: Collection[int]) -> dict[_Key, psutil.Process]:
    """The process and what is below it, also what lost its parent and came to us."""
    import psutil

    agent = psutil.Process(pid)
    found = [agent, *agent.children(recursive=True)]
    known = {process.pid for process in found} | set(spare)
    for child in psutil.Process().children():
        if child.pid not in known:
            found += [child, *child.children(recursive=True)]
    keys: dict[_Key, psutil.Process] = {}
    for process in found:
        with suppress(psutil.Error):
            keys[process.pid, process.create_time()] = process
    return keys


def _usage(process: psutil.Process) -> _Used:
    import psutil

    with suppress(psutil.Error), process.oneshot():
        times = process.cpu_times()
        read = written = 0
        with suppress(psutil.Error, AttributeError):  # not on every system
            counters = process.io_counters()
            read = getattr(counters, "read_chars", counters.read_bytes)
            written = getattr(counters, "write_chars", counters.write_bytes)
        return _Used(times.user + times.system, read, written)
    return _Used()


def _connected(process: psutil.Process) -> bool:
    import psutil

    with suppress(psutil.Error):
        return any(c.raddr and c.status == psutil.CONN_ESTABLISHED for c in process.net_connections("inet"))
    return False
