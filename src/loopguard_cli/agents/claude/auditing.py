"""Claude Code once more, able to read and to do nothing else, to verify a goal."""

from __future__ import annotations

from collections.abc import Mapping

from loopguard_cli.agents.base import Form, LaunchPlan
from loopguard_cli.agents.claude.invocation import Invocation
from loopguard_cli.core.effects import RunAudit

READING = "Read,Glob,Grep"
"""The only tools of an auditor."""


class Audited:
    """A one-shot process that leaves no session behind and reaches no servers of the person's."""

    _invocation: Invocation

    def auditor(self, _environ: Mapping[str, str], audit: RunAudit) -> LaunchPlan:
        asked = self._invocation
        argv = (
            *asked.program, "--print", "--tools", READING, "--strict-mcp-config", "--no-session-persistence",
            "--permission-mode", "dontAsk", *asked.model,
        )  # fmt: skip
        return LaunchPlan(argv=argv, form=Form.ONE_SHOT, stdin=audit.prompt.encode(), bridged=False)

    def verdict(self, output: str) -> str:
        return output.strip()
