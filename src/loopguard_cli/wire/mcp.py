"""Our end of the Model Context Protocol, as a server of tools and nothing else.

Pure: messages in, answers and calls out. Framing is one JSON-RPC message a line (`wire.ndjson`,
`wire.jsonrpc`); the transport is the caller's. Written after the specification of 2025-06-18; the
revisions differ in nothing that a server of plain tools can show, so each client gets the one it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from loopguard_cli.wire.jsonrpc import METHOD_NOT_FOUND, Message, Notification, Peer, Request

REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Newest first."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as clients see it."""

    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema of its arguments: an object."""


class Call(NamedTuple):
    """A tool is to be run; `McpServer.answer` with the same id says what came of it."""

    id: int | str
    tool: str
    arguments: dict[str, Any]


class McpServer:
    """One connection."""

    def __init__(self, tools: Iterable[Tool], *, name: str, version: str, instructions: str = "") -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._about = {"name": name, "version": version}
        self._instructions = instructions
        self._peer: Peer[None] = Peer()
        self._open: set[int | str] = set()

    def receive(self, message: Message) -> Call | dict[str, Any] | None:
        """What one message asks for: a tool call, an answer to send, or nothing."""
        match self._peer.read(message):
            case Request(id=request, method=method, params=params):
                return self._asked(request, method, params)
            case Notification(method="notifications/cancelled", params=params):
                if isinstance(given := params.get("requestId"), int | str):
                    self._open.discard(given)
        return None

    def unreadable(self) -> dict[str, Any]:
        """The answer to a line that is no message."""
        return {"jsonrpc": "2.0", "id": None, "error": {"code": PARSE_ERROR, "message": "not a message"}}

    def answer(self, call: Call, text: str, *, ok: bool) -> dict[str, Any] | None:
        """The answer to a call; None when the client does not want it any more."""
        if call.id not in self._open:
            return None
        self._open.discard(call.id)
        content = [{"type": "text", "text": text}]
        return self._peer.result(call.id, {"content": content, "isError": not ok})

    def _asked(self, request: int | str, method: str, params: dict[str, Any]) -> Call | dict[str, Any]:
        match method:
            case "initialize":
                return self._peer.result(request, self._greeting(params))
            case "ping":
                return self._peer.result(request, {})
            case "tools/list":
                return self._peer.result(request, {"tools": [_shown(t) for t in self._tools.values()]})
            case "tools/call":
                return self._call(request, params)
        return self._peer.failure(request, METHOD_NOT_FOUND, f"{method[:60]} is not offered")

    def _greeting(self, params: dict[str, Any]) -> dict[str, Any]:
        wanted = params.get("protocolVersion")
        greeting: dict[str, Any] = {
            "protocolVersion": wanted if wanted in REVISIONS else REVISIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": self._about,
        }
        return {**greeting, "instructions": self._instructions} if self._instructions else greeting

    def _call(self, request: int | str, params: dict[str, Any]) -> Call | dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or name not in self._tools:
            return self._peer.failure(request, INVALID_PARAMS, f"there is no tool {name!r:.80}")
        if not isinstance(arguments, dict | None):
            return self._peer.failure(request, INVALID_PARAMS, "arguments must be an object")
        if request in self._open:
            return self._peer.failure(request, INVALID_REQUEST, "this id is in use")
        self._open.add(request)
        return Call(request, name, arguments or {})


def _shown(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.schema}
