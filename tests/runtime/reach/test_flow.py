"""The copy from the agent's terminal to the person's: all of it, in order, and never for long."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from loopguard_cli.runtime.reach.flow import FLOOD_BYTES, GLANCE, HELD_BYTES, Flow

NOBODY = -1


class Watcher:
    """Reads along: wants so many portions at a time, and counts the rest."""

    def __init__(self, wanted: int = 10**9) -> None:
        self.wanted = wanted
        self.seen = b""
        self.portions = self.passed = self.refused = 0

    def put(self, data: memoryview) -> bool:
        assert not self.refused, "nothing is shown that is not wanted"
        self.portions += 1
        self.seen += data
        self.refused = self.portions >= self.wanted
        return not self.refused

    def skip(self, count: int) -> None:
        self.passed += count
        self.refused = 0


class Ends:
    """Two pipes: what is written to ``source`` is there to be taken, what was given is read from ``sink``."""

    def __init__(self) -> None:
        self.take, self.source = os.pipe()
        self.sink, self.give = os.pipe()
        self.aside, self.key = os.pipe()
        self.endless, self.nowhere = os.open("/dev/zero", os.O_RDONLY), os.open("/dev/null", os.O_WRONLY)
        for fd in (self.take, self.give):
            os.set_blocking(fd, False)

    def close(self) -> None:
        for fd in vars(self).values():
            if fd >= 0:
                os.close(fd)


@pytest.fixture
def ends() -> Iterator[Ends]:
    ends = Ends()
    yield ends
    ends.close()


def test_everything_comes_through_a_narrow_sink(ends: Ends) -> None:
    data = os.urandom(3 * HELD_BYTES + 17)
    watcher = Watcher()
    flow = Flow(ends.take, ends.give, watcher)

    def write() -> None:
        rest = data
        while rest:
            rest = rest[os.write(ends.source, rest) :]
        os.close(ends.source)
        ends.source = -1

    def read() -> None:
        while len(got) < len(data):
            got.extend(os.read(ends.sink, 997))

    got = bytearray()
    threads = [threading.Thread(target=work) for work in (write, read)]
    for thread in threads:
        thread.start()
    while not flow.ended or flow.pending:
        flow.carry(NOBODY)
    for thread in threads:
        thread.join()
    assert got == data
    assert watcher.seen == data


def test_a_sink_that_takes_nothing_stops_the_source(ends: Ends) -> None:
    flow = Flow(ends.endless, ends.give)
    for _ in range(10):
        flow.carry(NOBODY)
    assert flow.pending
    assert not flow.hungry
    assert not flow.take()


def test_a_flood_gives_others_their_turn(ends: Ends) -> None:
    flow = Flow(ends.endless, ends.nowhere)
    flow.carry(NOBODY)
    assert not flow.ended
    assert flow.hungry


def test_a_key_ends_the_stay(ends: Ends) -> None:
    watcher = Watcher()
    flow = Flow(ends.endless, ends.nowhere, watcher)
    os.write(ends.key, b"x")
    flow.carry(ends.aside)
    assert watcher.portions <= GLANCE + 1


def test_little_is_not_stayed_with(ends: Ends) -> None:
    watcher = Watcher()
    flow = Flow(ends.take, ends.give, watcher)
    os.write(ends.source, b"x" * (FLOOD_BYTES - 1))
    flow.carry(NOBODY)
    os.write(ends.source, b"y")
    assert watcher.portions == 1
    flow.carry(NOBODY)
    assert os.read(ends.sink, HELD_BYTES) == watcher.seen


def test_what_is_not_wanted_is_counted(ends: Ends) -> None:
    watcher = Watcher(wanted=2)
    flow = Flow(ends.endless, ends.nowhere, watcher)
    flow.carry(NOBODY)
    assert watcher.portions == 2
    assert watcher.passed > 0
    assert len(watcher.seen) > 0


def test_nobody_reads_it_any_more(ends: Ends) -> None:
    flow = Flow(ends.take, ends.give)
    os.close(ends.sink)
    ends.sink = -1
    os.write(ends.source, b"x" * FLOOD_BYTES * 2)
    flow.carry(NOBODY)
    assert not flow.pending
    assert not flow.ended
