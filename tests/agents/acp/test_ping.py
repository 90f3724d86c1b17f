"""Whether an agent is there can be asked at any time; whatever it answers means nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from loopguard_cli.agents.acp import make
from loopguard_cli.agents.acp.adapter import Acp
from loopguard_cli.agents.base import Order, Pinged, Setup


@pytest.mark.parametrize(
    "said", [{"error": {"code": -32601, "message": "Method not found"}}, {"result": None}]
)
def test_an_answer_of_any_kind_is_no_event(said: dict[str, Any]) -> None:
    agent = make(Setup(argv=("gemini", "--acp"), interactive=False))
    assert isinstance(agent, Acp)
    assert isinstance(agent, Pinged)
    (asked,) = agent.ping().orders
    assert isinstance(asked, Order)
    assert asked.message["method"].startswith("_"), "an extension, which no agent must know"
    message = {"jsonrpc": "2.0", "id": asked.message["id"], **said}
    heard = agent.heard(msgspec.convert(message, agent.speaks))
    assert (tuple(heard.orders), tuple(heard.events)) == ((), ())
