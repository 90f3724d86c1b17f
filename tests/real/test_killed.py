"""loopguard is killed outright while a command of an agent runs: what we drove is gone, the command too."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import psutil
import pytest
from tests.real.harness import AgentSandbox, World
from tests.real.installed import installed

from loopguard_cli.testing import claude, codex, copilot, gemini, opencode, pi
from loopguard_cli.testing.script import Call, reply, turn

COMMAND = "true; sleep 3600"
PATIENCE = 20.0
"""Five seconds, and what a busy machine may add."""


class Agent(NamedTuple):
    name: str
    arguments: tuple[str, ...]
    sandbox: type[AgentSandbox]
    shell: str
    """Its tool for commands."""
    args: dict[str, Any]
    acp: bool = False

    @property
    def id(self) -> str:
        return " ".join((self.name, *self.arguments))


PROMPT = ("-p", "Do the task.")
BASH = {"command": COMMAND, "description": "Waits", "timeout": 600_000}
AGENTS = (
    Agent("claude", PROMPT, claude.Sandbox, "Bash", BASH),
    Agent("codex", ("exec", "--skip-git-repo-check", "Do the task."), codex.Sandbox, "exec_command",
          {"cmd": COMMAND}),
    Agent("qwen", ("--auth-type", "openai", "--yolo", *PROMPT), opencode.Sandbox, "run_shell_command",
          {"command": COMMAND, "is_background": False}),
    Agent("copilot", ("--allow-all-tools", *PROMPT), copilot.Sandbox, "bash", BASH),
    Agent("opencode", ("acp",), opencode.Sandbox, "bash", BASH, acp=True),
    Agent("claude-agent-acp", (), claude.Sandbox, "Bash", BASH, acp=True),
    Agent("codex-acp", (), codex.Sandbox, "exec_command", {"cmd": COMMAND}, acp=True),
    Agent("gemini", ("--acp",), gemini.Sandbox, "run_shell_command", {"command": COMMAND}, acp=True),
    Agent("pi-acp", (), pi.Sandbox, "bash", {"command": COMMAND}, acp=True),
)  # fmt: skip


class KilledWorld(World):
    def __init__(self, agent: Agent) -> None:
        self.sandbox = agent.sandbox
        self.driven = agent
        super().__init__(installed(agent.name))

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        model: dict[str, str] = {}
        if self.driven.name == "qwen":
            model = {"OPENAI_BASE_URL": self.model.url, "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}
        elif self.driven.name == "copilot":  # it unpacks itself at its first start, which takes it seconds
            model = {"COPILOT_PKG_CACHE_HOME": str(self.opencode.parents[2] / "unpacked")}
        return super().environment({**model, **(extra or {})})


@pytest.fixture(params=AGENTS, ids=lambda agent: agent.id)
def world(request: pytest.FixtureRequest) -> Iterator[KilledWorld]:
    with KilledWorld(request.param) as world:
        yield world


def test_nothing_is_left(world: KilledWorld) -> None:
    agent = world.driven
    world.model.behave([turn(reply(Call(tool=agent.shell, args=agent.args)))])
    options = ("--agent", "acp", "--permissions", "allow") if agent.acp else ()
    started = world.guard(
        agent.name, *agent.arguments, options=options, stdin="Do the task." if agent.acp else None
    )
    world.wait_until(lambda: world.named("sleep") != [], 90)
    running = world.processes()
    started.signal(signal.SIGKILL)
    left = psutil.wait_procs(running, timeout=PATIENCE)[1]
    assert [process.cmdline() for process in left] == []
    world.check_survivors()
