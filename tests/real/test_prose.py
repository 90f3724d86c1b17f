"""Loops of prose: the provider's connection, what the model reads next, and how the run ends."""

from collections.abc import Iterator

import msgspec
import pytest
from tests.real.conftest import NewWorld
from tests.real.harness import Result, World, trace

from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.script import Reply, Say, reply, say, turn

TAG = "[ANTI-LOOP STREAM]"
CONTINUED = r"^\[ANTI-LOOP STREAM\]"

CONTAINERS = (
    "Let me check whether the containers started. The compose file is valid; I will check their status. "
)
GERMAN = ("Ich aktualisiere die .env. ", "Ich aktualisiere README.md. ")


def on_and_on(text: str) -> Reply:
    """Streams until the agent hangs up."""
    return reply(Say(text="I begin. "), Say(text=text, times=None, pace=0.02, chunk=12))


def said(exchange: Exchange) -> list[str]:
    """The assistant's messages, as the model gets to read them."""
    return [message.text for message in exchange.request.messages if message.role == "assistant"]


class Played(msgspec.Struct):
    world: World
    result: Result


@pytest.fixture(scope="module")
def resumed(new_world: NewWorld) -> Iterator[Played]:
    """One loop, cut off and resumed, under an agent and a model that are not the default ones."""
    with new_world(
        [
            turn(reply(trace("step")), on_and_on(CONTAINERS), match="start the containers"),
            turn(reply(trace("resumed")), say("The containers run."), match=CONTINUED),
        ]
    ) as world:
        world.configure(agent={"careful": {"mode": "primary", "prompt": "You are the careful agent."}})
        command = (
            "opencode",
            "run",
            "--agent",
            "careful",
            "-m",
            "scripted/scripted-2",
            "start the containers",
        )
        yield Played(world, world.guard(*command).wait())


def test_the_stream_is_cut_off(resumed: Played) -> None:
    looping = resumed.world.model.chats()[1]
    assert looping.end is End.CLIENT_CLOSED
    assert looping.text.count(CONTAINERS) >= 3


def test_the_task_is_resumed(resumed: Played) -> None:
    assert resumed.result.code == 0, resumed.result
    assert resumed.world.count("resumed") == 1
    assert "The containers run." in resumed.result.out


def test_by_the_same_agent_and_model(resumed: Played) -> None:
    _, _, third, fourth = resumed.world.model.chats()
    for exchange in (third, fourth):
        assert "You are the careful agent." in exchange.request.system
        assert exchange.request.model == "scripted-2"
    assert len({e.session for e in resumed.world.model.chats()}) == 1


def test_the_model_does_not_read_its_own_loop(resumed: Played) -> None:
    continuation = resumed.world.model.chats()[2]
    assert continuation.request.user.startswith(TAG)
    assert continuation.request.mentions("start the containers")
    assert any("I begin." in text for text in said(continuation)), "what came before the loop stays"
    assert sum(text.count("Let me check whether") for text in said(continuation)) <= 1


def test_the_person_is_told(resumed: Played) -> None:
    assert "loopguard" in resumed.result.err
    assert "containers" not in resumed.result.err.replace("start the containers", "")


@pytest.fixture(scope="module")
def endless(new_world: NewWorld) -> Iterator[Played]:
    """A model that loops whatever it is told."""
    first, second = map(on_and_on, GERMAN)
    with new_world([turn(second, match=CONTINUED), turn(first)]) as world:
        yield Played(world, world.guard("opencode", "run", "update the documentation").wait())


def test_at_most_two_continuations_then_stopped(endless: Played) -> None:
    chats = endless.world.model.chats()
    assert [e.end for e in chats] == [End.CLIENT_CLOSED] * 3
    assert [e.request.user.startswith(TAG) for e in chats] == [False, True, True]
    assert endless.result.code == 80, endless.result


def test_german_sentences_with_points_inside_words(endless: Played) -> None:
    chats = endless.world.model.chats()
    assert chats[0].text.count(GERMAN[0]) >= 3
    assert chats[1].text.count(GERMAN[1]) >= 3


def test_stopping_says_why(endless: Played) -> None:
    assert "2" in endless.result.err.splitlines()[-1] or "continu" in endless.result.err
    assert "aktualisiere" not in endless.result.err


def test_without_recovery_the_run_stops_at_once(world: World) -> None:
    world.model.behave([turn(on_and_on(CONTAINERS))])
    result = world.guard("opencode", "run", "go", options=["--set", "guard.recovery.enabled=false"]).wait()
    assert result.code == 80
    assert len(world.model.chats()) == 1
