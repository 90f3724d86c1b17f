"""Interactive ``codex`` on the person's own terminal."""

from __future__ import annotations

import pytest
from tests.real.codex.world import CUT_OFF, WAITING, CodexWorld, enter, run, trace

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Call, Hold, Say, reply, say, turn

TASK = "Do the task."
ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"


@pytest.mark.story
def test_the_third_equal_call_is_refused_on_the_persons_screen(world: CodexWorld) -> None:
    replies = [*[reply(trace("again"))] * 3, reply(trace("other")), say("Went another way.")]
    world.model.behave([turn(*replies)])
    with world.tui() as tui:
        enter(tui, TASK)
        tui.wait_for("Went another way.")
        assert "called 3 times with the same arguments" in tui.text
        tui.send("\x04")
        assert tui.wait() == 0
        assert "to go on: loopguard run -- codex resume" in tui.text
    assert (world.count("again"), world.count("other")) == (2, 1)
    (told,) = world.model.chats()[3].request.results
    assert "[ANTI-LOOP]" in told


def test_calls_of_a_tool_that_it_does_not_have_cost_the_turn(world: CodexWorld) -> None:
    unknown = reply(Say(text="Let me see.", pace=0.5), Call(tool="no_such_tool", args={"path": "."}))
    world.model.behave([turn(say("Went another way."), match=r"(?m)^\[ANTI-LOOP"), turn(*[unknown] * 30)])
    with world.tui() as tui:
        enter(tui, TASK)
        tui.wait_for("Went another way.")
        assert "no_such_tool was called" in tui.text
        tui.send("\x04")
        assert tui.wait() == 0


@pytest.mark.story
def test_a_loop_of_prose_is_cut_off_while_it_streams_and_the_task_goes_on(world: CodexWorld) -> None:
    on_and_on = reply(Say(text=WAITING, times=None, pace=0.02))
    world.model.behave([turn(reply(trace("on")), say("Went on."), match=CUT_OFF), turn(on_and_on)])
    with world.tui() as tui:
        enter(tui, TASK)
        tui.wait_for("Went on.")
    first = world.model.chats()[0]
    assert (first.end, world.count("on")) == (End.CLIENT_CLOSED, 1)


@pytest.mark.story
def test_a_goal_set_from_outside_is_continued_on_the_screen_until_it_is_achieved(world: CodexWorld) -> None:
    replies = [say("One part is done."), say("Another part is done."), say(ACHIEVED)]
    world.model.behave(lambda _: replies[min(len(world.users()), len(replies)) - 1])
    with world.tui("--set", "goal.cooldown_seconds=0.1") as tui:
        enter(tui, TASK)
        tui.wait_for("One part is done.")
        asked = world.ask("goal", "set", "make the tests pass")
        assert asked.code == 0, asked
        tui.wait_for("12 of 12 tests pass")
        status = world.ask("goal", "status")
    assert "achieved" in status.out, status
    assert [user.split("\n")[0] for user in world.users()] == [
        TASK,
        "<goal_continuation>",
        "<goal_continuation>",
    ]


def test_a_goal_of_the_agents_own_is_none_of_ours_but_its_loops_are_stopped(world: CodexWorld) -> None:
    on_and_on = reply(Say(text=WAITING, times=None, pace=0.02))
    world.model.behave(lambda _: say("Hello.") if len(world.model.chats()) == 1 else on_and_on)
    with world.tui() as tui:
        enter(tui, TASK)
        tui.wait_for("Hello.")
        enter(tui, "/goal make the tests pass")
        tui.wait_for(lambda text: text.count("Conversation interrupted") == 3)
        world.wait_until(lambda: "stopped" in world.ask("status").out)
        assert "No active goal" in world.ask("goal", "status").out
    assert [chat.end for chat in world.model.chats()] == [End.COMPLETED, *[End.CLIENT_CLOSED] * 3]


def test_a_paused_goal_ends_its_turn_and_the_command_that_the_turn_waits_for(world: CodexWorld) -> None:
    waits = reply(run("exec sleep 300", yield_time_ms=30_000))
    world.model.behave([turn(waits, match="^<goal_continuation>"), turn(say("Hello."))])
    with world.tui() as tui:
        enter(tui, TASK)
        tui.wait_for("Hello.")
        assert world.ask("goal", "set", "make the tests pass").code == 0
        world.wait_until(lambda: bool(world.named("sleep")))
        assert world.ask("goal", "pause").code == 0
        world.wait_until(lambda: not world.named("sleep"))
        tui.wait_for("interrupted")
        assert len(world.model.chats()) == 2


def test_the_persons_trusted_hooks_run_on_the_screen_beside_ours(world: CodexWorld) -> None:
    world.hook(world.codex_home)
    world.trust_hooks()
    world.model.behave([turn(*[reply(trace("again"))] * 3, say("Went another way."))])
    with world.tui() as tui:
        enter(tui, TASK)
        tui.wait_for("Went another way.")
    assert (world.count("again"), world.count("hook")) == (2, 3)


@pytest.mark.story
def test_when_the_person_presses_escape_nothing_more_is_sent(world: CodexWorld) -> None:
    world.model.behave(
        [turn(say("Still here."), match="and now"), turn(reply(Say(text="Beginning. "), Hold()))]
    )
    with world.tui("--goal", "make the tests pass", "--set", "goal.cooldown_seconds=0.1") as tui:
        enter(tui, TASK)
        (first, *_) = world.model.wait_for(lambda chats: [chat for chat in chats if chat.text])
        tui.wait_for("Beginning.")
        tui.send("\x1b")
        world.model.wait_for(lambda _: first.end is End.CLIENT_CLOSED)
        tui.wait_for("interrupted")
        enter(tui, "and now")
        tui.wait_for("Still here.")
    assert world.users() == [TASK, "and now"]
    assert len(world.model.chats()) == 2


def test_the_person_leaves_and_nothing_stays_behind(world: CodexWorld) -> None:
    with world.tui() as tui:
        tui.send("\x04")
        assert tui.wait() == 0
    world.check_survivors()
