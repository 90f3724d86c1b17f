"""Interactive ``gemini`` on the person's own terminal."""

from __future__ import annotations

import pytest
from tests.real.gemini.world import (
    ACHIEVED,
    BLOCKED,
    CUT_OFF,
    TASK,
    WAITING,
    GeminiWorld,
    enter,
    leave,
    run,
    trace,
)

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Hold, Say, reply, say, turn

QUICK = ("--set", "goal.cooldown_seconds=0.1")


@pytest.mark.story
def test_the_third_equal_call_is_refused_on_the_persons_screen(world: GeminiWorld) -> None:
    replies = [*[reply(trace("again"))] * 3, reply(trace("other")), say("Went another way.")]
    world.model.behave([turn(*replies)])
    with world.tui() as tui:
        enter(tui, TASK)
        tui.wait_for("Went another way.")
    assert (world.count("again"), world.count("other")) == (2, 1)
    (told,) = world.model.chats()[3].request.results
    assert "[ANTI-LOOP]" in told


@pytest.mark.story
def test_a_loop_of_prose_is_cut_off_while_it_streams_and_the_task_goes_on(world: GeminiWorld) -> None:
    on_and_on = reply(Say(text=WAITING, times=None, pace=0.05))
    world.model.behave([turn(reply(trace("on")), say("Went on."), match=CUT_OFF), turn(on_and_on)])
    with world.tui() as tui:
        enter(tui, TASK)
        tui.wait_for("Went on.")
    assert world.model.chats()[0].end is End.CLIENT_CLOSED
    assert world.count("on") == 1


def test_at_most_two_continuations_then_the_turn_just_ends(world: GeminiWorld) -> None:
    world.model.behave(
        [turn(say("Still here."), match="and now"), turn(reply(Say(text=WAITING, times=None, pace=0.05)))]
    )
    with world.tui() as tui:
        enter(tui, TASK)
        world.model.wait_for(lambda chats: len([c for c in chats if c.end is End.CLIENT_CLOSED]) == 3)
        enter(tui, "and now")
        tui.wait_for("Still here.")
    assert len(world.model.chats()) == 4


@pytest.mark.story
def test_a_goal_set_from_outside_is_continued_on_the_screen_until_it_is_achieved(world: GeminiWorld) -> None:
    replies = [say("One part is done."), say("Another part is done."), say(ACHIEVED)]
    world.model.behave(lambda _: replies[min(len(world.users()), len(replies)) - 1])
    with world.tui(*QUICK) as tui:
        enter(tui, TASK)
        tui.wait_for("One part is done.")
        asked = world.ask("goal", "set", "make the tests pass")
        assert asked.code == 0, asked
        tui.wait_for("12 of 12 tests pass")
        world.wait_until(lambda: "achieved" in world.ask("goal", "status").out)
    assert [user.split("\n")[0] for user in world.users()] == [
        TASK,
        "<goal_continuation>",
        "<goal_continuation>",
    ]


@pytest.mark.story
def test_a_goal_typed_into_the_agent_runs_until_it_is_blocked(world: GeminiWorld) -> None:
    replies = [say("One part is done."), say(BLOCKED)]
    world.model.behave(lambda _: replies[min(len(world.users()), len(replies)) - 1])
    with world.tui(*QUICK) as tui:
        enter(tui, "/goal make the tests pass")
        tui.wait_for("only the user knows")
        world.wait_until(lambda: "blocked" in world.ask("goal", "status").out)
    assert [user.split("\n")[0] for user in world.users()] == ["<goal_continuation>"] * len(world.users())
    assert len(world.model.chats()) == 2


def test_a_paused_goal_ends_its_turn_and_the_command_that_the_turn_waits_for(world: GeminiWorld) -> None:
    waits = reply(run("exec sleep 300"))
    world.model.behave([turn(waits, match="^<goal_continuation>"), turn(say("Hello."))])
    with world.tui(*QUICK) as tui:
        enter(tui, TASK)
        tui.wait_for("Hello.")
        assert world.ask("goal", "set", "make the tests pass").code == 0
        world.wait_until(lambda: bool(world.named("sleep")))
        assert world.ask("goal", "pause").code == 0
        world.wait_until(lambda: not world.named("sleep"))
        tui.wait_for("Request cancelled")
    assert len(world.model.chats()) == 2


@pytest.mark.story
def test_when_the_person_presses_escape_nothing_more_is_sent(world: GeminiWorld) -> None:
    world.model.behave(
        [turn(say("Still here."), match="and now"), turn(reply(Say(text="Beginning. "), Hold()))]
    )
    with world.tui("--goal", "make the tests pass", *QUICK) as tui:
        first = world.model.wait_for(lambda chats: next((chat for chat in chats if chat.text), None))
        assert first is not None
        tui.wait_for("Beginning.")
        tui.send("\x1b")
        world.model.wait_for(lambda _: first.end is End.CLIENT_CLOSED)
        tui.wait_for("Request cancelled")
        enter(tui, "and now")
        tui.wait_for("Still here.")
    assert [user.split("\n")[0] for user in world.users()] == ["<goal_continuation>", "and now"]


def test_the_person_leaves_and_nothing_stays_behind(world: GeminiWorld) -> None:
    with world.tui() as tui:
        assert leave(tui) == 0
    world.check_survivors()
