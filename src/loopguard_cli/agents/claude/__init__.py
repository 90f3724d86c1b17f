"""Claude Code: driven in print mode, reached by hooks and its terminal otherwise."""

from __future__ import annotations

from loopguard_cli.agents import Surface
from loopguard_cli.agents.base import Adapter, Form, Setup
from loopguard_cli.agents.claude import driven
from loopguard_cli.agents.claude.driven import Driven
from loopguard_cli.agents.claude.invocation import parse

SURFACES = (
    Surface(
        form=Form.ONE_SHOT,
        example="claude -p 'fix the tests'",
        reached="driven (stream-json)",
        capabilities=driven.CAPABILITIES,
    ),
)


def make(setup: Setup) -> Adapter:
    invocation = parse(setup.argv, interactive=setup.interactive)
    return Driven(setup, invocation)
