"""Claude Code: loops, goals and the person's stop, in print mode and on its screen."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from tests.pty.terminal import Terminal
from tests.real.harness import Result, World
from tests.real.installed import installed
from tests.real.test_goals import ACHIEVED, BLOCKED, CONTINUED, HANDED_OFF, answers, prompts

from loopguard_cli.testing import claude
from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.script import Call, Reply, Say, reply, say, turn

TASK = "Do the task"
CUT_OFF = r"\[ANTI-LOOP STREAM\]"
WAITING = "The build is still running and I will wait for it. "
LEAVING = 20
"""How often ^C may be needed, on a busy machine."""

GOAL = ("--goal", "make the tests pass", "--set", "goal.cooldown_seconds=0.1")


class ClaudeWorld(World):
    sandbox = claude.Sandbox


@pytest.fixture(scope="session")
def program() -> Path:
    return installed("claude")


@pytest.fixture
def world(program: Path) -> Iterator[ClaudeWorld]:
    with ClaudeWorld(program) as world:
        yield world


def step(name: str) -> Call:
    """A call without output whose runs `World.count` counts."""
    args = {"command": f"echo x >> $TRACES/{name}", "description": "Does one step"}
    return Call(tool="Bash", args=args)


def on_and_on() -> Reply:
    return reply(Say(text=WAITING, times=None, pace=0.02))


def run(world: World, *options: str, agent: Sequence[str] = (), stdin: str | None = None) -> Result:
    return world.guard("claude", "-p", "Do the task.", *agent, options=options, stdin=stdin).wait()


def streaming(world: World) -> Exchange:
    """The first answer that the model has begun to send."""
    (first, *_) = world.model.wait_for(lambda chats: [chat for chat in chats if chat.text])
    return first


# --- print mode: loops --------------------------------------------------------------------------


def test_a_healthy_turn_passes_untouched(world: ClaudeWorld) -> None:
    world.model.behave([turn(reply(step("a")), reply(step("b")), reply(step("a")), say("All good."))])
    result = run(world, stdin="It is urgent.\n")
    assert (result.code, result.out) == (0, "All good.\n"), result
    assert (world.count("a"), world.count("b")) == (2, 1)
    first, *others = world.model.chats()
    assert first.request.user == "Do the task.\nIt is urgent."
    assert len(others) == 3


def test_the_third_equal_call_is_not_executed_and_the_model_told_why(world: ClaudeWorld) -> None:
    calls = [reply(step("again"))] * 3
    world.model.behave([turn(*calls, reply(step("other")), say("Went another way."), match=TASK)])
    result = run(world)
    assert (result.code, result.out) == (0, "Went another way.\n"), result
    assert (world.count("again"), world.count("other")) == (2, 1)
    assert "called 3 times with the same arguments" in world.model.chats()[3].request.results[-1]


def test_a_loop_of_prose_is_cut_off_while_it_streams_and_continued(world: ClaudeWorld) -> None:
    world.model.behave(
        [turn(on_and_on(), match=TASK), turn(reply(step("resumed")), say("It is built."), match=CUT_OFF)]
    )
    result = run(world)
    assert (result.code, result.out) == (0, "It is built.\n"), result
    assert world.count("resumed") == 1
    assert [exchange.end for exchange in world.model.chats()][:2] == [End.CLIENT_CLOSED, End.COMPLETED]


def test_the_allowance_for_continuations_is_kept(world: ClaudeWorld) -> None:
    world.model.behave([turn(on_and_on())])
    result = run(world)
    assert result.code == 80, result
    assert [exchange.end for exchange in world.model.chats()] == [End.CLIENT_CLOSED] * 3


def test_without_hooks_the_turn_is_aborted_before_the_call_runs_a_fourth_time(world: ClaudeWorld) -> None:
    world.model.behave(
        [turn(*[reply(step("again"))] * 9, match=TASK), turn(say("Stopped."), match="ANTI-LOOP")]
    )
    result = run(world, agent=["--bare"])
    assert (result.code, result.out) == (0, "Stopped.\n"), result
    assert world.count("again") <= 3
    assert "no gate" in result.err


# --- print mode: what is printed ----------------------------------------------------------------


def test_json_is_one_object_however_often_the_run_was_continued(world: ClaudeWorld) -> None:
    world.model.behave([turn(on_and_on(), match=TASK), turn(say("It is built."), match=CUT_OFF)])
    result = run(world, agent=["--output-format", "json"])
    assert json.loads(result.out)["result"] == "It is built."


def test_a_stream_holds_what_was_asked_for_and_nothing_of_ours(world: ClaudeWorld) -> None:
    world.model.behave([turn(reply(Say(text="Look: "), step("a")), say("Done."))])
    result = run(world, agent=["--output-format", "stream-json", "--verbose"])
    kinds = [json.loads(line)["type"] for line in result.out.splitlines()]
    assert kinds == ["system", "assistant", "assistant", "user", "assistant", "result"]


# --- print mode: goals --------------------------------------------------------------------------

PARTS: dict[str, tuple[list[list[Reply]], list[str], int, list[str]]] = {
    "achieved": (
        [
            [reply(step("a")), say("One part is done.")],
            [reply(step("b")), say("The rest is done; now to verify.")],
            [say(ACHIEVED)],
        ],
        [],
        0,
        [CONTINUED, CONTINUED],
    ),
    "blocked": ([[say(BLOCKED)]], [], 81, []),
    "limit": (
        [[reply(step(name)), say(f"Part {name} is done.")] for name in "abc"],
        ["--max-turns", "1"],
        82,
        [CONTINUED, HANDED_OFF],
    ),
}


@pytest.mark.parametrize("ending", PARTS)
def test_a_goal_is_pursued_until_it_has_ended(world: ClaudeWorld, ending: str) -> None:
    behaviour, options, code, expected = PARTS[ending]
    world.model.behave(answers(*behaviour))
    result = run(world, *GOAL, *options)
    assert result.code == code, result
    sent = [exchange.request.user for exchange in prompts(world)]
    assert sent[0] == "Do the task."
    assert [user.split("\n")[0] for user in sent[1:]] == expected


def test_after_an_interrupt_nothing_more_is_sent(world: ClaudeWorld) -> None:
    world.model.behave([turn(reply(Say(text="tick. tack. tock. ", pace=60.0)))])
    started = world.guard("claude", "-p", "Do the task.", options=GOAL)
    streaming(world)
    started.signal(signal.SIGINT)
    assert started.wait().code == 128 + signal.SIGINT
    (only,) = world.model.chats()
    assert only.end is End.CLIENT_CLOSED


# --- print mode, driven by another program ------------------------------------------------------


def test_a_driver_of_its_own_keeps_its_streams_and_the_gate_is_asked(world: ClaudeWorld) -> None:
    world.model.behave([turn(*[reply(step("again"))] * 3, say("Went another way."))])
    message = {"type": "user", "message": {"role": "user", "content": "Do the task."}}
    streams = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    result = world.guard("claude", "-p", *streams, stdin=json.dumps(message) + "\n").wait()
    assert world.count("again") == 2, result
    assert json.loads(result.out.splitlines()[-1])["result"] == "Went another way."


def test_hooks_that_are_switched_off_are_noticed(world: ClaudeWorld) -> None:
    world.configure(disableAllHooks=True)
    world.model.behave([turn(*[reply(step("again"))] * 3, say("Done."))])
    message = {"type": "user", "message": {"role": "user", "content": "Do the task."}}
    streams = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    result = world.guard("claude", "-p", *streams, stdin=json.dumps(message) + "\n").wait()
    assert world.count("again") == 3
    assert "was not guarded" in result.err


# --- the screen ---------------------------------------------------------------------------------


@pytest.fixture
def screen(world: ClaudeWorld) -> Iterator[Terminal]:
    with world.guard_screen("claude", options=GOAL[2:]) as terminal:
        terminal.wait_for("for shortcuts")
        yield terminal
        leave(terminal)


def enter(terminal: Terminal, text: str) -> None:
    terminal.send(text)
    terminal.wait_for(text)
    terminal.send("\r")


def leave(terminal: Terminal) -> None:
    """^C twice; the first may only end what still runs."""
    for _ in range(LEAVING):
        terminal.send("\x03")
        with suppress(TimeoutError):
            terminal.wait(timeout=0.4)
            return
    terminal.wait()


def sent(world: World) -> list[str]:
    return [exchange.request.user for exchange in prompts(world)]


def test_screen_refuses_the_third_equal_call_alone(world: ClaudeWorld, screen: Terminal) -> None:
    calls = [reply(step("again"))] * 3
    world.model.behave([turn(*calls, reply(step("other")), say("Went another way."), match=TASK)])
    enter(screen, "Do the task.")
    screen.wait_for("Went another way.")
    assert (world.count("again"), world.count("other")) == (2, 1)
    assert "called 3 times with the same arguments" in world.model.chats()[3].request.results[-1]
    assert "Bash was called 3 times" in screen.text, "the person sees why"


def test_screen_continues_after_a_loop_of_prose_within_the_allowance(
    world: ClaudeWorld, screen: Terminal
) -> None:
    world.model.behave([turn(say(WAITING * 6))])
    enter(screen, "Do the task.")
    world.model.wait_for(lambda chats: len(chats) == 3)
    enter(screen, "/loopguard:goal status")
    screen.wait_for("blocked by hook")
    first, *continued = [exchange.request for exchange in world.model.chats()]
    assert first.user == "Do the task."
    assert len(continued) == 2
    assert all("[ANTI-LOOP STREAM]" in request.user for request in continued)


def test_screen_interrupts_a_loop_beside_a_running_call(world: ClaudeWorld, screen: Terminal) -> None:
    forever = {"command": "until [ -e $TRACES/never ]; do sleep 0.1; done", "description": "Waits"}
    slow = Call(tool="Bash", args=forever)
    world.model.behave(
        [turn(reply(Say(text=WAITING * 6), slow), match=TASK), turn(say("It is built."), match=CUT_OFF)]
    )
    enter(screen, "Do the task.")
    screen.wait_for("It is built.")
    assert len(world.model.chats()) == 2
    assert "ANTI-LOOP STREAM" in world.model.chats()[1].request.user


def test_screen_pursues_a_goal_that_is_set_in_it(world: ClaudeWorld, screen: Terminal) -> None:
    world.model.behave(
        answers([reply(step("a")), say("One part is done.")], [say("Now to verify.")], [say(ACHIEVED)])
    )
    enter(screen, "/loopguard:goal make the tests pass")
    screen.wait_for("12 of 12 tests pass")
    assert world.count("a") == 1
    users = sent(world)
    assert len(users) == 3
    assert all(CONTINUED in user and "make the tests pass" in user for user in users)


def test_screen_sends_nothing_more_after_escape(world: ClaudeWorld, screen: Terminal) -> None:
    world.model.behave([turn(reply(Say(text="Word upon word. "), Say(text="More of it. ", pace=60.0)))])
    enter(screen, "/loopguard:goal make the tests pass")
    streaming(world)
    screen.wait_for("esc to interrupt")
    screen.send("\x1b")
    screen.wait_for("Interrupted")
    world.wait_until(lambda: "paused" in world.ask("goal", "status").out)
    (only,) = world.model.chats()
    assert only.end is End.CLIENT_CLOSED
