"""Our tools for the model, as a server of the Model Context Protocol without a transport."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from loopguard_cli import __version__
from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.tools import AgentTool, readable
from loopguard_cli.core.effects import Respond
from loopguard_cli.core.events import Asked, Surface
from loopguard_cli.core.ids import RequestId, SessionId
from loopguard_cli.wire.jsonrpc import METHOD_NOT_FOUND, Peer

NAME = "loopguard"
OPEN = 1000
_PROTOCOL = "2025-06-18"
"""Spoken where the client names no version."""
_NO_TOOL = -32602
_PREFIX = "tool."


class Said(msgspec.Struct, frozen=True):
    """An answer to the message that came with ``ref``; None: it needs none."""

    ref: Any
    message: dict[str, Any] | None


class ToolServer:
    """One server; ``ref`` names a message of the client to whoever carries it."""

    def __init__(self, tools: Sequence[AgentTool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._open: Recent[RequestId, tuple[Any, int | str]] = Recent(OPEN)
        self._numbers = 0
        self.client = ""
        """The version of the program that connected."""

    def heard(self, ref: Any, message: dict[str, Any], session: SessionId) -> Iterator[Said | Asked]:
        """One JSON-RPC message; a tool call of ``session`` is answered later, by `respond`."""
        method, request = reading.text(message, "method"), message.get("id")
        if not isinstance(request, int | str) or isinstance(request, bool):
            yield Said(ref, None)
            return
        match method:
            case "initialize":
                self.client = reading.text(message, "params", "clientInfo", "version")
                yield Said(ref, Peer.result(request, self._introduction(message)))
            case "ping":
                yield Said(ref, Peer.result(request, {}))
            case "tools/list":
                tools = [_described(tool) for tool in self._tools.values()]
                yield Said(ref, Peer.result(request, {"tools": tools}))
            case "tools/call":
                yield self._call(ref, request, message, session)
            case _:
                yield Said(ref, Peer.failure(request, METHOD_NOT_FOUND, f"no {method} here"[:100]))

    def respond(self, effect: Respond) -> Said | None:
        """The answer to a tool call; None when the question was not asked here."""
        opened = self._open.pop(effect.request)
        if opened is None:
            return None
        ref, request = opened
        content = [{"type": "text", "text": readable(effect)}]
        return Said(ref, Peer.result(request, {"content": content, "isError": not effect.ok}))

    def _call(
        self, ref: Any, request: int | str, message: dict[str, Any], session: SessionId
    ) -> Said | Asked:
        tool = self._tools.get(reading.text(message, "params", "name"))
        if tool is None:
            return Said(ref, Peer.failure(request, _NO_TOOL, "there is no such tool"))
        self._numbers += 1
        asked = RequestId(f"{_PREFIX}{self._numbers}")
        self._open[asked] = (ref, request)
        arguments = tool.given(reading.record(message, "params", "arguments"))
        return Asked(
            session=session,
            request=asked,
            operation=tool.operation,
            arguments=arguments,
            surface=Surface.TOOL,
        )

    def _introduction(self, message: dict[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": reading.text(message, "params", "protocolVersion") or _PROTOCOL,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": NAME, "version": __version__},
        }


def _described(tool: AgentTool) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": tool.args,
        "required": [name for name in tool.args if name not in tool.optional],
    }
    return {"name": tool.name, "description": tool.description, "inputSchema": schema}
