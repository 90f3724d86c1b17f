"""The agents we know: a literal registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from loopguard_cli.agents.base import Adapter
from loopguard_cli.agents.opencode import launch as opencode_launch
from loopguard_cli.agents.opencode.adapter import OpenCode
from loopguard_cli.agents.plain import Plain
from loopguard_cli.agents.tools import AgentTool, SlashCommand
from loopguard_cli.errors import UsageError


class Known(NamedTuple):
    """One agent of the registry."""

    recognises: Callable[[Sequence[str]], bool]
    """Whether a command line starts it."""
    make: Callable[[Sequence[str], Sequence[AgentTool], Sequence[SlashCommand]], Adapter]


def _opencode(argv: Sequence[str], tools: Sequence[AgentTool], commands: Sequence[SlashCommand]) -> Adapter:
    return OpenCode(argv, tools=tools, commands=commands)


AGENTS: dict[str, Known] = {
    "opencode": Known(opencode_launch.recognises, _opencode),
}


def choose(
    argv: Sequence[str],
    name: str = "",
    *,
    tools: Sequence[AgentTool] = (),
    commands: Sequence[SlashCommand] = (),
) -> Adapter:
    """The adapter for a command line: the one named, or the one that recognises it."""
    if name and name not in AGENTS:
        raise UsageError(f"unknown agent {name!r}", f"known: {', '.join(AGENTS)}")
    for key, known in AGENTS.items():
        if key == name or (not name and known.recognises(argv)):
            return known.make(argv, tools, commands)
    return Plain(argv)
