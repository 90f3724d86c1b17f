"""All processes of the run: adopted when their parent dies, ended when the run is over.

Agents leave processes behind: the shell tool of a killed `opencode run` is in a session of its own
and lives on. On Linux we become the reaper of everything below us, so nothing gets lost; elsewhere
the mark in their environment finds them.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

MARK = "LOOPGUARD_RUN"
"""Environment variable with ``run:pid`` of the supervisor; also tells that an agent is guarded."""

GRACE_SECONDS = 2.0
"""Between the polite and the impolite signal."""

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> bool:
    """Become the parent of orphaned descendants. False where the system cannot do that."""
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


_being_started = 0


@contextmanager
def starting() -> Iterator[None]:
    """While a child of our own is being started, nothing is collected or ended: its number is not known."""
    global _being_started
    _being_started += 1
    try:
        yield
    finally:
        _being_started -= 1


_kept: set[int] = set()


@contextmanager
def keeping(pid: int) -> Iterator[None]:
    """Meanwhile this child of our own is no part of the run, and outlives it: who started it waits for it."""
    _kept.add(pid)
    try:
        yield
    finally:
        _kept.discard(pid)


def reap(spare: Iterable[int]) -> None:
    """Collect ended orphans; ``spare``: children that somebody else waits for."""
    spared = {*spare, *_kept}
    while not _being_started:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in spared:
            return
        with suppress(ChildProcessError):
            os.waitpid(found.si_pid, os.WNOHANG)


def survivors(mark: str, spare: Collection[int] = ()) -> list[psutil.Process]:
    """What still runs of this run; ourselves, ``spare`` and what is below those excepted."""
    import psutil

    spare = {*spare, *_kept}
    before = _below(spare)
    found = {process.pid: process for process in psutil.Process().children(recursive=True)}
    if sys.platform != "linux":
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get(MARK) == mark:
                    found[process.pid] = process
    # Looked at once more: what has begun meanwhile is only seen now, what has lost its parent only before.
    spared = {os.getpid(), *spare, *before, *_below(spare)}
    return [p for p in found.values() if p.pid not in spared and _runs(p)]


def of_group(pid: int) -> list[psutil.Process]:
    """What is below a process and in its process group."""
    import psutil

    found: list[psutil.Process] = []
    with suppress(psutil.Error, ProcessLookupError):
        group = os.getpgid(pid)
        for process in psutil.Process(pid).children(recursive=True):
            with suppress(ProcessLookupError):
                if os.getpgid(process.pid) == group:
                    found.append(process)
    return found


def _below(pids: Iterable[int]) -> set[int]:
    import psutil

    found: set[int] = set()
    for pid in pids:
        with suppress(psutil.Error):
            found.update(child.pid for child in psutil.Process(pid).children(recursive=True))
    return found


def _runs(process: psutil.Process) -> bool:
    import psutil

    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


async def end_all(mark: str, spare: Collection[int] = ()) -> int:
    """End every process of the run; returns how many there were.

    psutil compares the start time before it signals, so a reused process number is never hit.
    """
    import psutil

    ended = 0
    for number in (signal.SIGTERM, signal.SIGKILL):
        while _being_started:
            # A child of our own whose number is not in ``spare`` yet.
            await asyncio.sleep(0)
        found = survivors(mark, spare)
        ended = ended or len(found)
        for process in found:
            with suppress(psutil.Error):
                process.send_signal(number)
                if number is signal.SIGTERM:
                    process.send_signal(signal.SIGCONT)
        if found:
            await _gone(found, spare)
    return ended


async def _gone(processes: list[psutil.Process], spare: Collection[int]) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + GRACE_SECONDS
    pause = 0.005
    while loop.time() < until:
        reap(spare)
        if not any(_runs(process) for process in processes):
            return
        await asyncio.sleep(pause)
        pause = min(pause * 2, 0.1)
