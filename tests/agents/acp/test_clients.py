"""Another client of the protocol that takes us for the agent."""

from __future__ import annotations

import json

import pytest

from loopguard_cli.agents.acp import make
from loopguard_cli.agents.acp.adapter import Acp
from loopguard_cli.agents.base import Setup, Show, Shown
from loopguard_cli.core.events import AgentExited


@pytest.fixture
def agent() -> Acp:
    adapter = make(Setup(argv=("gemini", "--acp"), interactive=False))
    assert isinstance(adapter, Acp)
    return adapter


def test_a_request_of_a_client_is_answered_with_what_to_do_and_the_run_ends(agent: Acp) -> None:
    asked = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {"protocolVersion": 1}}
    answered, note = agent.overheard(json.dumps(asked)).orders
    assert isinstance(answered, Shown)
    assert isinstance(note, Shown)
    assert (answered.kind, note.kind) == (Show.OUT, Show.NOTE)
    failure = json.loads(answered.text)
    assert failure["id"] == 7
    assert "without loopguard" in failure["error"]["message"]
    assert "without loopguard" in note.text
    assert agent.finished
    assert agent.exited(0) == [AgentExited(code=2)]


@pytest.mark.parametrize("line", ["fix the build", '{"name": "x"}', "", "[1]", '{"method": "m"}'])
def test_a_prompt_from_a_pipe_is_one_whatever_it_looks_like(agent: Acp, line: str) -> None:
    assert agent.overheard(line).orders == ()
    assert not agent.finished
