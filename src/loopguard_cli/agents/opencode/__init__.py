"""OpenCode, reached by a plugin that it loads for us."""

from __future__ import annotations

from loopguard_cli.agents import Surface
from loopguard_cli.agents.base import Adapter, Form, Setup
from loopguard_cli.agents.opencode.adapter import OpenCode, capabilities

_BY = "bridge (a plugin, by environment variable)"

SURFACES = (
    Surface(form=Form.SCREEN, example="opencode", reached=_BY, capabilities=capabilities(Form.SCREEN)),
    Surface(
        form=Form.ONE_SHOT,
        example='opencode run "PROMPT"',
        reached=_BY,
        capabilities=capabilities(Form.ONE_SHOT),
    ),
    Surface(form=Form.SERVER, example="opencode serve", reached=_BY, capabilities=capabilities(Form.SERVER)),
)


def make(setup: Setup) -> Adapter:
    return OpenCode(setup.argv, tools=setup.tools, commands=setup.commands)
