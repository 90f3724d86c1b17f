"""Processes that judge conversations, and what becomes of one that does not come back.

A read never returns where the folder of a network that is gone was mounted, or where a pipe lies in a
file's place by now. So nobody waits for a worker without end: one that neither reads nor computes is
killed, and another goes on with the rest of what it was given. What it was reading is named.
"""

from __future__ import annotations

import gc
import multiprocessing.process
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import connection, get_context
from typing import Any

import psutil

from loopguard_cli.history import Conversation, Tally
from loopguard_cli.study.cost import Study

Progress = Callable[[int], None]
"""Told how many bytes have been read so far, all told."""

Judge = Callable[[Conversation, Progress], Study]
"""Goes to another process, so it is a function of a module."""

POLL_SECONDS = 0.1

LOOK_SECONDS = 30.0
"""A worker that has neither read a byte nor used the processor from one look to the next is stuck.
Disks need seconds to wake up."""

GRACE_SECONDS = 1.0
"""When all shall end: a worker that reads notices it within a fraction of that."""

KILLED_SECONDS = 1.0
"""Nothing that was killed lives longer, but a process that waits for a broken disk."""

COLLECT_EVERY = 50_000
"""Objects: the garbage collector looks that seldom. Events come and go by the million, and hardly any of them
is part of a circle."""

KILLED = "the process that read it was killed"
STUCK = "reading it did not come to an end: is the disk or the network folder that it is on still there?"

_NOTHING = -1


class Meter:
    """Counts bytes as they are read; a conversation counts with its whole size once it is done."""

    def __init__(self, tell: Progress) -> None:
        self._tell = tell
        self._before = 0

    def read(self, bytes_so_far: int) -> None:
        self._tell(self._before + bytes_so_far)

    def done(self, size: int) -> None:
        self._before += size
        self._tell(self._before)


# --- in a worker -----------------------------------------------------------------------------


class _Stopped(Exception):
    """Nobody waits for the result any more."""


def _work(judge: Judge, link: Any, slot: int, shared: tuple[Any, Any, Any]) -> None:
    # Ctrl-C reaches the whole process group; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY)
    read, at, stop = shared

    def tell(total: int) -> None:
        read[slot] = total
        if stop.value:
            raise _Stopped

    # The other end is closed: everything is done, or the command was killed.
    with suppress(_Stopped, EOFError, OSError):
        while True:
            batch = link.recv()
            meter = Meter(tell)
            done = []
            for at[slot], conversation in enumerate(batch):
                try:
                    done.append(judge(conversation, meter.read))
                except _Stopped:
                    raise
                except Exception:
                    link.send(None)
                    return
                meter.done(conversation.size)
            link.send(done)


# --- in the parent ---------------------------------------------------------------------------


class _Worker:
    def __init__(self, slot: int, start: Callable[[int, Any], Any]) -> None:
        self.link, other = connection.Pipe()
        self.process = start(slot, other)
        other.close()
        self.slot = slot
        self.batch: Sequence[Conversation] = ()
        self.quiet = 0.0
        """Seconds of ours since it was last looked at: none pass while all of us are suspended."""
        self.seen: object = None

    def used(self) -> object:
        """What changes while it computes."""
        with suppress(psutil.Error):
            return psutil.Process(self.process.pid).cpu_times()
        return None

    def kill(self) -> None:
        self.process.kill()
        self.process.join(KILLED_SECONDS)
        if self.process.is_alive():
            # At the end of the program every child is waited for, without end.
            getattr(multiprocessing.process, "_children", set()).discard(self.process)
        self.link.close()


