"""docs/quickstarts.md: each command line as it is printed, with the real agent, by somebody new.

The home has no state of ours, and of the agent only what makes it take the scripted model. The model
makes the same call three times; what counts is that the third was refused, or cost the turn, and
that the agent then went another way.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.pty.terminal import Terminal
from tests.real.harness import LOOPGUARD, AgentSandbox, World
from tests.real.installed import installed

from loopguard_cli.testing import claude, codex, copilot, gemini, opencode, pi, qwen
from loopguard_cli.testing.script import Call, reply, say, turn

PAGE = (Path(__file__).parents[2] / "docs" / "quickstarts.md").read_text("utf-8")
PROMPT = "fix the build"
ANOTHER_WAY = "Went another way."
REFUSED = "[ANTI-LOOP"
ENTERS = 90
"""How often Enter may be needed, a second apart: one that follows typing at once counts as pasted,
and a busy machine is late."""


class Agent(NamedTuple):
    section: str
    """Its heading on the page."""
    program: str
    sandbox: type[AgentSandbox]
    call: Call
    """One that it makes without asking."""
    ready: str = ""
    """On its screen, once it takes a prompt."""
    repeats: int = 3
    """More where nobody asks us before a call: the turn is cut off, and not at once."""


def _notes(tool: str, argument: str = "command", **more: object) -> Call:
    return Call(tool=tool, args={argument: "echo x >> $TRACES/again", **more})


AGENTS = (
    Agent("OpenCode", "opencode", opencode.Sandbox, _notes("bash", description="Notes"), "Ask anything"),
    Agent("Claude Code", "claude", claude.Sandbox, _notes("Bash", description="Notes"), "for shortcuts"),
    Agent("Codex", "codex", codex.Sandbox, _notes("exec_command", "cmd"), "Ask Codex"),
    Agent(
        "Gemini CLI",
        "gemini",
        gemini.Sandbox,
        Call(tool="list_directory", args={"dir_path": "."}),
        "Type your message",
    ),
    Agent("pi", "pi", pi.Sandbox, _notes("bash"), pi.MODEL),
    Agent("Qwen Code", "qwen", qwen.Sandbox, Call(tool="glob", args={"pattern": "*"})),
    Agent("Copilot CLI", "copilot", copilot.Sandbox, _notes("bash", description="Notes")),
)
ACP = {
    "opencode": AGENTS[0]._replace(repeats=9),
    "gemini": AGENTS[3]._replace(repeats=9, call=_notes("run_shell_command")),
    "claude-agent-acp": AGENTS[1]._replace(program="claude-agent-acp", repeats=9),
    "copilot": AGENTS[6]._replace(repeats=9),
}


def printed(section: str) -> list[str]:
    """The command lines below a heading."""
    (body,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    lines = re.findall(
        r"^loopguard .*$", "\n".join(re.findall(r"```\n(.*?)```", body, re.DOTALL)), re.MULTILINE
    )
    return [re.sub(r"\s+#.*", "", line) for line in lines]


def cases() -> list[object]:
    made = [(agent, line) for agent in AGENTS for line in printed(agent.section)]
    protocol = printed("Agents behind the Agent Client Protocol")
    made += [(ACP[(line.partition(" -- ")[2] or "claude-agent-acp").split()[0]], line) for line in protocol]
    return [pytest.param(agent, line, id=line.removeprefix("loopguard ")) for agent, line in made]


class NewWorld(World):
    def __init__(self, agent: Agent) -> None:
        self.sandbox = agent.sandbox
        self.repeats = agent.repeats
        super().__init__(installed(agent.program))


def as_a_new_user(agent: Agent) -> NewWorld:
    world = NewWorld(agent)
    subprocess.run(["git", "init", "--quiet", world.project], check=True)  # Codex works in nothing else
    assert not (world.project / ".loopguard").exists()
    world.model.behave(
        [
            turn(say(ANOTHER_WAY), match=r"(?m)^\[ANTI-LOOP"),
            turn(*[reply(agent.call)] * agent.repeats, say(ANOTHER_WAY)),
        ]
    )
    return world


@pytest.mark.parametrize(("agent", "line"), cases())
def test_a_command_line_does_what_the_page_promises(agent: Agent, line: str) -> None:
    words = shlex.split(line)
    assert words[0] == "loopguard"
    command = [*LOOPGUARD, *words[1:]]
    with as_a_new_user(agent) as world:
        if words[1] == "run" and words[-1] == agent.program and "acp" not in agent.program:
            screen(world, agent.ready, command)
        else:
            way(words)(world, command)


def way(words: list[str]) -> Callable[[NewWorld, list[str]], None]:
    """How a command line without a screen is tried."""
    if words[1] == "doctor":
        return trial
    if "serve" in words or "rpc" in words:
        return serving
    return headless if PROMPT in words else console


def trial(world: NewWorld, command: list[str]) -> None:
    done = world.run(*command)
    assert done.code == 0, done
    assert "FAIL" not in done.out.upper(), done


def headless(world: NewWorld, command: list[str]) -> None:
    done = world.run(*command)
    assert done.code == 0, done
    assert ANOTHER_WAY in done.out, done
    assert_refused(world)
    assert not [line for line in done.err.splitlines() if "unguarded" in line], done


def screen(world: NewWorld, ready: str, command: list[str]) -> None:
    with world.screen(*command) as terminal:
        terminal.wait_for(ready)
        enter(world, terminal)
        terminal.wait_for(ANOTHER_WAY)
        assert_refused(world)
        assert "running" in world.ask("status").out


def console(world: NewWorld, command: list[str]) -> None:
    """What a person types at our own console, here from a pipe."""
    done = world.run(*command, stdin=f"{PROMPT}\n")
    assert done.code == 0, done
    assert ANOTHER_WAY in done.out, done
    assert_refused(world)


def serving(world: NewWorld, command: list[str]) -> None:
    """Started, seen by another terminal, and ended by its person."""
    started = world.start(*command, stdin="", more=True)
    world.wait_until(lambda: "running" in world.ask("status").out)
    started.hang_up()
    if "serve" in command:
        started.wait_for("listening", stream="out")
        started.signal(signal.SIGINT)
    done = started.wait()
    assert done.code in (0, 130), done
    assert "unguarded" not in done.err, done


def enter(world: NewWorld, terminal: Terminal) -> None:
    """Type the prompt and send it."""
    terminal.send(PROMPT)
    terminal.wait_for(PROMPT)
    for _ in range(ENTERS):
        terminal.send("\r")
        with suppress(TimeoutError):
            world.model.wait_for(lambda chats: bool(chats), 1.0)
            return
    raise TimeoutError(f"the prompt was not sent\n{terminal.text}")


def assert_refused(world: NewWorld) -> None:
    """The model was told of the repetition."""
    told = [chat for chat in world.model.chats() if chat.request.mentions(REFUSED)]
    assert told, world.model.chats()
    assert world.count("again") < world.repeats


def test_every_section_with_an_agent_of_ours_is_tried() -> None:
    from loopguard_cli.agents import AGENTS as KNOWN

    assert {agent.program for agent in AGENTS} <= {
        name for known in KNOWN.values() for name in known.programs
    }
    assert all(printed(agent.section) for agent in AGENTS)
