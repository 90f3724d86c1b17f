"""``gemini -p``: loops, goals, the person's stop, and what it prints."""

from __future__ import annotations

import json
import signal

import pytest
from tests.real.gemini.world import ACHIEVED, BLOCKED, CUT_OFF, TASK, WAITING, GeminiWorld, trace
from tests.real.harness import Result

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Hold, Reply, Say, reply, say, turn


def drive(world: GeminiWorld, *options: str, agent: tuple[str, ...] = ()) -> Result:
    return world.guard("gemini", "--yolo", *agent, "-p", TASK, options=options).wait()


# --- calls --------------------------------------------------------------------------------------


@pytest.mark.story
def test_the_third_equal_call_is_refused_and_other_calls_run(world: GeminiWorld) -> None:
    replies = [*[reply(trace("again"))] * 3, reply(trace("other")), say("Went another way.")]
    world.model.behave([turn(*replies)])
    result = drive(world)
    assert (result.code, result.out.strip()) == (0, "Went another way."), result
    assert (world.count("again"), world.count("other")) == (2, 1)
    (told,) = world.model.chats()[3].request.results
    assert "[ANTI-LOOP]" in told


def test_healthy_work_is_left_alone(world: GeminiWorld) -> None:
    world.model.behave([turn(*[reply(trace(str(n))) for n in range(5)], say("All five."))])
    result = drive(world, agent=("-o", "stream-json"))
    assert result.code == 0, result
    said = [json.loads(line) for line in result.out.splitlines()]
    assert [one["type"] for one in said].count("tool_use") == 5
    assert said[-1]["status"] == "success"
    assert not world.model.chats()[0].request.mentions("ANTI-LOOP")
    assert "loopguard" not in result.out


# --- prose --------------------------------------------------------------------------------------


@pytest.mark.story
def test_a_loop_of_prose_is_cut_off_while_it_streams_and_the_task_goes_on(world: GeminiWorld) -> None:
    on_and_on = reply(Say(text=WAITING, times=None, pace=0.05))
    world.model.behave([turn(reply(trace("on")), say("Went on."), match=CUT_OFF), turn(on_and_on)])
    result = drive(world)
    assert result.code == 0, result
    assert result.out.strip().endswith("Went on.")
    looping, told, *_ = world.model.chats()
    assert looping.end is End.CLIENT_CLOSED
    assert looping.ended_at is not None
    assert looping.ended_at < told.received_at, "the provider writes on for nobody"
    assert world.count("on") == 1
    assert not world.model.chats()[-1].request.mentions(WAITING)


def test_at_most_two_continuations_then_stopped(world: GeminiWorld) -> None:
    world.model.behave([turn(reply(Say(text=WAITING, times=None, pace=0.05)))])
    result = drive(world)
    assert result.code == 80, result
    assert [chat.end for chat in world.model.chats()] == [End.CLIENT_CLOSED] * 3


# --- goals --------------------------------------------------------------------------------------


def pursue(world: GeminiWorld, *replies: Reply, options: tuple[str, ...] = ()) -> Result:
    """A goal; the replies are given one per user message."""
    world.model.behave(lambda _: replies[min(len(world.users()), len(replies)) - 1])
    quick = ("--set", "goal.cooldown_seconds=0.1")
    return drive(world, "--goal", "make the tests pass", *quick, *options)


@pytest.mark.story
def test_a_goal_is_continued_until_it_is_achieved(world: GeminiWorld) -> None:
    result = pursue(world, say("One part is done."), say("Another part is done."), say(ACHIEVED))
    assert result.code == 0, result
    first, *continued = world.users()
    assert TASK in first
    assert [user.split("\n")[0] for user in continued] == ["<goal_continuation>"] * 2


@pytest.mark.story
def test_a_goal_that_is_blocked_ends_the_run(world: GeminiWorld) -> None:
    result = pursue(world, say(BLOCKED))
    assert (result.code, len(world.model.chats())) == (81, 1), result


@pytest.mark.story
def test_a_goal_ends_at_its_limit_with_one_last_prompt(world: GeminiWorld) -> None:
    result = pursue(world, say("Part a."), say("Part b."), say("Part c."), options=("--max-turns", "1"))
    assert result.code == 82, result
    continued = [user.split("\n")[0] for user in world.users()[1:]]
    assert continued == ["<goal_continuation>", "<goal_handoff>"]


# --- the person ---------------------------------------------------------------------------------


@pytest.mark.story
def test_an_interrupt_ends_the_run_and_nothing_more_is_sent(world: GeminiWorld) -> None:
    world.model.behave([turn(reply(Say(text="Beginning.\n"), Hold()))])
    started = world.guard("gemini", "--yolo", "-p", TASK, options=("--goal", "make the tests pass"))
    started.wait_for("Beginning.", stream="out")
    started.signal(signal.SIGINT)
    result = started.wait()
    assert (result.code, result.out) == (130, "Beginning.\n"), "the goal is not achieved"
    assert len(world.model.chats()) == 1
    assert ", 0 continuations" in result.err, result


def test_settings_sessions_and_extensions_stay_the_persons(world: GeminiWorld) -> None:
    folder = world.home / ".gemini"
    before = (folder / "settings.json").read_bytes()
    extension = folder / "extensions" / "own"
    extension.mkdir(parents=True)
    (extension / "gemini-extension.json").write_text(
        json.dumps({"name": "own", "version": "1", "contextFileName": "OWN.md"})
    )
    (extension / "OWN.md").write_text("The person's own words.")
    world.model.behave([turn(say("Done with it."))])
    result = drive(world)
    assert result.code == 0, result
    assert world.model.chats()[0].request.mentions("The person's own words.")
    assert (folder / "settings.json").read_bytes() == before
    assert [entry.name for entry in (folder / "extensions").iterdir()] == ["own"]
    assert list((folder / "tmp").rglob("session-*.jsonl"))
