"""pi: loops, goals and the person's stop, on its screen, with ``-p``, ``--mode json`` and ``--mode rpc``."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.pty.terminal import Terminal
from tests.real.harness import Result, Started, World
from tests.real.installed import installed

from loopguard_cli.testing import pi
from loopguard_cli.testing.conversation import Request
from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.script import Call, Hold, Reply, Say, reply, say, turn

STARTING = 60
"""Seconds that pi may take to start on a busy machine."""

TASK = "^Do the task"
CUT_OFF = r"^\[ANTI-LOOP STREAM\]"
QUICK = ("--set", "goal.cooldown_seconds=0.1")
WAITING = "The build is still running and I will wait for it. "
ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"
BLOCKED = "I cannot go on: the repository asks for a password that only the user knows.\n[goal:blocked]"


class PiWorld(World):
    sandbox = pi.Sandbox


@pytest.fixture(scope="session")
def program() -> Path:
    return installed("pi")


@pytest.fixture
def world(program: Path) -> Iterator[PiWorld]:
    with PiWorld(program) as world:
        yield world


@pytest.fixture
def screen(world: PiWorld) -> Iterator[Terminal]:
    """A person at pi's own screen."""
    with world.guard_screen("pi", options=QUICK) as terminal:
        terminal.wait_for(pi.MODEL)
        terminal.send("/loop-guard status")
        terminal.wait_for("/loop-guard status")
        answered = "preset balanced"
        for _ in range(STARTING):
            terminal.send("\r")  # kept back until pi has started
            with suppress(TimeoutError):
                terminal.wait_for(answered, timeout=1.0)
                break
        assert answered in terminal.text, terminal.text
        yield terminal


def step(name: str) -> Call:
    """A call without output whose runs `World.count` counts."""
    return Call(tool="bash", args={"command": f"echo x >> $TRACES/{name}"})


def on_and_on() -> Reply:
    return reply(Say(text=WAITING, times=None, pace=0.02))


def run(world: World, *options: str, agent: Sequence[str] = ("-p", "Do the task.")) -> Result:
    return world.guard("pi", *agent, options=options).wait()


def users(world: World) -> list[str]:
    """The user messages that the model was sent, each once."""
    return list(dict.fromkeys(exchange.request.user for exchange in world.model.chats()))


def streaming(world: World) -> Exchange:
    """The first answer that the model has begun to send."""
    return world.model.wait_for(lambda chats: next((c for c in chats if c.text), None))


# --- loops of calls -----------------------------------------------------------------------------


def test_a_healthy_turn_passes_untouched(world: PiWorld) -> None:
    world.model.behave([turn(reply(step("a")), reply(step("b")), reply(step("a")), say("All good."))])
    result = run(world)
    assert (result.code, result.out) == (0, "All good.\n"), result
    assert (world.count("a"), world.count("b")) == (2, 1)
    assert len(world.model.chats()) == 4


@pytest.mark.story
def test_the_third_equal_call_is_not_executed_and_the_model_told_why(world: PiWorld) -> None:
    calls = [reply(step("again"))] * 3
    world.model.behave([turn(*calls, reply(step("other")), say("Went another way."), match=TASK)])
    result = run(world)
    assert (result.code, result.out) == (0, "Went another way.\n"), result
    assert (world.count("again"), world.count("other")) == (2, 1)
    assert "called 3 times with the same arguments" in world.model.chats()[3].request.results[-1]


def test_only_observed_nothing_is_stopped(world: PiWorld) -> None:
    world.model.behave([turn(*[reply(step("again"))] * 5, say("Done."))])
    result = run(world, "--mode", "observe")
    assert (result.code, world.count("again")) == (0, 5), result


# --- loops of prose -----------------------------------------------------------------------------


