"""What is said before the first prompt: who we are, and which session we want."""

from __future__ import annotations

from typing import Any

from loopguard_cli import __version__
from loopguard_cli.agents.acp.protocol import VERSION
from loopguard_cli.agents.base import Setup


def greeting() -> dict[str, Any]:
    """The parameters of ``initialize``: a client that offers neither files nor terminals."""
    return {
        "protocolVersion": VERSION,
        "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
        "clientInfo": {"name": "loopguard", "version": __version__},
    }


def session(setup: Setup) -> dict[str, Any]:
    """The parameters of ``session/new``: the folder, and the server with our tools."""
    env = [{"name": name, "value": value} for name, value in setup.tool_environment.items()]
    servers = [
        {"name": "loopguard", "command": command, "args": args, "env": env}
        for command, *args in filter(None, [setup.tool_server])
    ]
    return {"cwd": setup.directory, "mcpServers": servers}
