"""What has nothing to do with the agent works alike with each of them, without a person.

One run of each: a repeated call is refused, decided on with our tool and made again; what the guard says of
itself meanwhile and afterwards; a goal that goes on until it is achieved. And one that is only observed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from tests.real.harness import LOOPGUARD, RUN_SECONDS, AgentSandbox, Started, World
from tests.real.installed import ROOT, installed

from loopguard_cli.testing import copilot, opencode
from loopguard_cli.testing.conversation import Request
from loopguard_cli.testing.exchange import Exchange
from loopguard_cli.testing.script import Call, Hold, Reply, Say, reply, say
from loopguard_cli.testing.subjects import SUBJECTS

GOAL = "make the tests pass"
ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"
TASK = "Do the task."


class Agent(NamedTuple):
    name: str
    folder: str
    """Below ``.agents/``."""
    program: str
    arguments: tuple[str, ...]
    sandbox: type[AgentSandbox]
    shell: Any
    """A call that runs a command."""
    tools: str
    """What stands before the names of our tools."""
    called: str = ""
    """How it calls itself, where that is not its name."""
    options: tuple[str, ...] = ()
    piped: bool = False
    """It is prompted on standard input."""
    configuration: Mapping[str, Any] = {}


class CopilotSandbox(copilot.Sandbox):
    """Copilot CLI, unpacked once for all tests."""

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        unpacked = ROOT / ".agents" / "copilot" / "unpacked"
        return super().environment({"COPILOT_PKG_CACHE_HOME": str(unpacked), **(extra or {})})


def _headless(name: str, tools: str = "") -> Agent:
    subject: Any = SUBJECTS[name]
    return Agent(name, name, subject.program, subject.arguments, subject.sandbox, subject.shell, tools)


AGENTS = (
    _headless("opencode"),
    _headless("claude", "mcp__loopguard__"),
    _headless("codex"),
    _headless("gemini", "mcp_loopguard_"),
    _headless("pi"),
    _headless("copilot", "loopguard-")._replace(sandbox=CopilotSandbox),
    _headless("qwen", "mcp__loopguard__"),
    Agent(
        "acp",
        "opencode",
        "opencode",
        ("acp",),
        opencode.Sandbox,
        SUBJECTS["opencode"].shell,
        "loopguard_",
        called="OpenCode",
        options=("--agent", "acp", "--permissions", "allow"),
        piped=True,
        configuration={"permission": {"bash": "ask"}},
    ),
)


def _aside(request: Request) -> bool:
    """Not about the task: Qwen Code also lets the model sum up what is worth remembering."""
    return request.user.startswith("Managed memory")


class AlikeWorld(World):
    def __init__(self, agent: Agent) -> None:
        self.sandbox = agent.sandbox
        self.one = agent
        super().__init__(installed(agent.folder, agent.program))
        self.configure(**agent.configuration)
        self.record = self.root / "record.jsonl"

    def drive(self, *options: str) -> Started:
        """One prompt, everything allowed."""
        given = (*self.one.options, "--record", str(self.record), *options)
        prompt = () if self.one.piped else (TASK,)
        argv = (self.one.program, *self.one.arguments, *prompt)
        return self.guard(*argv, options=given, stdin=TASK if self.one.piped else None)

    def step(self, name: str) -> Call:
        """A call without output whose runs `World.count` counts."""
        call: Call = self.one.shell(f"echo x >> $TRACES/{name}")
        return call

    def answer_in_turn(self, *replies: Reply) -> None:
        """Whatever the model is asked, in this order; the last one again and again."""
        self.model.behave(
            lambda request: (
                say("Nothing.") if _aside(request) else replies[min(len(self.chats()), len(replies)) - 1]
            )
        )

    def chats(self) -> list[Exchange]:
        """What the model was asked about the task."""
        return [chat for chat in self.model.chats() if not _aside(chat.request)]

    def answers(self, *command: str) -> list[dict[str, Any]]:
        """The lines of a command's JSON."""
        asked = self.ask(*command)
        assert asked.code == 0, asked
        return [json.loads(line) for line in asked.out.splitlines()]

    def mcp(self, tool: str, **arguments: Any) -> str:
        """What a tool of ``loopguard mcp`` answers, started as from the agent's own configuration."""
        client = {"name": "test", "version": "1"}
        greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        said = [
            {"id": 1, "method": "initialize", "params": greeting},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
        ]
        lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in said)
        answered = [json.loads(line) for line in self.run(*LOOPGUARD, "mcp", stdin=lines).out.splitlines()]
        (result,) = [one["result"] for one in answered if one["id"] == 2]
        return str(result["content"][0]["text"])


