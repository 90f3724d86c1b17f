"""Claude Code: driven in print mode, reached by the hooks of a plugin otherwise."""

from __future__ import annotations

from loopguard_cli.agents import Surface
from loopguard_cli.agents.base import Adapter, Form, Setup
from loopguard_cli.agents.claude import driven, interactive
from loopguard_cli.agents.claude.driven import Driven
from loopguard_cli.agents.claude.interactive import Interactive
from loopguard_cli.agents.claude.invocation import parse

SURFACES = (
    Surface(
        form=Form.SCREEN,
        example="claude",
        reached="hooked (a plugin for this one start) and terminal",
        capabilities=interactive.SCREEN,
        remark=(
            "text is seen when a message is complete, not while it streams; in a folder that Claude Code "
            "does not trust it asks first, and is guarded from then on"
        ),
    ),
    Surface(
        form=Form.ONE_SHOT,
        example="claude -p 'fix the tests'",
        reached="driven (stream-json)",
        capabilities=driven.CAPABILITIES,
    ),
    Surface(
        form=Form.ONE_SHOT,
        example="claude -p --bare 'fix the tests'",
        reached="driven (stream-json)",
        capabilities=driven.UNGATED,
        remark="--bare switches the hooks off that ask us: a repeated call costs the turn",
    ),
    Surface(
        form=Form.ONE_SHOT,
        example="claude -p --input-format stream-json ...",
        reached="hooked (a plugin for this one start)",
        capabilities=interactive.HOSTED,
        remark=(
            "another program talks to it, so nothing but its hooks is ours: it cannot be interrupted, and "
            "is prompted only at the end of a turn"
        ),
    ),
)


def make(setup: Setup) -> Adapter:
    asked = parse(setup.argv, interactive=setup.interactive)
    if asked.form is Form.ONE_SHOT and asked.understood and asked.printable and not asked.streams_in:
        return Driven(setup, asked)
    return Interactive(setup, asked)