@pytest.mark.story
def test_a_loop_of_prose_is_cut_off_while_it_streams_and_the_task_goes_on(world: PiWorld) -> None:
    world.model.behave([turn(reply(step("on")), say("Went on."), match=CUT_OFF), turn(on_and_on())])
    result = run(world)
    assert (result.code, result.out) == (0, "Went on.\n"), result
    looping, resumed, *_ = world.model.chats()
    assert looping.end is End.CLIENT_CLOSED
    assert not resumed.request.mentions(WAITING.strip()), "it does not read its own loop again"
    assert world.count("on") == 1


def test_at_most_two_continuations_then_stopped(world: PiWorld) -> None:
    world.model.behave([turn(on_and_on())])
    result = run(world, agent=("-p", "Do the task.", "And this one."))
    assert [chat.end for chat in world.model.chats()] == [End.CLIENT_CLOSED] * 3
    assert "And this one." not in users(world), "a run that has ended begins nothing more"
    assert result.code == 80, result


def test_several_prompts_are_all_answered(world: PiWorld) -> None:
    world.model.behave([turn(say("The first."), match="^One"), turn(say("The second."), match="^Two")])
    result = run(world, agent=("-p", "One.", "Two."))
    assert (result.code, result.out) == (0, "The second.\n"), result


# --- goals --------------------------------------------------------------------------------------


def pursue(
    world: World, *replies: Reply, options: Sequence[str] = (), agent: Sequence[str] = ("-p",)
) -> Result:
    """A goal; the replies are given one per user message."""

    def behave(_: Request) -> Reply:
        return replies[min(len(users(world)), len(replies)) - 1]

    world.model.behave(behave)
    return run(world, "--goal", "make the tests pass", *QUICK, *options, agent=agent)


@pytest.mark.story
def test_a_goal_is_continued_until_it_is_achieved(world: PiWorld) -> None:
    agent = ("-p", "Start the work.")
    result = pursue(world, say("One part."), say("Another part."), say(ACHIEVED), agent=agent)
    assert result.code == 0, result
    first, *continued = users(world)
    assert first == "Start the work."
    assert len(continued) == 2
    assert all("make the tests pass" in user for user in continued)


def test_a_goal_is_prompt_enough(world: PiWorld) -> None:
    result = pursue(world, say(ACHIEVED))
    assert result.code == 0, result
    (prompt,) = users(world)
    assert "make the tests pass" in prompt


@pytest.mark.story
def test_a_goal_that_is_blocked_ends_the_run(world: PiWorld) -> None:
    result = pursue(world, say(BLOCKED))
    assert (result.code, len(world.model.chats())) == (81, 1), result


@pytest.mark.story
def test_a_goal_ends_at_its_limit_with_one_last_prompt(world: PiWorld) -> None:
    parts = [say(f"Part {n} is done.") for n in "abcdef"]
    result = pursue(world, *parts, options=("--max-turns", "2"), agent=("-p", "Start."))
    assert result.code == 82, result
    assert [user.split("\n")[0] for user in users(world)[1:]] == [
        "<goal_continuation>",
        "<goal_continuation>",
        "<goal_handoff>",
    ]


# --- what a program reads -----------------------------------------------------------------------


