"""`study.cost` over many conversations, on all cores, and the sums of it.

Memory stays flat: conversations are handed to the workers in batches, of which only a few are on
their way at any time, and of the loops only the largest are kept.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any

import msgspec

from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.history import Conversation, Tally
from loopguard_cli.study.cost import Loop, Study, study

BATCH_BYTES = 4 << 20
BATCH_FILES = 64
IN_PROCESS_BYTES = 16 << 20
"""Less than this is read sooner than workers have started."""

POLL_SECONDS = 0.1
COLLECT_EVERY = 50_000
"""Objects: the garbage collector looks that seldom. Events come and go by the million, and hardly any of them
is part of a circle."""

Progress = Callable[[int], None]
"""Told how many bytes have been read so far, all told."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for, the same for all conversations."""

    settings: GuardSettings
    project: str = ""
    since: float = 0.0
    show: bool = False


def scan(
    conversations: Sequence[Conversation],
    wanted: Wanted,
    *,
    workers: int = 0,
    progress: Progress = lambda _: None,
) -> Generator[Study, None, None]:
    """Judge all conversations, in whatever order they get done.

    ``workers``: processes; 0: one per core. Closing the iterator stops them at once.
    """
    workers = workers or os.cpu_count() or 1
    ordered = sorted(conversations, key=lambda one: -one.size)
    if workers == 1 or sum(one.size for one in ordered) < IN_PROCESS_BYTES:
        meter = _Meter(progress)
        with _seldom_collecting():
            for conversation in ordered:
                yield _one(conversation, wanted, meter)
        return
    with _Workers(workers, wanted) as pool:
        yield from pool.studies(_batches(ordered), progress)


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_EVERY, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


# --- in a worker -----------------------------------------------------------------------------


class _Stopped(Exception):
    """Nobody waits for the result any more."""


class _Meter:
    """Counts bytes as they are read; a conversation counts with its whole size once it is done."""

    def __init__(self, tell: Progress) -> None:
        self._tell = tell
        self._total = self._before = 0

    def read(self, bytes_so_far: int) -> None:
        self._tell(self._before + bytes_so_far)

    def done(self, size: int) -> None:
        self._before += size
        self._tell(self._before)


def _one(conversation: Conversation, wanted: Wanted, meter: _Meter) -> Study:
    result = study(
        conversation,
        wanted.settings,
        project=wanted.project,
        since=wanted.since,
        show=wanted.show,
        progress=meter.read,
    )
    meter.done(conversation.size)
    return result


_shared: tuple[Wanted, Any, Any]
"""In a worker: what is wanted, bytes read by all workers, and whether to stop."""


def _begin(wanted: Wanted, read: Any, stop: Any) -> None:
    global _shared
    _shared = (wanted, read, stop)
    # Ctrl-C reaches the whole process group; only the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY)


def _work(batch: Sequence[Conversation]) -> list[Study]:
    wanted, read, stop = _shared
    told = 0

    def tell(total: int) -> None:
        nonlocal told
        if stop.value:
            raise _Stopped
        with read.get_lock():
            read.value += total - told
        told = total

    meter = _Meter(tell)
    return [_one(conversation, wanted, meter) for conversation in batch]


# --- in the parent ---------------------------------------------------------------------------


