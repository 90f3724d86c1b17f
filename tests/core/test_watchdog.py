"""Quiet and busy, or hung: 200 quiet cases, none flagged; 120 hangs, each noticed in time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from loopguard_cli.core.effects import Abort, Effect, Prompt, Tell
from loopguard_cli.core.events import (
    Asked,
    Event,
    PermissionAsked,
    Sampled,
    Status,
    StatusChanged,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from loopguard_cli.core.ids import CallId, MessageId, Mint, PartId, RequestId, SessionId
from loopguard_cli.core.settings import Capabilities, Locale
from loopguard_cli.core.watchdog import SAMPLE_SECONDS, HangAction, Watchdog, WatchdogSettings
from loopguard_cli.core.wording import Wording

S = SessionId("s")
MINUTE = 60.0
WINDOW = 10 * MINUTE
CASES = 20
"""Of each kind, with figures of their own."""


@dataclass
class Seen:
    """What the processes do in one second, and what the agent says."""

    own: float = 0.01
    below_cpu: float = 0.0
    own_bytes: float = 20.0
    below_bytes: float = 0.0
    below: int = 0
    came: int = 0
    connected: bool = True
    says: list[Event] = field(default_factory=list)


def watchdog(action: HangAction = HangAction.NOTIFY, *, respawn: bool = False) -> Watchdog:
    return Watchdog(
        WatchdogSettings(action=action),
        capabilities=Capabilities(abort=True, prompt=True, respawn=respawn),
        mint=Mint("w"),
        wording=Wording(Locale.EN),
    )


def live(
    dog: Watchdog, seconds: float, world: Callable[[float], Seen], start: float = 0.0
) -> list[tuple[float, Effect]]:
    """Let the time pass, sampling as the shell does; what came out, and when."""
    effects: list[tuple[float, Effect]] = []
    now = start
    while now < start + seconds:
        now += SAMPLE_SECONDS
        seen = world(now - start)
        for event in seen.says:
            effects += [(now, effect) for effect in dog.receive(event, now - 1)]
        if dog.attentive:
            sample = Sampled(
                seconds=SAMPLE_SECONDS,
                own_cpu=seen.own * SAMPLE_SECONDS,
                below_cpu=seen.below_cpu * SAMPLE_SECONDS,
                own_bytes=int(seen.own_bytes * SAMPLE_SECONDS),
                below_bytes=int(seen.below_bytes * SAMPLE_SECONDS),
                below=seen.below,
                came_or_went=seen.came,
                connected=seen.connected,
            )
            effects += [(now, effect) for effect in dog.receive(sample, now)]
    return effects


def busy() -> Event:
    return StatusChanged(session=S, status=Status.BUSY)


def tool() -> Event:
    return ToolStarted(session=S, call=CallId("c"), tool="bash")


def begin(dog: Watchdog, *events: Event) -> None:
    for event in (busy(), *events):
        assert [*dog.receive(event, 0.0)] == []


# --- quiet, but busy ----------------------------------------------------------------------------

Case = Callable[[Watchdog, random.Random], tuple[float, Callable[[float], Seen]]]


def build(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """A build of half an hour and more, all its output in a pipe's buffer."""
    begin(dog, tool())
    load = chance.uniform(0.2, 2.0)
    return chance.uniform(30, 60) * MINUTE, lambda _: Seen(below_cpu=load, below=4)


