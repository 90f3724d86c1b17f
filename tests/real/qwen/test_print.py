"""``qwen -p``: loops, goals, and the person's stop."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator, Mapping

import pytest
from tests.real.harness import Result, World
from tests.real.installed import installed

from loopguard_cli.testing.conversation import Request
from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.script import Call, Hold, Reply, Say, reply, say, turn

CUT_OFF = r"^\[ANTI-LOOP"
WAITING = "The build is still running and I will wait for it. "
TASK = "Do the task."
ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"
BLOCKED = "I cannot go on: the repository asks for a password that only the user knows.\n[goal:blocked]"


class QwenWorld(World):
    """A `World` whose agent is Qwen Code."""

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        model = {"OPENAI_BASE_URL": self.model.url, "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}
        return super().environment({**model, **(extra or {})})

    def drive(self, *options: str, agent: tuple[str, ...] = ()) -> Result:
        return self.guard(*QWEN, *agent, "-p", TASK, options=options).wait()

    def chats(self) -> list[Exchange]:
        """What the model was asked about the task."""
        return [chat for chat in self.model.chats() if not chat.request.user.startswith("Managed memory")]

    def users(self) -> list[str]:
        """The user messages that the model was sent about the task, each once, without reminders."""
        said = [_REMINDER.sub("", chat.request.user) for chat in self.chats()]
        return list(dict.fromkeys(said))


QWEN = ("qwen", "--auth-type", "openai", "--yolo")
MEMORY = turn(say("Nothing."), match="^Managed memory")
"""It also lets the model sum up what is worth remembering."""
_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


@pytest.fixture
def world() -> Iterator[QwenWorld]:
    with QwenWorld(installed("qwen")) as world:
        yield world


def trace(name: str) -> Call:
    command = f"echo x >> $TRACES/{name}"
    return Call(tool="run_shell_command", args={"command": command, "is_background": False})


@pytest.mark.story
def test_the_third_equal_call_is_refused_and_other_calls_run(world: QwenWorld) -> None:
    replies = [*[reply(trace("again"))] * 3, reply(trace("other")), say("Went another way.")]
    world.model.behave([MEMORY, turn(*replies)])
    result = world.drive()
    assert (result.code, result.out.strip()) == (0, "Went another way."), result
    assert (world.count("again"), world.count("other")) == (2, 1)
    told = world.chats()[3].request.results[-1]
    assert "called 3 times with the same arguments" in told


def test_the_persons_own_hooks_and_servers_stand_beside_ours(world: QwenWorld) -> None:
    hook = world.script("hook.sh", 'echo x >> "$TRACES/hook"')
    groups = {"PreToolUse": [{"matcher": "*", "hooks": [{"type": "command", "command": str(hook)}]}]}
    (world.home / ".qwen").mkdir()
    server = world.script("server.sh", 'echo x >> "$TRACES/server"')
    servers = {"own": {"command": str(server)}}
    settings = {"hooks": groups, "mcpServers": servers}
    (world.home / ".qwen" / "settings.json").write_text(json.dumps(settings))
    world.model.behave([MEMORY, turn(*[reply(trace("again"))] * 3, say("Done."))])
    result = world.drive()
    assert (result.code, world.count("again"), world.count("hook")) == (0, 2, 3), result
    assert world.count("server"), "it was started"


def test_calls_of_a_tool_that_it_does_not_have_cost_the_turn(world: QwenWorld) -> None:
    unknown = reply(Call(tool="list_directory", args={"path": "."}))
    on = turn(reply(trace("other")), say("Went another way."), match=CUT_OFF)
    world.model.behave([MEMORY, on, turn(*[unknown] * 12)])
    result = world.drive()
    assert (result.code, result.out.strip()) == (0, "Went another way."), result
    assert world.count("other") == 1


def test_without_our_hooks_the_turn_is_cut_off_before_a_fourth_equal_call(world: QwenWorld) -> None:
    (world.root / "defaults.json").write_text("{}")
    on = turn(reply(trace("other")), say("Went another way."), match=CUT_OFF)
    world.model.behave([MEMORY, on, turn(*[reply(trace("again"))] * 9)])
    defaults = {"QWEN_CODE_SYSTEM_DEFAULTS_PATH": str(world.root / "defaults.json")}
    result = world.guard(*QWEN, "-p", TASK, env=defaults).wait()
    assert (result.code, result.out.strip()) == (0, "Went another way."), result
    assert world.count("again") <= 3
    assert world.count("other") == 1
    assert "not asked about" in result.err


def test_healthy_work_is_left_alone(world: QwenWorld) -> None:
    world.model.behave([turn(*[reply(trace(str(n))) for n in range(4)], say("All four."))])
    result = world.drive(agent=("-o", "stream-json"))
    assert result.code == 0, result
    said = [json.loads(line) for line in result.out.splitlines()]
    assert said[-1]["result"] == "All four."
    assert "stream_event" not in {one["type"] for one in said}


@pytest.mark.story
def test_a_loop_of_prose_is_cut_off_while_it_streams_and_the_task_goes_on(world: QwenWorld) -> None:
    on_and_on = reply(Say(text=WAITING, times=None, pace=0.02))
    world.model.behave([MEMORY, turn(say("Went on."), match=CUT_OFF), turn(on_and_on)])
    result = world.drive()
    assert (result.code, result.out.strip()) == (0, "Went on."), result
    assert world.model.chats()[0].end is End.CLIENT_CLOSED


def test_at_most_two_continuations_then_stopped(world: QwenWorld) -> None:
    world.model.behave([MEMORY, turn(reply(Say(text=WAITING, times=None, pace=0.02)))])
    result = world.drive()
    assert result.code == 80, result
    assert [chat.end for chat in world.chats()] == [End.CLIENT_CLOSED] * 3


def pursue(world: QwenWorld, *replies: Reply, options: tuple[str, ...] = ()) -> Result:
    """A goal; the replies are given one per user message."""

    def behave(request: Request) -> Reply:
        if request.user.startswith("Managed memory"):
            return say("Nothing.")
        return replies[min(len(world.users()), len(replies)) - 1]

    world.model.behave(behave)
    return world.drive("--goal", "make the tests pass", "--set", "goal.cooldown_seconds=0.1", *options)


@pytest.mark.story
def test_a_goal_is_continued_until_it_is_achieved(world: QwenWorld) -> None:
    result = pursue(world, say("One part is done."), say("Another part is done."), say(ACHIEVED))
    assert result.code == 0, result
    assert "12 of 12" in result.out
    first, *continued = world.users()
    assert TASK in first
    assert [user.split("\n")[0] for user in continued] == ["<goal_continuation>"] * 2


@pytest.mark.story
def test_a_goal_that_is_blocked_ends_the_run(world: QwenWorld) -> None:
    result = pursue(world, say(BLOCKED))
    assert (result.code, len(world.chats())) == (81, 1), result


@pytest.mark.story
def test_a_goal_ends_at_its_limit_with_one_last_prompt(world: QwenWorld) -> None:
    result = pursue(world, say("Part a."), say("Part b."), say("Part c."), options=("--max-turns", "1"))
    assert result.code == 82, result
    continued = [user.split("\n")[0] for user in world.users()[1:]]
    assert continued == ["<goal_continuation>", "<goal_handoff>"]


@pytest.mark.story
def test_an_interrupt_ends_the_run_and_nothing_more_is_sent(world: QwenWorld) -> None:
    world.model.behave([turn(reply(Say(text="Beginning. "), Hold()))])
    started = world.guard(*QWEN, "-p", TASK, options=("--goal", "make the tests pass"))
    world.model.wait_for(lambda chats: next((chat for chat in chats if chat.text), None))
    started.signal(signal.SIGINT)
    assert started.wait().code == 130
    assert len(world.model.chats()) == 1
