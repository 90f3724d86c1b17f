"""What we put inside Gemini CLI: an extension for this one start, beside the person's own.

Extensions are looked for in the agent's home, so it gets one that mirrors the person's: settings,
sessions and credentials are theirs, and what is changed there is changed in theirs.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from loopguard_cli import __version__
from loopguard_cli.agents.base import BridgeAddress, Hook, Mirror, Setup
from loopguard_cli.agents.tools import SlashCommand

NAME = "loopguard"
HOME = "GEMINI_CLI_HOME"
TOOL_PREFIX = f"mcp_{NAME}_"
"""What Gemini CLI puts before the names of our tools."""
COMMAND = "loopguard:command"
"""How a prompt begins that one of our slash commands stands for."""

HOOKS = (
    "SessionStart", "BeforeAgent", "BeforeModel", "AfterModel", "BeforeTool", "AfterTool", "AfterAgent",
    "Notification",
)  # fmt: skip
CALLED = {name: Hook(events=(name,), client=True) for name in HOOKS}
PATIENCE_MS = 7 * 24 * 3600 * 1000
"""For the hook at the end of a turn: it waits for what the turn goes on with."""
ANSWER_MS = 30_000

_HOME = "home"
_FOLDER = ".gemini"
_EXTENSIONS = "extensions"
_WRITTEN = (
    "google_accounts.json", "installation_id", "mcp-oauth-tokens.json", "oauth_creds.json", "settings.json",
    "state.json", "trustedFolders.json",
)  # fmt: skip


def home_of(environ: Mapping[str, str]) -> PurePath:
    """The home that Gemini CLI would take without us."""
    return PurePath(environ.get(HOME) or environ.get("HOME") or "/")


def mirrors(environ: Mapping[str, str]) -> tuple[Mirror, ...]:
    folder = home_of(environ) / _FOLDER
    return (Mirror(folder=str(folder), at=f"{_HOME}/{_FOLDER}", opened=(_EXTENSIONS,), written=_WRITTEN),)


def environment(address: BridgeAddress) -> dict[str, str]:
    return {HOME: f"{address.folder}/{_HOME}"}


def files(address: BridgeAddress, setup: Setup) -> dict[str, bytes]:
    """The files of the extension, for `LaunchPlan.files`."""
    at = f"{_HOME}/{_FOLDER}/{_EXTENSIONS}/{NAME}"
    found: dict[str, Any] = {
        "gemini-extension.json": {"name": NAME, "version": __version__, "mcpServers": _servers(setup)},
        # Who lists the extensions that may be loaded lists them by where they come from.
        ".gemini-extension-install.json": {"source": f"{address.folder}/{at}", "type": "local"},
        "hooks/hooks.json": {"hooks": {name: [{"hooks": [_hook(address, name)]}] for name in HOOKS}},
    }
    written = {name: msgspec.json.format(msgspec.json.encode(content)) for name, content in found.items()}
    written |= _commands(setup.commands)
    return {f"{at}/{name}": content for name, content in written.items()}


def _hook(address: BridgeAddress, hook: str) -> dict[str, Any]:
    command = shlex.join((*address.hook_command, hook))
    patience = PATIENCE_MS if hook == "AfterAgent" else ANSWER_MS
    return {"type": "command", "name": NAME, "command": command, "timeout": patience}


def _servers(setup: Setup) -> dict[str, Any]:
    return {NAME: setup.tool_program.entry()} if setup.tool_program else {}


def _commands(given: Sequence[SlashCommand]) -> dict[str, bytes]:
    written = {}
    for command in given:
        fields = {
            "description": command.description,
            "prompt": f"{COMMAND} {command.name} {{{{args}}}}",
        }
        lines = [f"{name} = {msgspec.json.encode(value).decode()}" for name, value in fields.items()]
        written[f"commands/{command.name}.toml"] = "\n".join(lines).encode()
    return written