@pytest.fixture(params=AGENTS, ids=lambda agent: agent.name)
def world(request: pytest.FixtureRequest) -> Iterator[AlikeWorld]:
    with AlikeWorld(request.param) as world:
        yield world


OBSERVED = "The first two attempts were too early to see anything."
RATIONALE = "The service needs a moment until it has started."
EXPECTED = "Whether the service has come up by now or not."


def decided(world: AlikeWorld) -> Reply:
    """The model decides to call once more."""
    call = world.step("again")
    arguments = {
        "decision": "continue",
        "observedResult": OBSERVED,
        "rationale": RATIONALE,
        "expectedInformation": EXPECTED,
        "nextTool": call.tool,
        "argsJson": json.dumps(call.args),
    }
    return reply(Call(tool=f"{world.one.tools}loop_decide", args=arguments))


def test_guard_goal_tools_and_accounts_work_alike(world: AlikeWorld) -> None:
    again = reply(world.step("again"))
    part = reply(Say(text="One part is done."), Hold(name="on"))
    world.answer_in_turn(again, again, again, decided(world), again, part, say(ACHIEVED))
    started = world.drive("--goal", GOAL, "--set", "goal.cooldown_seconds=0.1")
    world.model.wait_for(lambda chats: any("One part is done." in chat.text for chat in chats), RUN_SECONDS)

    status = json.loads(world.ask("status", "--json").out)
    (run,) = status["runs"]
    assert run["agent"] == (world.one.called or world.one.name)
    assert [goal["objective"] for goal in status["goals"]] == [GOAL]
    call = world.step("again")
    checked = world.mcp("loop_check", toolName=call.tool, argsJson=json.dumps(call.args))
    assert "counts 1 of 3 calls and is not blocked" in checked, "the decision began a new cycle"

    world.model.release("on")
    result = started.wait()
    assert result.code == 0, result
    assert world.count("again") == 3, "two, a refused one, and the one that was decided on"
    told = [chat.request for chat in world.chats()]
    assert "called 3 times with the same arguments" in f"{told[3].results[-1]} {told[3].user}"
    assert GOAL in told[-1].user

    history = world.answers("history", "--json", "--all")
    verdicts = [one["verdict"] for one in history if one["type"] == "call"]
    assert verdicts == ["allow", "allow", "block", "allow"]
    assert [one["rule"] for one in history if one["type"] == "loop"] == ["repeat-call"]
    assert [one["accepted"] for one in history if one["type"] == "guard"] == [True]
    goal = [one["event"] for one in history if one["type"] == "goal"]
    assert goal[0] == "set"
    assert goal[-1] == "completed"
    assert goal.count("auto-continue") == 1
    assert [one["code"] for one in history if one["type"] == "run.ended"] == [0]
    assert "State: achieved" in world.ask("goal", "status").out
    assert [one["rule"] for one in world.answers("replay", str(world.record), "--json")] == ["repeat-call"]


def test_only_observed_everything_runs_and_is_written_down(world: AlikeWorld) -> None:
    again = reply(world.step("again"))
    world.answer_in_turn(*[again] * 4, say("Done."))
    result = world.drive("--mode", "observe").wait()
    assert (result.code, world.count("again")) == (0, 4), result
    assert len({chat.request.user for chat in world.chats()}) == 1
    history = world.answers("history", "--json", "--all")
    assert [one["verdict"] for one in history if one["type"] == "call"] == ["allow"] * 2 + ["warn"] * 2
    found = {(one["rule"], one["verdict"]) for one in history if one["type"] == "loop"}
    assert found == {("repeat-call", "warn")}
    replayed = {one["rule"] for one in world.answers("replay", str(world.record), "--json")}
    assert replayed == {"repeat-call"}


def test_calls_of_a_tool_that_it_does_not_have_are_counted(world: AlikeWorld) -> None:
    """An agent may ask nobody about a call that fails before it runs."""
    unknown = reply(Say(pace=0.2, text="Looking."), Call(tool="no_such_tool", args={"path": "."}))
    world.answer_in_turn(*[unknown] * 20, say("Done."))
    result = world.drive().wait()
    if world.one.name == "gemini":
        # No hook tells of them, as its table says; it ends such a loop itself.
        assert len(world.chats()) < 10, result
        return
    loops = [one for one in world.answers("history", "--json", "--all") if one["type"] == "loop"]
    assert loops, result
    assert loops[0]["rule"] == "repeat-call"
