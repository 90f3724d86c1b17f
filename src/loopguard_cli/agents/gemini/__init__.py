"""Gemini CLI: reached by the hooks of an extension; with ``--acp`` it is an agent of that protocol."""

from __future__ import annotations

from loopguard_cli.agents import Surface
from loopguard_cli.agents.base import Adapter, Form, Setup
from loopguard_cli.agents.gemini.adapter import ONE_SHOT, SCREEN, Gemini
from loopguard_cli.agents.gemini.invocation import parse

SURFACES = (
    Surface(
        form=Form.SCREEN,
        example="gemini",
        reached="hooked (an extension for this one start) and terminal",
        capabilities=SCREEN,
        remark="while no hook is called, a turn is interrupted by Escape",
    ),
    Surface(
        form=Form.ONE_SHOT,
        example="gemini -p 'fix the tests'",
        reached="hooked (an extension for this one start)",
        capabilities=ONE_SHOT,
        remark="a turn is interrupted at its next step: a piece of text, or the end of a tool call, and goes"
        " on by another start in its session; calls of tools that it does not have are not seen (it ends"
        " their loops itself, at the fifth)",
    ),
)


def make(setup: Setup) -> Adapter:
    asked = parse(setup.argv, interactive=setup.interactive)
    if asked.acp:
        from loopguard_cli.agents import acp

        return acp.make(setup)
    return Gemini(setup, asked)
