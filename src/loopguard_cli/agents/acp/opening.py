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
    servers = [{"name": "loopguard", **setup.tool_program.listed()}] if setup.tool_program else []
    return {"cwd": setup.directory, "mcpServers": servers}
