"""What is ours in Qwen Code, hooks and tools: in settings of the lowest rank, below the person's own."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from loopguard_cli.agents.base import BridgeAddress, Setup
from loopguard_cli.agents.claude.toolserver import NAME

VARIABLE = "QWEN_CODE_SYSTEM_DEFAULTS_PATH"
"""Where Qwen Code finds the defaults of its settings."""
HOOKS = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure")
ANSWER_MS = 30_000

_FILE = "qwen-defaults.json"


def taken(environ: Mapping[str, str]) -> bool:
    """Somebody else has set defaults, which ours would hide."""
    return bool(environ.get(VARIABLE))


def environment(address: BridgeAddress) -> dict[str, str]:
    return {VARIABLE: f"{address.folder}/{_FILE}"}


def files(address: BridgeAddress, setup: Setup) -> dict[str, bytes]:
    """The settings, for `LaunchPlan.files`."""
    groups = {name: [{"matcher": "*", "hooks": [_hook(address, name)]}] for name in HOOKS}
    # Trusted: our tools ask for nothing but us.
    servers = {NAME: {**setup.tool_program.entry(), "trust": True}} if setup.tool_program else {}
    return {_FILE: msgspec.json.encode({"hooks": groups, "mcpServers": servers})}


def _hook(address: BridgeAddress, hook: str) -> dict[str, Any]:
    command = shlex.join((*address.hook_command, hook))
    return {"type": "command", "name": NAME, "command": command, "timeout": ANSWER_MS}
