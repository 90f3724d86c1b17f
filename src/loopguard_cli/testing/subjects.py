"""The agents that can be tried, and how each is made to do what a scripted model says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from loopguard_cli.testing import claude, codex, copilot, gemini, opencode, pi, qwen
from loopguard_cli.testing.script import Call


class Sandbox(Protocol):
    """Where the agent plays."""

    def __init__(self, root: Path, base_url: str) -> None: ...
    @property
    def home(self) -> Path: ...
    @property
    def project(self) -> Path: ...
    def configure(self, keys: Mapping[str, Any]) -> None: ...
    def environment(self) -> dict[str, str]: ...


class Subject(NamedTuple):
    """One agent in one form that needs no person."""

    program: str
    sandbox: type[Sandbox]
    arguments: tuple[str, ...]
    """In front of the prompt."""
    shell: Callable[[str], Call]
    """A call that runs a command."""
    options: tuple[str, ...] = ()
    """For ``loopguard run``."""
    piped: bool = False
    """It is prompted on standard input, by us: we are its client."""
    configuration: Mapping[str, Any] = {}
    """Top-level keys of its settings, so that it asks before calls where it can."""
    gated: bool = True
    """It can be made to ask; else a repeated call costs the turn."""
    aside: str = ""
    """Regular expression for requests to the model that are not about the task."""
    agent: str = ""
    """Its name in the registry, where that is another."""
    tested: str = ""
    """The version that our own tests drive, where the registry does not say."""

    def is_aside(self, prompt: str) -> bool:
        """Whether the model is asked about something else than the task."""
        return bool(self.aside) and re.search(self.aside, prompt) is not None


def _noted(tool: str, **more: Any) -> Callable[[str], Call]:
    return lambda command: Call(tool=tool, args={"command": command, **more})


_DESCRIBED = {"description": "Notes that it ran"}


def _acp(subject: Subject, **more: Any) -> Subject:
    options = ("--agent", "acp", "--permissions", "allow")
    return subject._replace(options=options, piped=True, agent="acp", **{"arguments": (), **more})


_HEADLESS: Mapping[str, Subject] = {
    "opencode": Subject("opencode", opencode.Sandbox, ("run",), _noted("bash", **_DESCRIBED)),
    "claude": Subject("claude", claude.Sandbox, ("-p",), _noted("Bash", **_DESCRIBED)),
    "codex": Subject(
        "codex",
        codex.Sandbox,
        ("exec", "--skip-git-repo-check"),
        lambda command: Call(tool="exec_command", args={"cmd": command}),
    ),
    "gemini": Subject("gemini", gemini.Sandbox, ("--yolo", "-p"), _noted("run_shell_command")),
    "qwen": Subject(
        "qwen",
        qwen.Sandbox,
        ("--auth-type", "openai", "--yolo", "-p"),
        _noted("run_shell_command", is_background=False),
        aside=qwen.ASIDE,
    ),
    "copilot": Subject("copilot", copilot.Sandbox, ("--allow-all-tools", "-p"), _noted("bash", **_DESCRIBED)),
    "pi": Subject("pi", pi.Sandbox, ("-p",), _noted("bash")),
}

_ACP: Mapping[str, Subject] = {
    "opencode-acp": _acp(
        _HEADLESS["opencode"], arguments=("acp",), configuration={"permission": {"bash": "ask"}}
    ),
    "gemini-acp": _acp(_HEADLESS["gemini"], arguments=("--acp",)),
    "copilot-acp": _acp(_HEADLESS["copilot"], arguments=("--acp",)),
    "claude-agent-acp": _acp(
        _HEADLESS["claude"],
        program="claude-agent-acp",
        configuration={"permissions": {"allow": [], "defaultMode": "default"}},
        aside=r"^\[SUGGESTION MODE",
        tested="0.101.0",
    ),
    "codex-acp": _acp(
        _HEADLESS["codex"],
        program="codex-acp",
        configuration={"approval_policy": "untrusted"},
        tested="0.16.0",
    ),
    "pi-acp": _acp(_HEADLESS["pi"], program="pi-acp", gated=False, tested="0.0.34"),
}

SUBJECTS: Mapping[str, Subject] = {**_HEADLESS, **_ACP}
"""By their name in the registry, those of the Agent Client Protocol by names of their own."""
