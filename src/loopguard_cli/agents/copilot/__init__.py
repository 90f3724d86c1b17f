"""GitHub Copilot CLI: hooked and read along in prompt mode; with ``--acp`` an agent of that protocol."""

from __future__ import annotations

from loopguard_cli.agents import Surface
from loopguard_cli.agents.base import Adapter, Form, Setup
from loopguard_cli.agents.copilot.adapter import CAPABILITIES, Copilot
from loopguard_cli.agents.copilot.invocation import parse

SURFACES = (
    Surface(
        form=Form.ONE_SHOT,
        example="copilot -p 'fix the tests'",
        reached="hooked (a plugin for this one start), and its output is read along",
        capabilities=CAPABILITIES,
        remark=(
            "reasoning and what sub-agents say are seen with --output-format json only; interactive, it is a "
            "program on a terminal like any other; with --acp see Agent Client Protocol"
        ),
    ),
)


def make(setup: Setup) -> Adapter:
    asked = parse(setup.argv, interactive=setup.interactive)
    if asked.acp:
        from loopguard_cli.agents import acp

        return acp.make(setup)
    if asked.form is Form.SCREEN:
        from loopguard_cli.agents import terminal

        return terminal.make(setup)
    return Copilot(setup, asked)
