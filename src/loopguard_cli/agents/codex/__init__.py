"""Codex, by OpenAI: ``codex exec`` through its server, and the interactive program in front of it."""

from __future__ import annotations

from loopguard_cli.agents import Surface
from loopguard_cli.agents.base import Adapter, Form, Setup
from loopguard_cli.agents.codex.exec import Exec
from loopguard_cli.agents.codex.options import Kind, parse
from loopguard_cli.agents.codex.screen import Screen
from loopguard_cli.agents.codex.server import capabilities
from loopguard_cli.agents.codex.unguarded import NO_TERMINAL, Unguarded, because_of

SURFACES = (
    Surface(
        form=Form.SCREEN,
        example="codex",
        reached="relayed (between it and its server), hook before each call",
        capabilities=capabilities(screen=True, tools=True),
        remark="with -p, --remote and the agent view ('codex agents') it runs unguarded, and says so",
    ),
    Surface(
        form=Form.ONE_SHOT,
        example="codex exec 'fix the build'",
        reached="driven (its server), hook before each call",
        capabilities=capabilities(screen=False, tools=True),
        remark="with -p, --oss, --worktree, review and fork it runs unguarded, and says so",
    ),
)


def make(setup: Setup) -> Adapter:
    options = parse(setup.argv)
    if options.kind is Kind.EXEC:
        return Exec(setup, options)
    if options.kind is not Kind.SCREEN:
        return Unguarded(setup.argv, because_of(options.why))
    return Screen(setup, options) if setup.interactive else Unguarded(setup.argv, NO_TERMINAL)
