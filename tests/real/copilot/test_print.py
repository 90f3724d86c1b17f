"""``copilot -p``: loops, goals, the person's stop, and what it prints."""

from __future__ import annotations

import json
import re
import signal
from typing import Any

import pytest
from tests.real.copilot.world import (
    ACHIEVED,
    BLOCKED,
    COPILOT,
    CUT_OFF,
    JSON,
    TASK,
    WAITING,
    CopilotWorld,
    run,
    trace,
)
from tests.real.harness import Result

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Call, Fail, Hold, Reply, Say, reply, say, turn

formats = pytest.mark.parametrize("agent", [(), JSON], ids=["text", "json"])


def said(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def messages(out: str, agent: tuple[str, ...]) -> list[str]:
    """What the model said, as far as it can be told from what the agent printed."""
    if agent == JSON:
        return [e["data"]["content"] for e in said(out) if e["type"] == "assistant.message"]
    return [line for line in out.splitlines() if line and line[0] not in " ●✗"]


# --- what it prints -----------------------------------------------------------------------------

HEALTHY = [
    turn(reply(Say(text="First a look."), run("echo one; exit 3")), reply(trace("a")), say("All good."))
]


def test_text_is_that_of_the_agent_itself(world: CopilotWorld) -> None:
    world.model.behave(HEALTHY)
    plain = world.run(*COPILOT, "-p", TASK)
    guarded = world.drive()
    assert (guarded.code, guarded.out) == (0, plain.out), guarded
    assert "All good." in guarded.out
    ours = [line for line in _settled(guarded.err) if not line.startswith("loopguard: ")]
    assert ours == _settled(plain.err)


def test_only_the_answer_is_printed_where_nothing_else_was_asked_for(world: CopilotWorld) -> None:
    world.model.behave(HEALTHY)
    plain = world.run(*COPILOT, "-s", "-p", TASK)
    assert world.drive(agent=("-s",)).out == plain.out


def _settled(err: str) -> list[str]:
    text = re.sub(r"--resume=\S+", "--resume", err)
    return [line for line in re.sub(r"Duration .*", "", text).splitlines() if "extraction" not in line]


def test_json_lines_are_those_of_the_agent_itself(world: CopilotWorld) -> None:
    world.model.behave(HEALTHY)
    plain = said(world.run(*COPILOT, *JSON, "-p", TASK).out)
    guarded = said(world.drive(agent=JSON).out)
    kinds = ("user.message", "assistant.message", "tool.execution_start", "tool.execution_complete", "result")
    told, own = ([e["type"] for e in events if e["type"] in kinds] for events in (guarded, plain))
    assert told == own
    assert guarded[-1]["exitCode"] == 0


def test_a_prompt_from_a_pipe_is_taken(world: CopilotWorld) -> None:
    world.model.behave([turn(say("Taken."), match="from a pipe")])
    result = world.guard(*COPILOT, stdin="This came from a pipe.").wait()
    assert (result.code, result.out.strip()) == (0, "Taken."), result


# --- calls --------------------------------------------------------------------------------------


@pytest.mark.story
@formats
def test_the_third_equal_call_is_refused_and_other_calls_run(
    world: CopilotWorld, agent: tuple[str, ...]
) -> None:
    replies = [*[reply(trace("again"))] * 3, reply(trace("other")), say("Went another way.")]
    world.model.behave([turn(*replies)])
    result = world.drive(agent=agent)
    assert (result.code, messages(result.out, agent)[-1]) == (0, "Went another way."), result
    assert (world.count("again"), world.count("other")) == (2, 1)
    (told,) = world.model.chats()[3].request.results
    assert "[ANTI-LOOP]" in told
    assert len(world.users()) == 1, "the turn went on"


def test_healthy_work_is_left_alone(world: CopilotWorld) -> None:
    world.model.behave([turn(*[reply(trace(str(n))) for n in range(5)], say("All five."))])
    result = world.drive()
    assert result.code == 0, result
    assert [world.count(str(n)) for n in range(5)] == [1] * 5
    assert not world.model.chats()[-1].request.mentions("[ANTI-LOOP")
    assert "0 blocked, 0 turns cut off" in result.err


def test_a_sub_agent_is_guarded_by_itself(world: CopilotWorld) -> None:
    task = Call(
        tool="task",
        args={
            "prompt": "SUBTASK: look at it.",
            "agent_type": "general-purpose",
            "description": "Looks",
            "name": "looker",
            "mode": "sync",
        },
    )
    again = reply(trace("again"))
    below = turn(again, again, again, say("Looked."), match="SUBTASK")
    world.model.behave([below, turn(again, again, reply(task), say("All done."))])
    result = world.drive()
    assert result.code == 0, result
    assert world.count("again") == 4, "two each"
    assert result.out.strip().endswith("All done.")


def test_the_model_decides_to_go_on_with_one_of_our_tools(world: CopilotWorld) -> None:
    decision = {
        "decision": "continue",
        "observedResult": "The first two attempts were too early to see anything.",
        "rationale": "The service needs a moment until it has started.",
        "expectedInformation": "Whether the service has come up by now or not.",
        "nextTool": "bash",
        "argsJson": json.dumps(trace("again").args),
    }
    decide = Call(tool="loopguard-loop_decide", args=decision)
    world.model.behave([turn(*[reply(trace("again"))] * 3, reply(decide), reply(trace("again")))])
    result = world.drive()
    assert (result.code, world.count("again")) == (0, 3), result


def test_only_observed_nothing_is_stopped(world: CopilotWorld) -> None:
    world.model.behave([turn(*[reply(trace("again"))] * 4, say("Done."))])
    result = world.drive("--mode", "observe")
    assert (result.code, world.count("again")) == (0, 4), result


# --- prose --------------------------------------------------------------------------------------


@pytest.mark.story
@formats
def test_a_loop_of_prose_is_cut_off_while_it_streams_and_the_task_goes_on(
    world: CopilotWorld, agent: tuple[str, ...]
) -> None:
    on_and_on = reply(Say(text=WAITING, times=None, pace=0.02))
    world.model.behave([turn(reply(trace("on")), say("Went on."), match=CUT_OFF), turn(on_and_on)])
    result = world.drive(agent=agent)
    assert (result.code, messages(result.out, agent)[-1]) == (0, "Went on."), result
    first, *others = world.model.chats()
    assert first.end is End.CLIENT_CLOSED
    assert world.count("on") == 1
    assert others[0].request.mentions(TASK), "the session went on"
    assert "not guarded" not in result.err


def test_at_most_two_continuations_then_stopped(world: CopilotWorld) -> None:
    world.model.behave([turn(reply(Say(text=WAITING, times=None, pace=0.02)))])
    result = world.drive()
    assert result.code == 80, result
    assert [chat.end for chat in world.model.chats()] == [End.CLIENT_CLOSED] * 3


# --- goals --------------------------------------------------------------------------------------


def pursue(
    world: CopilotWorld, *replies: Reply, options: tuple[str, ...] = (), agent: tuple[str, ...] = ()
) -> Result:
    """A goal; the replies are given one per user message."""
    world.model.behave(lambda _: replies[min(len(world.users()), len(replies)) - 1])
    quick = ("--set", "goal.cooldown_seconds=0.1")
    return world.drive("--goal", "make the tests pass", *quick, *options, agent=agent)


@pytest.mark.story
@formats
def test_a_goal_is_continued_until_it_is_achieved(world: CopilotWorld, agent: tuple[str, ...]) -> None:
    result = pursue(world, say("One part is done."), say("Another part is done."), say(ACHIEVED), agent=agent)
    assert result.code == 0, result
    first, *continued = world.users()
    assert TASK in first
    assert [user.split("\n")[0] for user in continued] == ["<goal_continuation>"] * 2


@pytest.mark.story
def test_a_goal_that_is_blocked_ends_the_run(world: CopilotWorld) -> None:
    result = pursue(world, say(BLOCKED))
    assert (result.code, len(world.model.chats())) == (81, 1), result


@pytest.mark.story
def test_a_goal_ends_at_its_limit_with_one_last_prompt(world: CopilotWorld) -> None:
    result = pursue(world, say("Part a."), say("Part b."), say("Part c."), options=("--max-turns", "1"))
    assert result.code == 82, result
    continued = [user.split("\n")[0] for user in world.users()[1:]]
    assert continued == ["<goal_continuation>", "<goal_handoff>"]


# --- the person ---------------------------------------------------------------------------------


@pytest.mark.story
@formats
def test_an_interrupt_ends_the_run_and_nothing_more_is_sent(
    world: CopilotWorld, agent: tuple[str, ...]
) -> None:
    world.model.behave([turn(reply(Say(text="Beginning. "), Hold()))])
    started = world.guard(*COPILOT, *agent, "-p", TASK, options=("--goal", "make the tests pass"))
    world.model.wait_for(lambda chats: next((chat for chat in chats if chat.text), None))
    started.signal(signal.SIGINT)
    result = started.wait()
    assert result.code == 130, result
    assert len(world.model.chats()) == 1


def test_a_failing_model_is_told_as_the_agent_tells_it_and_pauses_a_goal(world: CopilotWorld) -> None:
    world.model.behave([turn(reply(Fail(status=400, message="no such model")))])
    result = world.drive()
    assert result.code == 1, result
    assert "no such model" in result.err
    pursued = world.drive("--goal", "make the tests pass")
    assert pursued.code == 82, pursued
    assert "Goal paused" in pursued.err
    assert len(world.model.chats()) == 2
