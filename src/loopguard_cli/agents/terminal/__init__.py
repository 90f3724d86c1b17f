"""Any program on a terminal, guarded by the text that it writes there."""

from __future__ import annotations

from loopguard_cli.agents import Surface
from loopguard_cli.agents.base import Adapter, Form, Setup
from loopguard_cli.agents.terminal.adapter import TerminalAgent, capabilities

_BY = "terminal (its screen is read, keys are typed)"
_REMARK = (
    "tool calls are not seen; on the alternate screen only text that is seen being written is read; "
    "busy and idle are inferred from the screen"
)

SURFACES = (
    Surface(
        form=Form.SCREEN,
        example="--agent terminal -- ./my-agent",
        reached=_BY,
        capabilities=capabilities(prompt=True),
        remark=_REMARK,
    ),
    Surface(
        form=Form.SCREEN,
        example="./anything",
        reached=_BY,
        capabilities=capabilities(prompt=False),
        remark=f"{_REMARK}; nothing is typed but the interrupt key, since it may be no agent at all",
    ),
)


def make(setup: Setup) -> Adapter:
    """For a program that a person calls an agent."""
    return TerminalAgent(setup)


def unknown(setup: Setup) -> Adapter:
    """For a program that nobody has said anything about: a prompt typed into a shell would be run."""
    return TerminalAgent(setup, typing=False)
