"""The agents that are measured, and how each is made to do what the scripted model says."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from loopguard_cli.testing.subjects import SUBJECTS, Subject

PROMPT = "Do the task."
_AGENTS = Path(__file__).parents[3] / ".agents"
_CLIENT = Path(__file__).with_name("client.py")


class Case(NamedTuple):
    title: str
    subject: Subject
    interrupt: str = ""
    """How long its own interrupt takes, as far as that is known."""
    turn: str = ""
    """How long a whole turn of it takes, as far as that is known."""
    screen: bool = False
    """On a terminal, with the prompt on its command line."""
    streams: bool = True
    """Its text is seen while it is written; else a loop of prose ends with its message."""
    unpacked: str = ""
    """Variable for where it unpacks itself at its first start."""

    def found(self) -> Path | None:
        program = self.subject.program
        place = _AGENTS / program / "node_modules/.bin" / program
        return place.absolute() if place.exists() else None

    @property
    def guarded(self) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
        """Options for ``loopguard run``, the command line behind ``--``, and standard input."""
        subject = self.subject
        if subject.piped:
            return subject.options, (subject.program, *subject.arguments), PROMPT
        return (), (subject.program, *subject.arguments, PROMPT), None

    @property
    def bare(self) -> tuple[tuple[str, ...], str | None]:
        """The command line without us, and standard input."""
        subject = self.subject
        if subject.piped:
            return (sys.executable, str(_CLIENT), subject.program, *subject.arguments), PROMPT
        return (subject.program, *subject.arguments, PROMPT), None

    def environment(self, program: Path) -> dict[str, str]:
        return {self.unpacked: str(program.parents[2] / "unpacked")} if self.unpacked else {}


_LONG_TURNS = {"model": {"name": "gemini-2.5-pro", "disableLoopDetection": True}}
"""After 30 calls Gemini CLI asks the model whether it is in a loop, and ours has no answer to that."""


def _subject(name: str, arguments: tuple[str, ...] | None = None, **configuration: Any) -> Subject:
    subject = SUBJECTS[name]
    given: Mapping[str, Any] = {**subject.configuration, **configuration}
    return subject._replace(
        configuration=given, arguments=subject.arguments if arguments is None else arguments
    )


CASES: Mapping[str, Case] = {
    "pi": Case("pi 1.6, `-p`", _subject("pi"), "10", "100 to 1,000"),
    "claude": Case("Claude Code 2.1, `-p`", _subject("claude"), "20", "100 to 1,000"),
    "codex": Case("Codex 0.171, `exec`", _subject("codex"), "10", "100 to 1,000"),
    "copilot": Case("Copilot CLI 1.0, `-p`", _subject("copilot"), unpacked="COPILOT_PKG_CACHE_HOME"),
    "gemini": Case("Gemini CLI 0.61, `-p`", _subject("gemini", **_LONG_TURNS), turn="2,500"),
    "qwen": Case("Qwen Code 0.24, `-p`", _subject("qwen")),
    "claude-agent-acp": Case("ACP: `claude-agent-acp`, asking", _subject("claude-agent-acp")),
    "gemini-acp": Case("ACP: `gemini --acp`, asking", _subject("gemini-acp", **_LONG_TURNS)),
    "opencode-acp": Case("ACP: `opencode acp`, asking", _subject("opencode-acp")),
    "pi-screen": Case("pi 1.6, interactive", _subject("pi", ()), "10", screen=True),
    "claude-screen": Case("Claude Code 2.1, interactive", _subject("claude", ()), screen=True, streams=False),
    "codex-screen": Case("Codex 0.171, interactive", _subject("codex", ("-a", "never")), "10", screen=True),
}
