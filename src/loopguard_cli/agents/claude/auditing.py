"""Claude Code once more, able to read and to do nothing else, to verify a goal."""

from __future__ import annotations

from loopguard_cli.agents.base import Form, LaunchPlan
from loopguard_cli.agents.claude.invocation import Invocation

READING = "Read,Glob,Grep"
"""The only tools of an auditor."""


def auditor(invocation: Invocation, prompt: str) -> LaunchPlan:
    """A one-shot process that leaves no session behind and reaches no servers of the person's."""
    argv = (
        *invocation.program, "--print", "--tools", READING, "--strict-mcp-config", "--no-session-persistence",
        "--permission-mode", "dontAsk", *invocation.model,
    )  # fmt: skip
    return LaunchPlan(argv=argv, form=Form.ONE_SHOT, stdin=prompt.encode(), bridged=False)