def download(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """A slow download by a command."""
    begin(dog, tool())
    rate = chance.uniform(2_000, 50_000)
    return chance.uniform(20, 90) * MINUTE, lambda _: Seen(below_bytes=rate, below_cpu=0.001, below=1)


def thinking(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """A model that thinks for long, with a keepalive now and then."""
    begin(dog)
    ping = chance.uniform(0, 30)
    return chance.uniform(5, 29) * MINUTE, lambda _: Seen(own_bytes=ping, own=chance.uniform(0, 0.2))


def retrying(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """A provider that is down, asked again after ever longer waits."""
    begin(dog, StatusChanged(session=S, status=Status.RETRY))
    return chance.uniform(30, 240) * MINUTE, lambda _: Seen(connected=False)


def sleeping(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """A command that only waits: sleep, a deployment, a lock."""
    begin(dog, tool())
    return chance.uniform(10, 58) * MINUTE, lambda _: Seen(below=1, connected=chance.random() < 0.5)


def polling(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """A loop in a shell that looks now and then."""
    begin(dog, tool())
    every = chance.uniform(30, 500)
    return 120 * MINUTE, lambda t: Seen(below=2, came=2 if t % every < SAMPLE_SECONDS else 0)


def asking(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """A question to a person who is at lunch."""
    begin(dog, PermissionAsked(session=S, request=RequestId("p"), permission="bash"))
    return chance.uniform(10, 600) * MINUTE, lambda _: Seen(connected=False)


def idle(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """Nothing to do all night."""
    begin(dog, StatusChanged(session=S, status=Status.IDLE))
    return chance.uniform(60, 600) * MINUTE, lambda _: Seen(connected=False)


def streaming(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """A slow model: a few words every some minutes."""
    begin(dog)
    every = chance.uniform(30, 500)
    said = TextDelta(session=S, message=MessageId("m"), part=PartId("p"), delta="word ")
    return 120 * MINUTE, lambda t: Seen(connected=False, says=[said] if t % every < SAMPLE_SECONDS else [])


def indexing(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """The agent itself reads a large tree."""
    begin(dog)
    return chance.uniform(20, 60) * MINUTE, lambda _: Seen(
        own=0.95, own_bytes=chance.uniform(5_000, 1e6), connected=False
    )


QUIET = [build, download, thinking, retrying, sleeping, polling, asking, idle, streaming, indexing]


@pytest.mark.parametrize("number", range(CASES))
@pytest.mark.parametrize("case", QUIET, ids=lambda case: case.__name__)
def test_quiet_but_busy(case: Case, number: int) -> None:
    dog = watchdog(HangAction.RESTART)
    seconds, world = case(dog, random.Random(number))
    assert live(dog, seconds, world) == []


# --- hung ---------------------------------------------------------------------------------------

Hang = Callable[[Watchdog, random.Random], tuple[float, Callable[[float], Seen]]]


def parked(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """Between two steps, with timers and a spinner that go on."""
    begin(dog)
    share = chance.uniform(0, 0.2)
    return WINDOW, lambda _: Seen(own=share, connected=False)


def dead_connection(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """The answer never comes."""
    begin(dog)
    return 3 * WINDOW, lambda _: Seen(own=chance.uniform(0, 0.1), own_bytes=chance.uniform(0, 50))


def lost_child(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """The command has ended, and the agent did not notice."""
    begin(dog, tool())
    share = chance.uniform(0, 0.2)
    return WINDOW, lambda t: Seen(own=share, connected=False, came=1 if t <= SAMPLE_SECONDS else 0)


def waiting_for_input(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """A command that asks a question nobody sees."""
    begin(dog, tool())
    return 6 * WINDOW, lambda _: Seen(below=1, below_cpu=chance.uniform(0, 0.02))


def spinning(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """A busy loop."""
    begin(dog)
    return 3 * WINDOW, lambda _: Seen(own=chance.uniform(0.8, 1.0), connected=False, own_bytes=0)


def after_the_tool(dog: Watchdog, chance: random.Random) -> tuple[float, Callable[[float], Seen]]:
    """The result was there, and no request followed."""
    begin(dog, tool(), ToolFinished(session=S, call=CallId("c"), tool="bash"))
    read = chance.uniform(0, 500)
    return WINDOW, lambda _: Seen(own_bytes=read, connected=False)


HANGS = [parked, dead_connection, lost_child, waiting_for_input, spinning, after_the_tool]


@pytest.mark.parametrize("number", range(CASES))
@pytest.mark.parametrize("case", HANGS, ids=lambda case: case.__name__)
def test_hung(case: Hang, number: int) -> None:
    dog = watchdog()
    window, world = case(dog, random.Random(number))
    effects = live(dog, 2 * window, world)
    (told,) = effects
    assert isinstance(told[1], Tell)
    assert told[1].topic == "agent.hung"
    assert window <= told[0] <= window + 60


# --- what is done -------------------------------------------------------------------------------


def hang(dog: Watchdog, minutes: float = 20) -> Iterator[Effect]:
    begin(dog)
    yield from (effect for _, effect in live(dog, minutes * MINUTE, lambda _: Seen(connected=False)))


def test_off() -> None:
    dog = watchdog(HangAction.OFF)
    assert not dog.attentive
    assert [*hang(dog)] == []


def test_interrupted_and_deaf() -> None:
    told, abort, again = hang(watchdog(HangAction.INTERRUPT))
    assert isinstance(told, Tell)
    assert isinstance(abort, Abort)
    assert isinstance(again, Tell)
    assert "react" in again.text


def test_interrupted_and_alive_again() -> None:
    dog = watchdog(HangAction.INTERRUPT)
    began = [*hang(dog, 10.5)]
    assert [type(effect) for effect in began] == [Tell, Abort]
    assert [*dog.receive(StatusChanged(session=S, status=Status.IDLE), 640.0)] == []
    assert live(dog, 3600, lambda _: Seen(connected=False), 640.0) == []


def test_restarted_where_that_is_possible() -> None:
    told, prompt = hang(watchdog(HangAction.RESTART, respawn=True))
    assert isinstance(told, Tell)
    assert isinstance(prompt, Prompt)
    assert [type(e) for e in hang(watchdog(HangAction.RESTART))] == [Tell, Abort, Tell]


def test_time_that_the_machine_slept_does_not_count() -> None:
    dog = watchdog()
    begin(dog)
    quiet = Seen(connected=False)
    assert live(dog, 5 * MINUTE, lambda _: quiet) == []
    assert live(dog, 8 * MINUTE, lambda _: quiet, start=8 * 60 * MINUTE) == []


def test_a_person_who_asks_for_the_status_is_no_sign_of_life() -> None:
    dog = watchdog()
    begin(dog)
    asked = Asked(session=S, request=RequestId("r"), operation="guard.status")
    found = live(dog, 20 * MINUTE, lambda _: Seen(connected=False, says=[asked]))
    assert len(found) == 1


def test_what_the_second_session_does_counts_for_the_run() -> None:
    dog = watchdog()
    begin(dog)
    said = TextDelta(session=SessionId("child"), message=MessageId("m"), part=PartId("p"), delta="x")
    assert live(dog, 60 * MINUTE, lambda _: Seen(connected=False, says=[said])) == []
