"""Real agents whose pipes we hold answer in the midst of a turn whether they are there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.real.claude.world import ClaudeWorld
from tests.real.claude.world import run as claude_runs
from tests.real.codex.world import CodexWorld
from tests.real.codex.world import run as codex_runs
from tests.real.harness import World
from tests.real.installed import installed
from tests.real.qwen.test_print import MEMORY, QWEN, TASK, QwenWorld

from loopguard_cli.agents.transcript import Step, read
from loopguard_cli.core.events import ToolFinished
from loopguard_cli.testing.script import Call, reply, say, turn

LONG = "sleep 6; echo built"
"""A tool that says nothing for longer than it takes until an agent is asked."""


def qwen_runs(command: str) -> Call:
    return Call(tool="run_shell_command", args={"command": command, "is_background": False})


AGENTS: dict[str, tuple[type[World], Any, tuple[str, ...]]] = {
    "claude": (ClaudeWorld, claude_runs, ("claude", "-p", TASK)),
    "codex": (CodexWorld, codex_runs, ("codex", "exec", "--skip-git-repo-check", TASK)),
    "qwen": (QwenWorld, qwen_runs, (*QWEN, "-p", TASK)),
}


@pytest.fixture(params=AGENTS)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with AGENTS[request.param][0](installed(request.param)) as world:
        yield world


def test_it_answers_while_a_tool_runs_and_nothing_else_comes_of_it(world: World) -> None:
    _, runs, command = next(agent for agent in AGENTS.values() if isinstance(world, agent[0]))
    long = runs(str(world.script("build.sh", LONG)))
    world.model.behave([MEMORY, turn(reply(long), say("All good."))])
    transcript = world.root / "transcript.jsonl"
    result = world.guard(*command, env={"LOOPGUARD_TRANSCRIPT": str(transcript)}).wait()
    assert (result.code, result.out.strip()) == (0, "All good."), result
    assert "NOT GUARDED" not in result.err
    assert "1 tool call, 0 blocked" in result.err
    steps = read(transcript.read_bytes().splitlines()).steps
    built = next(n for n, step in enumerate(steps) if any(isinstance(e, ToolFinished) for e in step.events))
    asked = {_question(step) for step in steps[:built] if step.call == "ping"}
    answered = [step for step in steps[:built] if step.call == "heard" and _answered(step) in asked]
    assert asked
    assert len(answered) == len(asked)
    assert not any(step.events or step.orders for step in answered)


def _question(step: Step) -> str:
    (order,) = step.orders
    return str(order["message"].get("request_id", order["message"].get("id")))


def _answered(step: Step) -> str:
    (message,) = step.args
    if "method" in message:
        return ""
    response = message.get("response")
    return str(response["request_id"] if isinstance(response, dict) else message.get("id"))
