"""The agents that are measured, and how each is made to do what the scripted model says."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from loopguard_cli.testing import opencode
from loopguard_cli.testing.examine import SUBJECTS
from loopguard_cli.testing.script import Call
from tests.real.harness import AgentSandbox

PROMPT = "Do the task."
_AGENTS = Path(__file__).parents[3] / ".agents"
_CLIENT = Path(__file__).with_name("client.py")


class Case(NamedTuple):
    title: str
    agent: str
    """Its folder below ``.agents/``."""
    program: str
    arguments: tuple[str, ...]
    """In front of the prompt; over ACP, the prompt comes from standard input."""
    sandbox: type[AgentSandbox]
    shell: Callable[[str], Call]
    known: str = ""
    """How long its own interrupt takes, as far as that is known."""
    acp: bool = False
    configuration: Mapping[str, Any] = {}

    def found(self) -> Path | None:
        place = _AGENTS / self.agent / "node_modules/.bin" / self.program
        return place.absolute() if place.exists() else None

    @property
    def guarded(self) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
        """Options for ``loopguard run``, the command line behind ``--``, and standard input."""
        if self.acp:
            return ("--agent", "acp", "--permissions", "allow"), (self.program, *self.arguments), PROMPT
        return (), (self.program, *self.arguments, PROMPT), None

    @property
    def bare(self) -> tuple[tuple[str, ...], str | None]:
        """The command line without us, and standard input."""
        if self.acp:
            return (sys.executable, str(_CLIENT), self.program, *self.arguments), PROMPT
        return (self.program, *self.arguments, PROMPT), None


_LONG_TURNS = {"model": {"name": "gemini-2.5-pro", "disableLoopDetection": True}}
"""After 30 calls Gemini CLI asks the model whether it is in a loop, and ours has no answer to that."""


def _headless(title: str, agent: str, known: str = "") -> Case:
    subject: Any = SUBJECTS[agent]
    return Case(title, agent, subject.program, subject.arguments, subject.sandbox, subject.shell, known)


CASES = (
    _headless("pi 1.6, `-p`", "pi", "10 ms"),
    _headless("Claude Code 2.1, `-p`", "claude", "20 ms"),
    _headless("Codex 0.171, `exec`", "codex", "10 ms"),
    _headless("Gemini CLI 0.61, `-p`", "gemini")._replace(configuration=_LONG_TURNS),
    Case(
        "ACP (`opencode acp`, asking)",
        "opencode",
        "opencode",
        ("acp",),
        opencode.Sandbox,
        SUBJECTS["opencode"].shell,
        acp=True,
        configuration={"permission": {"bash": "ask"}},
    ),
)
