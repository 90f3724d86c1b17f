"""Any agent that speaks the Agent Client Protocol on its standard streams."""

from __future__ import annotations

from collections.abc import Sequence

from loopguard_cli.agents import Surface
from loopguard_cli.agents.acp.adapter import Acp, capabilities
from loopguard_cli.agents.base import Adapter, Form, Setup

_BY = "driven (we are its client)"
_REMARK = (
    "gated where the agent asks for permission, else a repeated call costs the turn; "
    "no reason with a refusal and no hint into a running turn"
)

SURFACES = (
    Surface(
        form=Form.CONSOLE,
        example="--agent acp -- opencode acp",
        reached=_BY,
        capabilities=capabilities(tools=True),
        remark=_REMARK,
    ),
    Surface(
        form=Form.ONE_SHOT,
        example="--agent acp -- opencode acp < prompt.txt",
        reached=_BY,
        capabilities=capabilities(tools=True),
        remark=_REMARK,
    ),
)


_FLAGS = {"--acp", "--experimental-acp"}


def spoken(argv: Sequence[str]) -> bool:
    """Whether a program that nobody knows is told to speak the protocol."""
    return not _FLAGS.isdisjoint(argv)


def make(setup: Setup) -> Adapter:
    return Acp(setup)
