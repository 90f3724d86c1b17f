"""``opencode acp``: loops, goals and the person's stop, through the Agent Client Protocol alone."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from tests.pty.terminal import Terminal
from tests.real.harness import Result, World, trace

from loopguard_cli.testing.conversation import Request
from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.script import Hold, Reply, Say, Wait, reply, say, turn

ACP = ("opencode", "acp")
TASK = "^Do the task"
BLOCKED_CALL = r"^\[ANTI-LOOP\]"
CUT_OFF = r"^\[ANTI-LOOP STREAM\]"
ASKING = {"bash": "ask", "edit": "ask"}
THINKING = 1.0
"""Seconds that a model takes for an answer, where an abort has to come before the next call."""
WAITING = "The build is still running and I will wait for it. "


def drive(world: World, *options: str, prompt: str = "Do the task.") -> Result:
    """One prompt from a pipe; whatever the agent asks is allowed."""
    options = ("--agent", "acp", "--permissions", "allow", *options)
    return world.guard(*ACP, options=options, stdin=prompt).wait()


def users(world: World) -> list[str]:
    """The user messages that the model was sent, each once."""
    return list(dict.fromkeys(exchange.request.user for exchange in world.model.chats()))


def on_and_on() -> Reply:
    return reply(Say(text=WAITING, times=None, pace=0.02))


@pytest.fixture
def console(world: World) -> Iterator[Terminal]:
    """A person at the console of ``opencode acp``."""
    with world.guard_screen(*ACP, options=("--agent", "acp")) as terminal:
        terminal.wait_for("OpenCode 1.")
        yield terminal


# --- loops of calls -----------------------------------------------------------------------------


def test_a_healthy_turn_passes_untouched(world: World) -> None:
    world.model.behave([turn(reply(trace("a")), reply(trace("b")), reply(trace("a")), say("All good."))])
    result = drive(world)
    assert (result.code, result.out) == (0, "All good.\n"), result
    assert (world.count("a"), world.count("b")) == (2, 1)
    assert len(world.model.chats()) == 4


def test_where_it_asks_the_third_equal_call_is_refused_and_told_why(world: World) -> None:
    world.configure(permission=ASKING)
    world.model.behave(
        [
            turn(reply(trace("other")), say("Went another way."), match=BLOCKED_CALL),
            turn(*[reply(trace("again"))] * 5, match=TASK),
        ]
    )
    result = drive(world)
    assert result.code == 0, result
    assert (world.count("again"), world.count("other")) == (2, 1)
    assert result.out == "Went another way.\n"
    refused = users(world)[1]
    assert "called 3 times with the same arguments" in refused
    assert "[ANTI-LOOP]" in result.err, "the person sees what was sent in their place"


def test_where_it_does_not_ask_the_turn_is_cut_off_before_a_fourth(world: World) -> None:
    world.model.behave(
        [
            turn(reply(trace("other")), say("Went another way."), match=CUT_OFF),
            turn(*[reply(Wait(seconds=THINKING), trace("again"))] * 9, match=TASK),
        ]
    )
    result = drive(world)
    assert result.code == 0, result
    assert world.count("again") <= 3
    assert world.count("other") == 1
    assert "no gate" in result.err, "that a block became an abort is said"


def test_only_observed_nothing_is_stopped(world: World) -> None:
    world.model.behave([turn(*[reply(trace("again"))] * 5, say("Done."))])
    result = drive(world, "--mode", "observe")
    assert (result.code, world.count("again")) == (0, 5), result
    assert len(users(world)) == 1


# --- loops of prose -----------------------------------------------------------------------------


def test_a_loop_of_prose_is_cut_off_while_it_streams_and_the_task_goes_on(world: World) -> None:
    world.model.behave([turn(reply(trace("on")), say("Went on."), match=CUT_OFF), turn(on_and_on())])
    result = drive(world)
    assert result.code == 0, result
    looping, *_ = world.model.chats()
    assert looping.end is End.CLIENT_CLOSED
    assert world.count("on") == 1
    assert result.out.endswith("Went on.\n")


def test_at_most_two_continuations_then_stopped(world: World) -> None:
    world.model.behave([turn(on_and_on())])
    result = drive(world)
    chats = world.model.chats()
    assert [chat.end for chat in chats] == [End.CLIENT_CLOSED] * 3
    assert len(users(world)) == 2, "one kind of continuation, sent twice"
    assert result.code == 80, result


# --- goals --------------------------------------------------------------------------------------

ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"
BLOCKED = "I cannot go on: the repository asks for a password that only the user knows.\n[goal:blocked]"


def pursue(world: World, *replies: Reply, options: tuple[str, ...] = ()) -> Result:
    """A goal; the replies are given one per user message."""

    def behave(_: Request) -> Reply:
        seen = users(world)
        return replies[min(len(seen), len(replies)) - 1]

    world.model.behave(behave)
    quick = ("--set", "goal.cooldown_seconds=0.1")
    return drive(world, "--goal", "make the tests pass", *quick, *options, prompt="Start the work.")


def test_a_goal_is_continued_until_it_is_achieved(world: World) -> None:
    result = pursue(world, say("One part is done."), say("Another part is done."), say(ACHIEVED))
    assert result.code == 0, result
    first, *continued = users(world)
    assert "Start the work" in first
    assert len(continued) == 2
    assert all("make the tests pass" in user for user in continued)


def test_a_goal_that_is_blocked_ends_the_run(world: World) -> None:
    result = pursue(world, say(BLOCKED))
    assert (result.code, len(world.model.chats())) == (81, 1), result


def test_a_goal_ends_at_its_limit_with_one_last_prompt(world: World) -> None:
    parts = [say(f"Part {n} is done.") for n in "abcdef"]
    result = pursue(world, *parts, options=("--max-turns", "2"))
    assert result.code == 82, result
    assert [user.split("\n")[0] for user in users(world)[1:]] == [
        "<goal_continuation>",
        "<goal_continuation>",
        "<goal_handoff>",
    ]


# --- the person ---------------------------------------------------------------------------------


def streaming(world: World) -> Exchange:
    """The first answer that the model has begun to send."""
    return world.model.wait_for(lambda chats: next((c for c in chats if c.text), None))


def test_an_interrupt_ends_a_run_from_a_pipe_and_nothing_more_is_sent(world: World) -> None:
    world.model.behave([turn(reply(Say(text="Beginning. "), Hold()))])
    started = world.guard(*ACP, options=("--agent", "acp", "--goal", "make the tests pass"), stdin="Go.")
    streaming(world)
    started.signal(signal.SIGINT)
    result = started.wait()
    assert result.code == 130, result
    assert len(world.model.chats()) == 1


def test_ctrl_c_at_the_console_stops_the_turn_and_the_session_lives_on(
    world: World, console: Terminal
) -> None:
    world.model.behave(
        [turn(say("Still here."), match="and now"), turn(reply(Say(text="Beginning. "), Hold()))]
    )
    console.send("do it\r")
    first = streaming(world)
    console.send("\x03")
    world.model.wait_for(lambda _: first.end is End.CLIENT_CLOSED)
    console.send("and now\r")
    console.wait_for("Still here.")
    assert len(world.model.chats()) == 2
    console.send("\x04")
    assert console.wait() == 0


def test_the_agent_does_not_survive_a_supervisor_that_is_killed(world: World) -> None:
    world.model.behave([turn(reply(Say(text="Beginning. "), Hold()))])
    started = world.guard(*ACP, options=("--agent", "acp"), stdin="Go.")
    streaming(world)
    started.signal(signal.SIGKILL)
    started.wait()
    world.check_survivors()


def test_a_question_at_the_console_is_the_persons_to_answer(world: World) -> None:
    world.configure(permission=ASKING)
    world.model.behave(
        [turn(reply(trace("asked")), say("It ran."), match="yes"), turn(reply(trace("asked")))]
    )
    with world.guard_screen(*ACP, options=("--agent", "acp")) as console:
        console.wait_for("OpenCode 1.")
        console.send("no, do not\r")
        console.wait_for("Reject")
        console.send("n\r")
        console.wait_for("rejected permission")
        assert world.count("asked") == 0
        console.send("yes, do\r")
        console.wait_for(lambda screen: screen.count("[y]") == 2)
        console.send("y\r")
        console.wait_for("It ran.")
        assert world.count("asked") == 1


def test_a_typed_command_reaches_the_guard_and_not_the_model(world: World, console: Terminal) -> None:
    console.send("/loop-guard observe\r")
    console.wait_for("observe")
    assert "observe" in world.ask("status", "--json").out
    console.send("/goal make the tests pass\r")
    console.wait_for("make the tests pass")
    assert not [user for user in users(world) if user.startswith("/")]
