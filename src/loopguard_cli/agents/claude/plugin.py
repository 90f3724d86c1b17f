"""What we put inside an interactive Claude Code: a plugin for this one start, in the run's private folder.

A plugin holds hooks, tools and slash commands at once, and stands beside whatever the person has in
settings of their own, ``--settings`` included. Its commands carry its name: ``/loopguard:goal``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from loopguard_cli import __version__
from loopguard_cli.agents.base import BridgeAddress, Hook
from loopguard_cli.agents.claude.toolserver import NAME
from loopguard_cli.agents.tools import SlashCommand

FOLDER = "plugin"
TOOL_PREFIX = f"mcp__plugin_{NAME}_{NAME}__"
"""What Claude Code puts before the names of a plugin's tools."""

WAIT = "wait"
"""The hook that waits for something to say: when it fails, its complaint begins a turn."""
MCP = "mcp"

HOOKS = (
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "StopFailure",
    "SubagentStart", "SubagentStop", "PreCompact", "SessionEnd",
)  # fmt: skip
"""Called over HTTP. SessionStart cannot be."""
CALLED = {
    **{name: Hook(events=(name,)) for name in HOOKS},
    "SessionStart": Hook(events=("SessionStart",), client=True),
    WAIT: Hook(events=("SessionStart", "UserPromptSubmit"), client=True),
    MCP: Hook(),
}
"""Our hooks, as `files` tells Claude Code to call them."""

_ANSWER_SECONDS = 30
_WAIT_SECONDS = 7 * 24 * 3600
_COMMAND = """---
description: {description}
---
loopguard, which answers this command, is not there. Say so, and do nothing else.
"""


def commands(given: Sequence[SlashCommand]) -> dict[str, SlashCommand]:
    """The commands by what is typed, without the slash."""
    return {f"{NAME}:{command.name}": command for command in given}


def files(
    address: BridgeAddress,
    given: Sequence[SlashCommand],
    *,
    tools: bool,
    waits: bool,
    closed: bool = False,
) -> dict[str, bytes]:
    """The files of the plugin, for `LaunchPlan.files`.

    ``waits``: with hooks that wait for something to say. A process that ends by itself would wait for
    them half a minute. ``closed``: a call that we do not answer is refused.
    """
    hooks: dict[str, list[dict[str, Any]]] = {name: [_http(address, name)] for name in HOOKS}
    if closed:
        hooks["PreToolUse"][0]["onFailure"] = "block"
    hooks["SessionStart"] = [_command(address, "SessionStart")]
    if waits:
        hooks["UserPromptSubmit"].append(_wait(address))
        hooks["SessionStart"].append(_wait(address))
    servers = {NAME: {"type": "http", "url": address.hooks + MCP}} if tools else {}
    described = "Guards against loops, and keeps the session at its goal."
    found: dict[str, Any] = {
        ".claude-plugin/plugin.json": {"name": NAME, "version": __version__, "description": described},
        "hooks/hooks.json": {"hooks": {name: [{"hooks": entries}] for name, entries in hooks.items()}},
        ".mcp.json": {"mcpServers": servers},
    }
    written = {name: msgspec.json.format(msgspec.json.encode(content)) for name, content in found.items()}
    for command in given:
        quoted = msgspec.json.encode(command.description).decode()
        written[f"commands/{command.name}.md"] = _COMMAND.format(description=quoted).encode()
    return {f"{FOLDER}/{name}": content for name, content in written.items()}


def _http(address: BridgeAddress, hook: str) -> dict[str, Any]:
    return {"type": "http", "url": address.hooks + hook, "timeout": _ANSWER_SECONDS}


def _command(address: BridgeAddress, hook: str) -> dict[str, Any]:
    program, *arguments = address.hook_command
    return {"type": "command", "command": program, "args": [*arguments, hook], "timeout": _ANSWER_SECONDS}


def _wait(address: BridgeAddress) -> dict[str, Any]:
    return {**_command(address, WAIT), "asyncRewake": True, "timeout": _WAIT_SECONDS}
