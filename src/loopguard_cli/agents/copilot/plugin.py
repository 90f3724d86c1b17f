"""What we put inside Copilot CLI: a plugin for one start, with hooks and our tool server."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec

from loopguard_cli import __version__
from loopguard_cli.agents.base import BridgeAddress, Setup

NAME = "loopguard"
TOOL_PREFIX = f"{NAME}-"
"""What Copilot CLI puts before the names of our tools."""
HOOKS = (
    "sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure", "agentStop",
    "subagentStart", "subagentStop", "preCompact",
)  # fmt: skip
ANSWER_SECONDS = 30

_FOLDER = "copilot"


def arguments(address: BridgeAddress) -> tuple[str, ...]:
    """What loads it, for the command line."""
    return ("--plugin-dir", f"{address.folder}/{_FOLDER}")


def files(address: BridgeAddress, setup: Setup) -> dict[str, bytes]:
    """The files of the plugin, for `LaunchPlan.files`."""
    found: dict[str, Any] = {
        "plugin.json": {
            "name": NAME,
            "version": __version__,
            "description": "Asks loopguard before each call.",
            "hooks": "hooks.json",
            "mcpServers": _servers(setup),
        },
        "hooks.json": {"version": 1, "hooks": {name: [_hook(address, name)] for name in HOOKS}},
    }
    return {f"{_FOLDER}/{name}": msgspec.json.encode(content) for name, content in found.items()}


def _hook(address: BridgeAddress, hook: str) -> dict[str, Any]:
    command = shlex.join((*address.hook_command, hook))
    return {"type": "command", "bash": command, "timeoutSec": ANSWER_SECONDS}


def _servers(setup: Setup) -> dict[str, Any]:
    if setup.tool_program is None:
        return {}
    return {NAME: {"type": "local", **setup.tool_program.entry(), "tools": ["*"]}}
