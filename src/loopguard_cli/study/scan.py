"""`study.cost` over many conversations, on all cores, and the sums of it.

Memory stays flat: conversations are handed to the workers in batches, of which only a few are on
their way at any time, and of the loops only the largest are kept.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import msgspec

from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.history import Conversation, Tally
from loopguard_cli.study.cost import Loop, Study, study
from loopguard_cli.study.workers import COLLECT_EVERY, Meter, Progress, Workers

BATCH_BYTES = 4 << 20
BATCH_FILES = 64
IN_PROCESS_BYTES = 16 << 20
"""Less than this is read sooner than workers have started."""


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
    abandoned: Callable[[Study], None] = lambda _: None,
) -> Generator[Study, None, None]:
    """Judge all conversations, in whatever order they get done.

    ``workers``: processes; 0: one per core. Closing the iterator stops them at once; ``abandoned`` is
    told of what one of them would not stop reading.
    """
    workers = workers or os.cpu_count() or 1
    judge = partial(_judge, wanted)
    ordered = sorted(conversations, key=lambda one: -one.size)
    if workers == 1 or sum(one.size for one in ordered) < IN_PROCESS_BYTES:
        meter = Meter(progress)
        with _seldom_collecting():
            for conversation in ordered:
                result = judge(conversation, meter.read)
                meter.done(conversation.size)
                yield result
        return
    with Workers(workers, judge, abandoned) as pool:
        yield from pool.studies(_batches(ordered), progress)


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_EVERY, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _judge(wanted: Wanted, conversation: Conversation, progress: Progress) -> Study:
    return study(
        conversation,
        wanted.settings,
        project=wanted.project,
        since=wanted.since,
        show=wanted.show,
        progress=progress,
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
