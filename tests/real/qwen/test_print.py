"""``qwen -p``: without a gate a loop of calls costs the turn; prose, goals and the person's stop."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping

import pytest
from tests.real.harness import Result, World
from tests.real.installed import installed

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Call, Hold, Say, reply, say, turn

CUT_OFF = r"^\[ANTI-LOOP"
WAITING = "The build is still running and I will wait for it. "
TASK = "Do the task."
ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"


class QwenWorld(World):
    """A `World` whose agent is Qwen Code."""

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        model = {"OPENAI_BASE_URL": self.model.url, "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}
        return super().environment({**model, **(extra or {})})

    def drive(self, *options: str, agent: tuple[str, ...] = ()) -> Result:
        return self.guard(*QWEN, *agent, "-p", TASK, options=options).wait(90)


QWEN = ("qwen", "--auth-type", "openai", "--yolo")


@pytest.fixture
def world() -> Iterator[QwenWorld]:
    with QwenWorld(installed("qwen")) as world:
        yield world


def trace(name: str) -> Call:
    command = f"echo x >> $TRACES/{name}"
    return Call(tool="run_shell_command", args={"command": command, "is_background": False})


def test_the_turn_is_cut_off_before_a_fourth_equal_call_and_the_task_goes_on(world: QwenWorld) -> None:
    on = turn(reply(trace("other")), say("Went another way."), match=CUT_OFF)
    world.model.behave([on, turn(*[reply(trace("again"))] * 9)])
    result = world.drive()
    assert (result.code, result.out.strip()) == (0, "Went another way."), result
    assert world.count("again") <= 3
    assert world.count("other") == 1


def test_healthy_work_is_left_alone(world: QwenWorld) -> None:
    world.model.behave([turn(*[reply(trace(str(n))) for n in range(4)], say("All four."))])
    result = world.drive(agent=("-o", "stream-json"))
    assert result.code == 0, result
    said = [json.loads(line) for line in result.out.splitlines()]
    assert said[-1]["result"] == "All four."
    assert "stream_event" not in {one["type"] for one in said}


def test_a_loop_of_prose_is_cut_off_while_it_streams_and_the_task_goes_on(world: QwenWorld) -> None:
    on_and_on = reply(Say(text=WAITING, times=None, pace=0.02))
    # It also lets the model sum up what is worth remembering.
    memory = turn(say("Nothing."), match="^Managed memory")
    world.model.behave([memory, turn(say("Went on."), match=CUT_OFF), turn(on_and_on)])
    result = world.drive()
    assert (result.code, result.out.strip()) == (0, "Went on."), result
    assert world.model.chats()[0].end is End.CLIENT_CLOSED


def test_a_goal_is_continued_until_it_is_achieved(world: QwenWorld) -> None:
    world.model.behave([turn(say(ACHIEVED), match="<goal_continuation>"), turn(say("One part is done."))])
    result = world.drive("--goal", "make the tests pass", "--set", "goal.cooldown_seconds=0.1")
    assert result.code == 0, result
    assert "12 of 12" in result.out


def test_an_interrupt_ends_the_run_and_nothing_more_is_sent(world: QwenWorld) -> None:
    world.model.behave([turn(reply(Say(text="Beginning. "), Hold()))])
    started = world.guard(*QWEN, "-p", TASK, options=("--goal", "make the tests pass"))
    world.model.wait_for(lambda chats: next((chat for chat in chats if chat.text), None))
    started.signal(signal.SIGINT)
    assert started.wait().code == 130
    assert len(world.model.chats()) == 1
