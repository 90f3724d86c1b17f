"""Scan over sessions that the real agents have just written: the planted loop is found, nothing else.

OpenCode has its own stories in `tests.real.test_scan`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from tests.real.harness import AgentSandbox, World
from tests.real.installed import installed
from tests.report.reading import Page

from loopguard_cli.testing import claude, codex, gemini, pi
from loopguard_cli.testing.script import Call, reply, say, turn

LOOPED = "Please look at the notes."
WORKED = "Please read the chores."
WORDS = ("sweeping", "washing", "cooking", "mending", "painting")
REPEATS = 4
"""At the fifth, Gemini CLI itself gives up."""


class Agent(NamedTuple):
    name: str
    sandbox: type[AgentSandbox]
    argv: tuple[str, ...]
    """In front of the prompt; not guarded."""
    shell: str
    """Its tool for commands."""
    argument: str = "command"
    more: tuple[tuple[str, str], ...] = ()

    def runs(self, command: str) -> Call:
        return Call(tool=self.shell, args={self.argument: command, **dict(self.more)})


AGENTS = (
    Agent("claude", claude.Sandbox, ("claude", "-p"), "Bash", more=(("description", "Does one step"),)),
    Agent("codex", codex.Sandbox, ("codex", "exec", "--skip-git-repo-check"), "exec_command", "cmd"),
    Agent("gemini", gemini.Sandbox, ("gemini", "--yolo", "-p"), "run_shell_command"),
    Agent("pi", pi.Sandbox, ("pi", "-p"), "bash"),
)


class AgentWorld(World):
    def __init__(self, agent: Agent) -> None:
        self.sandbox = agent.sandbox
        super().__init__(installed(agent.name))


@pytest.fixture(scope="module", params=AGENTS, ids=lambda agent: agent.name)
def played(request: pytest.FixtureRequest) -> Iterator[tuple[Agent, World]]:
    """Without a guard, one session made one call four times and another made five different ones."""
    agent: Agent = request.param
    with AgentWorld(agent) as world:
        for word in WORDS:
            (world.project / f"{word}.txt").write_text(f"{word} is for the one who comes first\n")
        looped = [reply(agent.runs("echo x >> $TRACES/notes"))] * REPEATS
        worked = [reply(agent.runs(f"cat {word}.txt")) for word in WORDS]
        world.model.behave(
            [
                turn(*looped, say("I have looked."), match=LOOPED),
                turn(*worked, say("All of it is read."), match=WORKED),
            ]
        )
        for prompt in (LOOPED, WORKED):
            done = world.run(*agent.argv, prompt)
            assert done.code == 0, done
        assert world.count("notes") == REPEATS
        yield agent, world


def test_the_planted_loop_is_found_and_nothing_else(played: tuple[Agent, World]) -> None:
    agent, world = played
    done = world.ask("scan", "--json")
    assert done.code == 0, done
    found = json.loads(done.out)
    assert found["agents"].keys() == {agent.name}
    assert found["agents"][agent.name]["conversations"] == 2
    assert found["calls"] == REPEATS + len(WORDS)
    (place,) = found["largest"]
    assert place["project"] == str(world.project)
    assert (place["loop"]["rule"], place["loop"]["calls"]) == ("repeat-call", REPEATS - 2)
    assert found["suspects"] == []
    assert (found["tally"]["damaged"], found["tally"]["unknown"], found["unread"]) == (0, 0, 0)


def test_reports_tell_the_sessions_apart(played: tuple[Agent, World]) -> None:
    _, world = played
    found = json.loads(world.ask("scan", "--json").out)
    looped = found["largest"][0]["path"]
    page = Page(world.ask("report", looped, "-o", "-").out)
    assert "repeat-call" in page.text
    newest = Page(world.ask("report", "-o", "-").out)
    assert "No loop was found." in newest.text
