"""A bridge that does not answer is told from one that has nothing to say, on a virtual clock."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, cast

import psutil
import pytest
from tests.runtime.wired import Wired, played

from loopguard_cli.core.events import AgentConnected, AgentDisconnected
from loopguard_cli.runtime.reach import bridges, pulse
from loopguard_cli.runtime.reach.pulse import Pulse


class Clockwork:
    """An event loop of timers only."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = itertools.count()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Callable[[], None]) -> Clockwork:
        self._timers.append((self.now + seconds, next(self._order), call))
        return self

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._timers and min(self._timers)[0] <= end:
            timer = min(self._timers)
            self._timers.remove(timer)
            self.now = timer[0]
            timer[2]()
        self.now = end


class Bridge:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = Clockwork()
        monkeypatch.setattr(asyncio, "get_running_loop", lambda: self.clock)
        self.share = 0.0
        """Of a processor, that its process uses."""
        self.answers = True
        self.asked = 0
        self.told: list[tuple[float, bool]] = []
        self.pulse = Pulse(lambda: self.clock.now * self.share, self._ask, self._tell)

    def _ask(self) -> None:
        self.asked += 1
        if self.answers:
            self.pulse.heard()

    def _tell(self, deaf: bool) -> None:
        self.told.append((self.clock.now, deaf))


@pytest.fixture
def bridge(monkeypatch: pytest.MonkeyPatch) -> Bridge:
    return Bridge(monkeypatch)


@pytest.mark.parametrize("share", [0.0, 0.05, 1.0])
def test_a_bridge_that_answers_is_never_deaf(bridge: Bridge, share: float) -> None:
    bridge.share = share
    bridge.clock.run(3600)
    assert bridge.asked > 1000
    assert bridge.told == []


def test_one_that_talks_is_not_asked(bridge: Bridge) -> None:
    for _ in range(1000):
        bridge.pulse.heard()
        bridge.clock.run(0.5)
    assert bridge.asked == 0


@pytest.mark.parametrize("share", [0.05, 1.0])
def test_one_that_works_and_does_not_answer_is_told_within_ten_seconds(bridge: Bridge, share: float) -> None:
    bridge.share = share
    bridge.clock.run(60.4)
    bridge.answers = False
    bridge.clock.run(60)
    ((when, deaf),) = bridge.told
    assert deaf
    assert when - 60.4 <= 10
    bridge.pulse.heard()
    assert [told for _, told in bridge.told] == [True, False]


def test_one_whose_process_stands_still_may_be_silent(bridge: Bridge) -> None:
    """Stopped by ^Z, or waiting for a program of its own."""
    bridge.answers = False
    bridge.clock.run(3600)
    assert bridge.told == []


def test_the_person_hears_of_a_deaf_bridge_and_of_its_return(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(pulse, "QUIET_SECONDS", 0.02)
    monkeypatch.setattr(pulse, "DEAF_SECONDS", 0.05)
    used = itertools.count()
    monkeypatch.setattr(bridges, "processor_time", lambda _: lambda: float(next(used)))

    async def test(wired: Wired) -> None:
        peer = await wired.bridge(pulse=True)
        before = len(wired.of(AgentConnected))
        await peer.until("ping")
        while not wired.of(AgentDisconnected):
            await asyncio.sleep(0.01)
        assert "does not answer" in wired.of(AgentDisconnected)[0].reason
        peer.send({"type": "pong"})
        while len(wired.of(AgentConnected)) == before:
            await asyncio.sleep(0.01)

    played(test)


def test_a_bridge_that_knows_no_pulse_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        bridges, "processor_time", cast("Any", lambda _: pytest.fail("it never said that it would answer"))
    )

    async def test(wired: Wired) -> None:
        peer = await wired.bridge()
        assert (await peer.gate("c1"))["allow"]

    played(test)


BUSY = "while True: pass"
WAITS = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}], stdin={{}})"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="nowhere else is it seen who reads a pipe")
@pytest.mark.parametrize(
    ("program", "works"),
    [
        (BUSY, True),
        (WAITS.format(None), True),
        (WAITS.format("subprocess.DEVNULL"), False),
        (WAITS.format("subprocess.PIPE"), False),
    ],
    ids=["the agent", "its starter", "a tool", "a tool that is fed"],
)
def test_who_reads_what_we_write_works_and_its_tools_do_not(program: str, *, works: bool) -> None:
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as process:
        everything = psutil.Process(process.pid)
        busy = None
        try:
            while busy is None:
                below = [everything, *everything.children(recursive=True)]
                busy = next((one for one in below if one.cpu_times().user > 0.5), None)
            used = pulse.readers_time(process.pid)
            before, theirs = used(), busy.cpu_times().user
            while busy.cpu_times().user < theirs + 0.5:
                time.sleep(0.01)
            after = used()
            assert before is not None
            assert after is not None
            assert (after - before > 0.4) is works
        finally:
            for one in everything.children(recursive=True):
                one.kill()
            process.kill()
    assert used() is None
