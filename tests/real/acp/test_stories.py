"""Agents behind the Agent Client Protocol: loops, goals and the person's stop; `opencode acp` has more."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from tests.real.harness import AgentSandbox, Result, World
from tests.real.installed import installed

from loopguard_cli.testing import claude, codex, copilot, gemini, pi
from loopguard_cli.testing.conversation import Request
from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.script import Call, Hold, Reply, Say, Wait, reply, say, turn

TASK = "(?m)^Do the task"
TOLD = r"(?m)^\[ANTI-LOOP"
THINKING = 1.0
"""Seconds that a model takes for an answer, where an abort has to come before the next call."""
WAITING = "The build is still running and I will wait for it. "
ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"
BLOCKED = "I cannot go on: the repository asks for a password that only the user knows.\n[goal:blocked]"
QUICK = ("--set", "goal.cooldown_seconds=0.1")


class Agent(NamedTuple):
    name: str
    arguments: tuple[str, ...]
    sandbox: type[AgentSandbox]
    shell: str
    """Its tool for commands."""
    command: str
    """The argument of that with the command."""
    asks: bool
    """It asks before each command where a person wants that, which `asking` configures."""
    asking: dict[str, Any]


CLAUDE = Agent(
    "claude-agent-acp", (), claude.Sandbox, "Bash", "command", asks=True,
    asking={"permissions": {"allow": [], "defaultMode": "default"}},
)  # fmt: skip
GEMINI = Agent("gemini", ("--acp",), gemini.Sandbox, "run_shell_command", "command", asks=True, asking={})
CODEX = Agent(
    "codex-acp", (), codex.Sandbox, "exec_command", "cmd", asks=True, asking={"approval_policy": "untrusted"}
)
PI = Agent("pi-acp", (), pi.Sandbox, "bash", "command", asks=False, asking={})
COPILOT = Agent("copilot", ("--acp",), copilot.Sandbox, "bash", "command", asks=True, asking={})
AGENTS = (CLAUDE, GEMINI, CODEX, PI, COPILOT)

asking_agents = pytest.mark.parametrize(
    "world", [agent for agent in AGENTS if agent.asks], indirect=True, ids=lambda agent: agent.name
)
silent_agents = pytest.mark.parametrize(
    "world", [CLAUDE, CODEX, PI], indirect=True, ids=lambda agent: agent.name
)
"""Those that run commands without asking, as their sandboxes configure them."""


class AcpWorld(World):
    def __init__(self, agent: Agent) -> None:
        self.sandbox = agent.sandbox
        self.acp = agent
        super().__init__(installed(agent.name))

    @property
    def command(self) -> tuple[str, ...]:
        return (self.acp.name, *self.acp.arguments)

    def step(self, name: str) -> Call:
        """A call without output whose runs `World.count` counts."""
        return Call(tool=self.acp.shell, args={self.acp.command: f"echo x >> $TRACES/{name}"})

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


@pytest.fixture(params=AGENTS, ids=lambda agent: agent.name)
def world(request: pytest.FixtureRequest) -> Iterator[AcpWorld]:
    with AcpWorld(request.param) as world:
        yield world


def on_and_on() -> Reply:
    return reply(Say(text=WAITING, times=None, pace=0.02))


def test_a_healthy_turn_passes_untouched(world: AcpWorld) -> None:
    a, b = reply(world.step("a")), reply(world.step("b"))
    world.model.behave([turn(a, b, a, say("All good."))])
    result = world.drive()
    assert result.code == 0, result
    assert result.out.endswith("All good.\n"), "some add notices of their own before"
    assert (world.count("a"), world.count("b")) == (2, 1)


@pytest.mark.story
@asking_agents
def test_where_it_asks_the_third_equal_call_is_not_executed(world: AcpWorld) -> None:
    world.configure(**world.acp.asking)
    again, other = reply(world.step("again")), reply(world.step("other"))
    # Some go on after a refusal, with others the turn is over, and what we say of it begins the next.
    told = turn(other, say("Went another way."), match=TOLD)
    world.model.behave([told, turn(again, again, again, other, say("Went another way."), match=TASK)])
    result = world.drive()
    assert result.code == 0, result
    assert (world.count("again"), world.count("other")) == (2, 1)
    assert result.out.endswith("Went another way.\n")
    assert "called 3 times with the same arguments" in result.err


@pytest.mark.story
@silent_agents
def test_where_it_does_not_ask_the_turn_is_cut_off_before_a_fourth(world: AcpWorld) -> None:
    again, other = reply(Wait(seconds=THINKING), world.step("again")), reply(world.step("other"))
    told = turn(other, say("Went another way."), match=TOLD)
    world.model.behave([told, turn(*[again] * 9, match=TASK)])
    result = world.drive()
    assert result.code == 0, result
    assert world.count("again") <= 3
    assert world.count("other") == 1
    assert "no gate" in result.err, "that a block became an abort is said"


def test_only_observed_nothing_is_stopped(world: AcpWorld) -> None:
    world.model.behave([turn(*[reply(world.step("again"))] * 4, say("Done."), match=TASK)])
    result = world.drive("--mode", "observe")
    assert (result.code, world.count("again")) == (0, 4), result
    assert len(world.users()) == 1


@pytest.mark.story
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


@pytest.mark.story
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


@pytest.mark.story
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


# --- a person at the console --------------------------------------------------------------------


@pytest.mark.story
def test_at_the_console_text_and_calls_are_read_and_a_turn_is_stopped(world: AcpWorld) -> None:
    healthy = turn(reply(Say(text="I look. "), world.step("looked")), say("Looked."), match="(?m)^look")
    lines = "".join(f"{uuid4().hex}\n" for _ in range(1000))
    long = turn(reply(Say(text="Beginning.\n"), Say(text=lines, chunk=33, pace=0.05)), match="(?m)^do it")
    world.model.behave([healthy, long, turn(say("Still here."), match="(?m)^and now"), turn(say(""))])
    with world.guard_screen(*world.command, options=("--agent", "acp", "--permissions", "allow")) as console:
        console.send("look\r")
        console.wait_for("Looked.")
        assert "* " in console.text, "the call has a line"
        assert "$TRACES/looked" in console.text
        world.wait_until(lambda: "idle" in world.ask("status").out)
        console.send("do it\r")
        console.wait_for("Beginning.")
        assert "\ndo it" in console.text, "what is typed has a line of its own"
        begun = next(chat for chat in world.model.chats() if "do it" in chat.request.user)
        console.send("\x03")
        world.model.wait_for(lambda _: begun.end is End.CLIENT_CLOSED)
        console.send("and now\r")
        console.wait_for("Still here")
        console.send("\x04")
        assert console.wait() == 0
    assert len(world.users()) == 3
    assert world.count("looked") == 1


@asking_agents
def test_a_question_at_the_console_is_the_persons_to_answer(world: AcpWorld) -> None:
    world.configure(**world.acp.asking)
    asked = reply(world.step("asked"))
    yes, no = turn(asked, say("It ran."), match="(?m)^yes"), turn(asked, say("As you wish."), match="(?m)^no")
    world.model.behave([yes, no, turn(say(""))])
    with world.guard_screen(*world.command, options=("--agent", "acp")) as console:
        console.send("no, do not\r")
        console.wait_for("May it run")
        assert "$TRACES/asked" in console.text, "what it wants to run"
        console.send("n\r")
        world.wait_until(lambda: "idle" in world.ask("status").out)
        assert world.count("asked") == 0
        console.send("yes, do\r")
        console.wait_for(lambda screen: screen.count("[y]") == 2)
        console.send("y\r")
        console.wait_for("It ran.")
        assert world.count("asked") == 1


@asking_agents
def test_a_policy_answers_for_a_person_who_is_not_there(world: AcpWorld) -> None:
    world.configure(**world.acp.asking)
    world.model.behave([turn(reply(world.step("asked")), say("As you wish."))])
    for permissions in ("deny", "ask"):
        result = world.guard(
            *world.command, options=("--agent", "acp", "--permissions", permissions), stdin="Do it."
        ).wait()
        assert result.code == 0, result
        assert world.count("asked") == 0
    assert "nobody is here to ask" in result.err