class Workers:
    """Up to ``count`` processes. Leaving the context ends them, within `GRACE_SECONDS` and a little.

    ``abandoned`` is then told what one was still reading that had to be killed.
    """

    def __init__(self, count: int, judge: Judge, abandoned: Callable[[Study], None]) -> None:
        # Never forked: a forked copy of a process with threads (a progress bar's) may hang.
        self._context = get_context("spawn")
        self._judge = judge
        self._abandoned = abandoned
        self._read = self._context.RawArray("Q", count)
        """Bytes of its batch that each has read."""
        self._at = self._context.RawArray("q", count)
        """Which conversation of its batch each reads."""
        self._stop = self._context.RawValue("b", 0)
        self._workers: list[_Worker | None] = [None] * count
        self._done = 0
        """Bytes of what is behind us."""

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.value = 1
        workers = [one for one in self._workers if one is not None]
        for worker in workers:
            if not worker.batch:
                worker.link.close()
            worker.seen = worker.used()
        try:
            _wait_for([worker.process for worker in workers], GRACE_SECONDS)
        finally:
            for worker in workers:
                if worker.batch and worker.process.is_alive() and worker.used() == worker.seen:
                    self._abandoned(_unread(self._current(worker), STUCK))
                worker.kill()

    def studies(self, batches: Iterator[Sequence[Conversation]], progress: Progress) -> Iterator[Study]:
        """Judge them all, in whatever order they get done."""
        began = time.monotonic()
        while busy := self._hand_out(batches):
            ready = connection.wait([worker.link for worker in busy], POLL_SECONDS)
            passed, began = time.monotonic() - began, time.monotonic()
            found: list[Study] = []
            for worker in busy:
                if worker.link in ready:
                    found += self._result(worker)
                elif self._is_stuck(worker, min(passed, 2 * POLL_SECONDS)):
                    found += self._lost(worker, STUCK)
            progress(self._done + sum(self._read))
            yield from found

    # --- inside ------------------------------------------------------------------------------

    def _hand_out(self, batches: Iterator[Sequence[Conversation]]) -> list[_Worker]:
        """Those that have something to do."""
        for slot, worker in enumerate(self._workers):
            if worker is not None and worker.batch:
                continue
            if (batch := next(batches, None)) is None:
                break
            self._give(slot, batch)
        return [worker for worker in self._workers if worker is not None and worker.batch]

    def _give(self, slot: int, batch: Sequence[Conversation]) -> None:
        worker = self._workers[slot]
        if worker is None:
            worker = self._workers[slot] = _Worker(slot, self._start)
        self._at[slot] = _NOTHING
        worker.batch, worker.quiet, worker.seen = batch, 0.0, None
        with suppress(OSError):  # It was killed; this is heard when its answer is read.
            worker.link.send(batch)

    def _start(self, slot: int, link: Any) -> Any:
        process = self._context.Process(
            target=_work,
            args=(self._judge, link, slot, (self._read, self._at, self._stop)),
            daemon=True,
        )
        # A worker that is starting would die of ^C with a traceback, so it inherits that it hears none.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return process

    def _result(self, worker: _Worker) -> list[Study]:
        try:
            result: list[Study] | None = worker.link.recv()
        except (EOFError, OSError):
            return self._lost(worker, KILLED)
        if result is None:
            # A bug. Here it says where it is; of an exception from a worker little would be left.
            self._judge(self._current(worker), lambda _: None)
            raise RuntimeError("a worker failed where its parent did not")
        self._leave_behind(worker.slot, worker.batch)
        worker.batch = ()
        return result

    def _leave_behind(self, slot: int, conversations: Sequence[Conversation]) -> None:
        self._read[slot] = 0
        self._done += sum(one.size for one in conversations)

    def _is_stuck(self, worker: _Worker, passed: float) -> bool:
        worker.quiet += passed
        if worker.quiet < LOOK_SECONDS:
            return False
        seen = (self._read[worker.slot], self._at[worker.slot], worker.used())
        before, worker.seen, worker.quiet = worker.seen, seen, 0.0
        return before == seen

    def _lost(self, worker: _Worker, why: str) -> list[Study]:
        """What it was at is given up; the rest of its batch is for another, from the beginning."""
        worker.kill()
        self._workers[worker.slot] = None
        lost = [self._current(worker)]
        rest = [one for one in worker.batch if one is not lost[0]]
        if self._at[worker.slot] == _NOTHING:
            # It did not even begin: the next would fare no better.
            lost, rest = [*worker.batch], []
        self._leave_behind(worker.slot, lost)
        if rest:
            self._give(worker.slot, rest)
        return [_unread(one, why) for one in lost]

    def _current(self, worker: _Worker) -> Conversation:
        index: int = self._at[worker.slot]
        return worker.batch[max(0, index)]


def _wait_for(processes: Sequence[Any], seconds: float) -> None:
    """Until all have ended, but not longer than that."""
    until = time.monotonic() + seconds
    left = [process.sentinel for process in processes]
    while left and (rest := until - time.monotonic()) > 0:
        ended = connection.wait(left, rest)
        left = [sentinel for sentinel in left if sentinel not in ended]


def _unread(conversation: Conversation, why: str) -> Study:
    return Study(agent=conversation.agent, path=str(conversation.path), unreadable=why, tally=Tally())
