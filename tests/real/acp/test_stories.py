"""Agents behind the Agent Client Protocol: loops, goals and the person's stop; `opencode acp` has more."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.real.harness import AgentSandbox, Result, World
from tests.real.installed import installed

from loopguard_cli.testing import claude, gemini
from loopguard_cli.testing.conversation import Request
from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.script import Call, Hold, Reply, Say, reply, say, turn

TASK = "^Do the task"
TOLD = r"^\[ANTI-LOOP"
WAITING = "The build is still running and I will wait for it. "
ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"
BLOCKED = "I cannot go on: the repository asks for a password that only the user knows.\n[goal:blocked]"
QUICK = ("--set", "goal.cooldown_seconds=0.1")


class Agent(NamedTuple):
    name: str
    program: str
    arguments: tuple[str, ...]
    sandbox: type[AgentSandbox]
    shell: str
    """Its tool for commands."""
    asking: dict[str, Any]
    """What a person configures to be asked about each command."""


CLAUDE = Agent(
    "claude-agent-acp",
    "claude-agent-acp",
    (),
    claude.Sandbox,
    "Bash",
    {"permissions": {"allow": [], "defaultMode": "default"}},
)
GEMINI = Agent("gemini", "gemini", ("--acp",), gemini.Sandbox, "run_shell_command", {})


class AcpWorld(World):
    def __init__(self, agent: Agent) -> None:
        self.sandbox = agent.sandbox
        self.acp = agent
        super().__init__(installed(agent.name, agent.program))

    @property
    def command(self) -> tuple[str, ...]:
        return (self.acp.program, *self.acp.arguments)

    def step(self, name: str) -> Call:
        """A call without output whose runs `World.count` counts."""
        args = {"command": f"echo x >> $TRACES/{name}", "description": "Does one step"}
        return Call(tool=self.acp.shell, args=args)

    def drive(self, *options: str, prompt: str = "Do the task.") -> Result:
        """One prompt from a pipe; whatever the agent asks is allowed."""
        allowed = ("--agent", "acp", "--permissions", "allow")
        return self.guard(*self.command, options=(*allowed, *options), stdin=prompt).wait()

    def users(self) -> list[str]:
        """The user messages that the model was sent, each once; an agent's own questions excepted."""
        users = dict.fromkeys(exchange.request.user for exchange in self.model.chats())
        return [user for user in users if not user.startswith("[SUGGESTION MODE")]

    def streaming(self) -> Exchange:
        """The first answer that the model has begun to send."""
        return self.model.wait_for(lambda chats: next((c for c in chats if c.text), None))


@pytest.fixture(params=[CLAUDE, GEMINI], ids=lambda agent: agent.name)
def world(request: pytest.FixtureRequest) -> Iterator[AcpWorld]:
    with AcpWorld(request.param) as world:
        yield world


def on_and_on() -> Reply:
    return reply(Say(text=WAITING, times=None, pace=0.02))


def test_a_healthy_turn_passes_untouched(world: AcpWorld) -> None:
    a, b = reply(world.step("a")), reply(world.step("b"))
    world.model.behave([turn(a, b, a, say("All good."))])
    result = world.drive()
    assert (result.code, result.out) == (0, "All good.\n"), result
    assert (world.count("a"), world.count("b")) == (2, 1)


def test_where_it_asks_the_third_equal_call_is_not_executed(world: AcpWorld) -> None:
    world.configure(**world.acp.asking)
    again, other = reply(world.step("again")), reply(world.step("other"))
    world.model.behave([turn(again, again, again, other, say("Went another way."), match=TASK)])
    result = world.drive()
    assert result.code == 0, result
    assert (world.count("again"), world.count("other")) == (2, 1)
    assert result.out.endswith("Went another way.\n")
    assert "called 3 times with the same arguments" in result.err


def test_a_loop_of_prose_is_cut_off_while_it_streams_and_the_task_goes_on(world: AcpWorld) -> None:
    world.model.behave([turn(reply(world.step("on")), say("Went on."), match=TOLD), turn(on_and_on())])
    result = world.drive()
    assert result.code == 0, result
    looping, *_ = world.model.chats()
    assert looping.end is End.CLIENT_CLOSED
    assert world.count("on") == 1
    assert result.out.endswith("Went on.\n")


def test_at_most_two_continuations_then_stopped(world: AcpWorld) -> None:
    world.model.behave([turn(on_and_on())])
    result = world.drive()
    assert [chat.end for chat in world.model.chats()] == [End.CLIENT_CLOSED] * 3
    assert result.code == 80, result


@pytest.mark.parametrize(
    ("replies", "code", "prompts"),
    [
        pytest.param([say("One part is done."), say(ACHIEVED)], 0, 2, id="achieved"),
        pytest.param([say(BLOCKED)], 81, 1, id="blocked"),
        pytest.param([say(f"Part {n} is done.") for n in "abcdef"], 82, 4, id="limit"),
    ],
)
def test_a_goal_is_pursued_to_its_end(world: AcpWorld, replies: list[Reply], code: int, prompts: int) -> None:
    def behave(request: Request) -> Reply:
        if request.user.startswith("[SUGGESTION MODE"):
            return say("")
        return replies[min(len(world.users()), len(replies)) - 1]

    world.model.behave(behave)
    result = world.drive("--goal", "make the tests pass", "--max-turns", "2", *QUICK, prompt="Start.")
    assert result.code == code, result
    assert len(world.users()) == prompts
    assert all("make the tests pass" in user for user in world.users()[1:])


def test_an_interrupt_ends_a_run_and_nothing_more_is_sent(world: AcpWorld) -> None:
    world.model.behave([turn(reply(Say(text="Beginning. "), Hold()))])
    started = world.guard(*world.command, options=("--agent", "acp", "--goal", "make it pass"), stdin="Go.")
    world.streaming()
    started.signal(signal.SIGINT)
    result = started.wait()
    assert result.code == 130, result
    assert len(world.users()) == 1


def test_it_does_not_survive_a_supervisor_that_is_killed(world: AcpWorld) -> None:
    world.model.behave([turn(reply(Say(text="Beginning. "), Hold()))])
    started = world.guard(*world.command, options=("--agent", "acp"), stdin="Go.")
    world.streaming()
    started.signal(signal.SIGKILL)
    started.wait()
    world.check_survivors(10.0)
