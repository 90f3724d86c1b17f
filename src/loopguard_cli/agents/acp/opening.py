"""What is said before the first prompt: who we are, and which session we want."""

from __future__ import annotations

from typing import Any

import msgspec

from loopguard_cli import __version__
from loopguard_cli.agents.acp.protocol import VERSION
from loopguard_cli.agents.base import Setup, Show, Shown
from loopguard_cli.wire import jsonrpc

_TWO_CLIENTS = (
    "another client of the agent (an editor?) speaks on standard input, and loopguard is a client itself: it"
    " cannot stand between the two. Let that client start the agent without loopguard, or talk to the agent"
    " by loopguard in a terminal"
)


def greeting() -> dict[str, Any]:
    """The parameters of ``initialize``: a client that offers neither files nor terminals."""
    return {
        "protocolVersion": VERSION,
        "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
        "clientInfo": {"name": "loopguard", "version": __version__},
    }


def refusal(line: str) -> list[Shown]:
    """What both sides are told if ``line`` is a request of a client of the protocol; nothing otherwise."""
    try:
        message = msgspec.json.decode(line, type=jsonrpc.Message)
    except msgspec.DecodeError:
        return []
    if not message.method or not isinstance(message.id, int | str):
        return []
    failure = jsonrpc.Peer.failure(message.id, jsonrpc.INTERNAL_ERROR, f"loopguard: {_TWO_CLIENTS}")
    answered = msgspec.json.encode(failure).decode()
    return [Shown(kind=Show.OUT, text=f"{answered}\n"), Shown(kind=Show.NOTE, text=_TWO_CLIENTS)]


def session(setup: Setup) -> dict[str, Any]:
    """The parameters of ``session/new``: the folder, and the server with our tools."""
    servers = [{"name": "loopguard", **setup.tool_program.listed()}] if setup.tool_program else []
    return {"cwd": setup.directory, "mcpServers": servers}
