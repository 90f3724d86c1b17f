"""Qwen Code: driven in print mode, which speaks like Claude Code's; else a program on a terminal."""

from __future__ import annotations

from loopguard_cli.agents import Surface
from loopguard_cli.agents.base import Adapter, Form, Setup
from loopguard_cli.agents.qwen.driven import CAPABILITIES, Qwen
from loopguard_cli.agents.qwen.invocation import parse

SURFACES = (
    Surface(
        form=Form.ONE_SHOT,
        example="qwen -p 'fix the tests'",
        reached="driven (stream-json) and hooked (defaults of its settings)",
        capabilities=CAPABILITIES,
        remark="the model finds our tools by its tool search; interactive, it is a program on a terminal like"
        " any other",
    ),
)


def make(setup: Setup) -> Adapter:
    asked = parse(setup.argv, interactive=setup.interactive)
    if asked.form is Form.SCREEN:
        from loopguard_cli.agents import terminal

        return terminal.make(setup)
    return Qwen(setup, asked)