def test_json_stays_one_stream_of_pi_over_a_continuation(world: PiWorld) -> None:
    world.model.behave([turn(say("Went on."), match=CUT_OFF), turn(on_and_on())])
    result = run(world, agent=("--mode", "json", "Do the task."))
    assert result.code == 0, result
    events = [json.loads(line) for line in result.out.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds.count("session") == 1
    assert kinds[-1] == "agent_settled"
    assert [e["aborted"] for e in events if e["type"] == "agent_settled"] == [True, False]


def test_json_is_guarded_and_a_goal_pursued_in_it(world: PiWorld) -> None:
    world.model.behave(
        [
            turn(say(ACHIEVED), match="<goal_continuation>"),
            turn(*[reply(step("again"))] * 3, say("One part.")),
        ]
    )
    result = run(world, "--goal", "make the tests pass", *QUICK, agent=("--mode", "json", "Do the task."))
    assert (result.code, world.count("again")) == (0, 2), result
    events = [json.loads(line) for line in result.out.splitlines()]
    assert [e["aborted"] for e in events if e["type"] == "agent_settled"] == [False, False]


def test_an_interrupt_ends_a_run_that_prints_json(world: PiWorld) -> None:
    world.model.behave([turn(reply(Say(text="Beginning. "), Hold()))])
    started = world.guard("pi", "--mode", "json", "Go.", options=("--goal", "make the tests pass", *QUICK))
    streaming(world)
    started.signal(signal.SIGINT)
    assert started.wait().code == 130
    assert len(world.model.chats()) == 1


@contextmanager
def rpc(world: World, *options: str) -> Iterator[Client]:
    client = Client(
        world.start(*world.guard_command("pi", "--mode", "rpc", options=options), stdin="", more=True)
    )
    yield client
    client.started.hang_up()
    assert client.started.wait().code == 0


class Client:
    """A program that talks to pi."""

    def __init__(self, started: Started) -> None:
        self.started = started

    def send(self, **command: str) -> None:
        assert self.started.process.stdin
        self.started.process.stdin.write(json.dumps({"id": command["type"], **command}) + "\n")
        self.started.process.stdin.flush()

    def wait_for(self, text: str) -> None:
        self.started.wait_for(text, stream="out")

    def answers(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.started.out.splitlines()]


def test_rpc_is_guarded_and_its_client_goes_on_talking(world: PiWorld) -> None:
    world.model.behave(
        [turn(say("Still here."), match="and now"), turn(*[reply(step("again"))] * 3, say("Done."))]
    )
    with rpc(world) as client:
        client.send(type="prompt", message="Do the task.")
        client.wait_for('"agent_settled"')
        client.send(type="prompt", message="and now")
        client.wait_for("Still here.")
        assert all(answer["success"] for answer in client.answers() if answer["type"] == "response")
    assert world.count("again") == 2


def test_over_rpc_a_loop_of_prose_is_cut_off_and_continued(world: PiWorld) -> None:
    world.model.behave([turn(reply(step("on")), say("Went on."), match=CUT_OFF), turn(on_and_on())])
    with rpc(world) as client:
        client.send(type="prompt", message="Do the task.")
        client.wait_for("Went on.")
    assert world.model.chats()[0].end is End.CLIENT_CLOSED
    assert world.count("on") == 1


def test_over_rpc_a_goal_is_pursued_until_it_is_achieved(world: PiWorld) -> None:
    world.model.behave([turn(say(ACHIEVED), match="<goal_continuation>"), turn(say("One part is done."))])
    with rpc(world, "--goal", "make the tests pass", *QUICK) as client:
        client.send(type="prompt", message="Start the work.")
        client.wait_for("12 of 12")
        world.wait_until(lambda: "achieved" in world.ask("goal", "status").out)
    assert len(users(world)) == 2


def test_over_rpc_an_abort_of_the_client_stops_the_goal_and_nothing_more_is_sent(world: PiWorld) -> None:
    world.model.behave([turn(reply(Say(text="Beginning. "), Hold()))])
    with rpc(world, "--goal", "make the tests pass", *QUICK) as client:
        client.send(type="prompt", message="Start the work.")
        first = streaming(world)
        client.send(type="abort")
        world.model.wait_for(lambda _: first.end is End.CLIENT_CLOSED)
        world.wait_until(lambda: "paused" in world.ask("goal", "status").out)
    assert len(world.model.chats()) == 1


# --- the person ---------------------------------------------------------------------------------


@pytest.mark.story
def test_an_interrupt_ends_a_one_shot_run_and_nothing_more_is_sent(world: PiWorld) -> None:
    world.model.behave([turn(reply(Say(text="Beginning. "), Hold()))])
    started = world.guard("pi", "-p", "Go.", options=("--goal", "make the tests pass", *QUICK))
    streaming(world)
    started.signal(signal.SIGINT)
    result = started.wait()
    assert result.code == 130, result
    assert len(world.model.chats()) == 1


@pytest.mark.story
def test_on_its_screen_a_third_equal_call_is_not_executed(world: PiWorld, screen: Terminal) -> None:
    calls = [reply(step("again"))] * 3
    world.model.behave([turn(*calls, reply(step("other")), say("Went another way."))])
    screen.send("do the task\r")
    screen.wait_for("Went another way.")
    assert (world.count("again"), world.count("other")) == (2, 1)


@pytest.mark.story
def test_on_its_screen_a_loop_of_prose_is_cut_off_and_continued(world: PiWorld, screen: Terminal) -> None:
    world.model.behave([turn(reply(step("on")), say("Went on."), match=CUT_OFF), turn(on_and_on())])
    screen.send("do the task\r")
    screen.wait_for("Went on.")
    assert world.model.chats()[0].end is End.CLIENT_CLOSED
    assert world.count("on") == 1


@pytest.mark.story
def test_a_goal_typed_in_is_pursued_and_does_not_reach_the_model_as_typed(
    world: PiWorld, screen: Terminal
) -> None:
    replies = (say("One part is done."), say(ACHIEVED))
    world.model.behave(lambda _: replies[min(len(users(world)), 2) - 1])
    screen.send("/goal make the tests pass\r")
    world.wait_until(lambda: "achieved" in world.ask("goal", "status").out)
    assert len(users(world)) == 2
    assert not [user for user in users(world) if user.startswith("/")]


@pytest.mark.story
def test_escape_stops_the_goal_and_nothing_more_is_sent(world: PiWorld, screen: Terminal) -> None:
    world.model.behave(
        [turn(say("Still here."), match="and now"), turn(reply(Say(text="Beginning. "), Hold()))]
    )
    screen.send("/goal make the tests pass\r")
    first = streaming(world)
    screen.send("\x1b")
    world.model.wait_for(lambda _: first.end is End.CLIENT_CLOSED)
    world.wait_until(lambda: "paused" in world.ask("goal", "status").out)
    screen.send("and now\r")
    screen.wait_for("Still here.")
    assert len(world.model.chats()) == 2


def test_a_message_pauses_the_goal_at_once_and_is_answered(world: PiWorld, screen: Terminal) -> None:
    working = reply(Say(text="I work on it."), Hold())
    world.model.behave([turn(say("As you wish."), match="^do this rather"), turn(working)])
    screen.send("/goal make the tests pass\r")
    first = streaming(world)
    screen.send("do this rather\r")
    screen.wait_for("As you wish.")
    assert first.end is End.CLIENT_CLOSED
    assert "paused" in world.ask("goal", "status").out
    assert users(world)[1:] == ["do this rather"]


def test_a_message_into_a_turn_of_the_person_is_no_more_than_that(world: PiWorld, screen: Terminal) -> None:
    begun = reply(Say(text="Beginning. "), Hold(name="on"), step("a"))
    world.model.behave([turn(say("Both."), match="^and this"), turn(begun)])
    screen.send("do this\r")
    streaming(world)
    screen.send("and this\r")
    screen.wait_for("Steering")
    world.model.release("on")
    screen.wait_for("Both.")
    assert world.count("a") == 1


def test_a_new_session_is_guarded_as_well(world: PiWorld, screen: Terminal) -> None:
    world.model.behave([turn(*[reply(step("again"))] * 3, say("Done."), match="again"), turn(say("Hello."))])
    screen.send("hello\r")
    screen.wait_for("Hello.")
    screen.send("/new\r")
    screen.wait_for(lambda text: "Hello." not in text)
    screen.send("again\r")
    screen.wait_for("Done.")
    assert world.count("again") == 2


# --- without us ---------------------------------------------------------------------------------


def test_pi_goes_on_unguarded_when_the_supervisor_is_killed(world: PiWorld) -> None:
    world.model.behave([turn(reply(Say(text="Beginning. "), Hold(name="on")), say("unused"))])
    started = world.guard("pi", "-p", "Go.")
    streaming(world)
    world.supervisor().send_signal(signal.SIGKILL)
    world.model.release("on")
    world.wait_until(lambda: not world.named("pi"))
    started.close()
    assert "Beginning." in started.out