class _Workers:
    def __init__(self, count: int, wanted: Wanted) -> None:
        from multiprocessing import get_context

        # Never forked: a forked copy of a process with threads (a progress bar's) may hang.
        context = get_context("spawn")
        self._count = count
        self._read = context.Value("Q", 0)
        self._stop = context.Value("b", 0)
        self._pool = ProcessPoolExecutor(
            count, context, initializer=_begin, initargs=(wanted, self._read, self._stop)
        )

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.value = 1
        self._pool.shutdown(wait=True, cancel_futures=True)

    def studies(self, batches: Iterator[Sequence[Conversation]], progress: Progress) -> Iterator[Study]:
        running: dict[Future[list[Study]], Sequence[Conversation]] = {}
        while True:
            for batch in islice(batches, 2 * self._count - len(running)):
                running[self._submit(batch)] = batch
            if not running:
                return
            done, _ = wait(running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            progress(self._read.value)
            for future in done:
                batch = running.pop(future)
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    yield from (_lost(one) for one in batch)

    def _submit(self, batch: Sequence[Conversation]) -> Future[list[Study]]:
        # A worker that is starting would die of ^C with a traceback, so it inherits that it hears none.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return self._pool.submit(_work, batch)
        except BrokenProcessPool as error:
            failed: Future[list[Study]] = Future()
            failed.set_exception(error)
            return failed
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _lost(conversation: Conversation) -> Study:
    return Study(
        agent=conversation.agent,
        path=str(conversation.path),
        unreadable="the process that read it was killed",
        tally=Tally(),
    )


def _batches(ordered: Iterable[Conversation]) -> Iterator[Sequence[Conversation]]:
    batch: list[Conversation] = []
    size = 0
    for conversation in ordered:
        batch.append(conversation)
        size += conversation.size
        if size >= BATCH_BYTES or len(batch) >= BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


# --- sums ------------------------------------------------------------------------------------


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A loop, and where it is."""

    agent: str
    path: str
    project: str
    loop: Loop


class Sum(msgspec.Struct, kw_only=True):
    """What loops came to."""

    loops: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    suspects: int = 0

    def add(self, loop: Loop) -> None:
        self.loops += 1
        self.calls += loop.calls
        self.tokens += loop.tokens
        self.cost += loop.cost
        self.seconds += loop.seconds
        self.suspects += bool(loop.suspect)


class Share(msgspec.Struct, kw_only=True):
    """What one agent has part in."""

    conversations: int = 0
    sessions: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    loops: int = 0


class Totals(msgspec.Struct, kw_only=True):
    """Everything a scan found, however much that was."""

    top: int = 10
    """How many places are kept, of loops and of suspects each."""
    conversations: int = 0
    sessions: int = 0
    looping: int = 0
    """Conversations with at least one loop."""
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    has_cost: bool = False
    """At least one agent wrote costs down; elsewhere they count as nothing."""
    hints: int = 0
    started: float = 0.0
    ended: float = 0.0
    saved: Sum = msgspec.field(default_factory=Sum)
    rules: dict[str, Sum] = {}
    agents: dict[str, Share] = {}
    largest: list[Place] = []
    suspects: list[Place] = []
    tally: Tally = msgspec.field(default_factory=Tally)
    unreadable: dict[str, str] = {}
    """Path and why; at most 20 are named."""
    unread: int = 0
    seen: set[tuple[str, float, str]] = set()
    """Loops counted already: some agents copy the conversation into a new file when it is resumed."""

    def add(self, one: Study) -> None:
        self.tally.add(one.tally)
        if one.unreadable:
            self.unread += 1
            if len(self.unreadable) < 20:
                self.unreadable[one.path] = one.unreadable
        if one.left_out or not one.sessions:
            return
        self.conversations += 1
        self.sessions += one.sessions
        self.calls += one.calls
        self.tokens += one.tokens
        self.cost += one.cost
        self.has_cost = self.has_cost or one.has_cost
        self.hints += one.hints
        self.started = min(self.started or one.started, one.started or self.started)
        self.ended = max(self.ended, one.ended)
        share = self.agents.setdefault(one.agent, Share())
        share.conversations += 1
        share.sessions += one.sessions
        share.calls += one.calls
        share.tokens += one.tokens
        share.cost += one.cost
        before = self.saved.loops
        for loop in one.loops:
            self._loop(one, loop)
        share.loops += self.saved.loops - before
        self.looping += self.saved.loops > before

    def _loop(self, one: Study, loop: Loop) -> None:
        mark = (loop.rule, loop.time, loop.explanation)
        if mark in self.seen:
            return
        self.seen.add(mark)
        self.saved.add(loop)
        self.rules.setdefault(loop.rule, Sum()).add(loop)
        place = Place(agent=one.agent, path=one.path, project=one.project, loop=loop)
        _keep(self.largest, place, self.top)
        if loop.suspect:
            _keep(self.suspects, place, self.top)


def _keep(places: list[Place], place: Place, top: int) -> None:
    places.append(place)
    places.sort(key=lambda one: (-one.loop.tokens, -one.loop.calls, one.loop.time, one.path))
    del places[top:]
