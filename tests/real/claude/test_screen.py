"""Interactive Claude Code on the person's own terminal."""

from __future__ import annotations

import pytest
from tests.pty.terminal import Terminal
from tests.real.claude.world import CUT_OFF, TASK, WAITING, ClaudeWorld, enter, leave, run, step
from tests.real.test_goals import ACHIEVED, CONTINUED, answers, prompts

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Call, Say, reply, say, turn

CAP = 3
"""So often Claude Code lets a Stop hook go on without a tool call."""
ROUNDS = 6


def sent(world: ClaudeWorld) -> list[str]:
    return [exchange.request.user for exchange in prompts(world)]


@pytest.mark.story
def test_it_refuses_the_third_equal_call_alone(world: ClaudeWorld, screen: Terminal) -> None:
    calls = [reply(step("again"))] * 3
    world.model.behave([turn(*calls, reply(step("other")), say("Went another way."), match=TASK)])
    enter(screen, "Do the task.")
    screen.wait_for("Went another way.")
    assert (world.count("again"), world.count("other")) == (2, 1)
    assert "called 3 times with the same arguments" in world.model.chats()[3].request.results[-1]
    assert "Bash was called 3 times" in screen.text, "the person sees why"


def test_it_interrupts_calls_that_no_hook_is_asked_about(world: ClaudeWorld, screen: Terminal) -> None:
    unknown = reply(Say(pace=0.5, text="Looking."), Call(tool="ListDirectory", args={"path": "."}))
    world.model.behave([turn(say("Went another way."), match="ANTI-LOOP"), turn(*[unknown] * 30, match=TASK)])
    enter(screen, "Do the task.")
    screen.wait_for("Went another way.")
    assert len(world.model.chats()) < 30


@pytest.mark.story
def test_it_continues_after_a_loop_of_prose_within_the_allowance(
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


def test_it_interrupts_a_loop_beside_a_running_call(world: ClaudeWorld, screen: Terminal) -> None:
    slow = run("until [ -e $TRACES/never ]; do sleep 0.1; done")
    world.model.behave(
        [turn(reply(Say(text=WAITING * 6), slow), match=TASK), turn(say("It is built."), match=CUT_OFF)]
    )
    enter(screen, "Do the task.")
    screen.wait_for("It is built.")
    assert len(world.model.chats()) == 2
    assert "ANTI-LOOP STREAM" in world.model.chats()[1].request.user


@pytest.mark.story
def test_it_pursues_a_goal_that_is_set_in_it(world: ClaudeWorld, screen: Terminal) -> None:
    world.model.behave(
        answers([reply(step("a")), say("One part is done.")], [say("Now to verify.")], [say(ACHIEVED)])
    )
    enter(screen, "/loopguard:goal make the tests pass")
    screen.wait_for("12 of 12 tests pass")
    assert world.count("a") == 1
    users = sent(world)
    assert len(users) == 3
    assert all(CONTINUED in user and "make the tests pass" in user for user in users)


@pytest.mark.story
def test_it_sends_nothing_more_after_escape(world: ClaudeWorld, screen: Terminal) -> None:
    world.model.behave([turn(reply(Say(text="Word upon word. "), Say(text="More of it. ", pace=60.0)))])
    enter(screen, "/loopguard:goal make the tests pass")
    world.streaming()
    screen.wait_for("esc to interrupt")
    screen.send("\x1b")
    screen.wait_for("Interrupted")
    world.wait_until(lambda: "paused" in world.ask("goal", "status").out)
    (only,) = world.model.chats()
    assert only.end is End.CLIENT_CLOSED


def test_a_goal_from_outside_is_pushed_into_the_idle_session_and_pursued_beyond_the_cap_of_hooks(
    world: ClaudeWorld,
) -> None:
    parts = [say(f"Part {number} is done.") for number in range(ROUNDS)]
    world.model.behave(answers(*[[part] for part in [say("Hello."), *parts, say(ACHIEVED)]]))
    talking = ("--no-tool-turns", "99", "--no-progress-turns", "99", "--cooldown-ms", "1")
    with world.tui(env={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": str(CAP)}) as screen:
        enter(screen, "Do the task.")
        screen.wait_for("Hello.")
        world.wait_until(lambda: "idle" in world.ask("status").out)
        asked = world.ask("goal", "set", "make the tests pass", *talking)
        assert asked.code == 0, asked
        screen.wait_for("12 of 12 tests pass", timeout=120)
        leave(screen)
    first, *continued = sent(world)
    assert first == "Do the task."
    assert len(continued) == ROUNDS + 1
    assert all(CONTINUED in user for user in continued)


def test_the_terminal_is_left_as_claude_code_itself_leaves_it(world: ClaudeWorld) -> None:
    left = []
    for terminal in (world.screen("claude"), world.guard_screen("claude")):
        with terminal:
            terminal.wait_for("for shortcuts")
            leave(terminal)
            left.append(terminal.changed_modes)
    assert left[1] == left[0]


def test_a_folder_that_is_not_trusted_is_asked_about_first_and_guarded_from_then_on(
    world: ClaudeWorld,
) -> None:
    world.distrust()
    world.model.behave([turn(*[reply(step("again"))] * 3, say("Went another way."))])
    notices = world.traces / "notices"
    notify = f"notify.command={world.script('notify', f'cat >> {notices}')}"
    with world.guard_screen("claude", options=("--set", notify)) as terminal:
        terminal.wait_for("trust this folder")
        world.wait_until(lambda: notices.exists() and "agent.unguarded" in notices.read_text())
        world.wait_until(lambda: "the agent is not guarded" in world.ask("status").out)
        terminal.send("\x1b[B")
        terminal.wait_for("\u276f Yes")
        terminal.send("\r")
        terminal.wait_for("for shortcuts")
        enter(terminal, "Do the task.")
        terminal.wait_for("Went another way.")
        assert "the agent is not guarded" not in world.ask("status").out
        leave(terminal)
    assert world.count("again") == 2
