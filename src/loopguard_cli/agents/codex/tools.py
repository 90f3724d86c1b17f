"""Our tools, given to the agent with a thread and called by requests of its server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loopguard_cli.agents.base import CHILD, Order
from loopguard_cli.agents.codex.protocol import ToolCall, read
from loopguard_cli.agents.tools import AgentTool
from loopguard_cli.core.effects import Respond
from loopguard_cli.core.events import Asked, Event, Surface
from loopguard_cli.core.ids import RequestId
from loopguard_cli.wire import jsonrpc

NATIVE = frozenset({"get_goal", "create_goal", "update_goal"})
"""The agent's own tools for its own goals: names that ours must not take."""

_REQUEST = "tool."


class Tools:
    """The tools, and the calls of them that wait for an answer."""

    def __init__(self, tools: Sequence[AgentTool]) -> None:
        self._tools = {tool.name: tool for tool in tools if tool.name not in NATIVE}
        self._waiting: dict[RequestId, int | str] = {}

    def offered(self) -> list[dict[str, Any]]:
        """For ``thread/start``."""
        return [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "inputSchema": {
                    "type": "object",
                    "properties": tool.args,
                    "required": [name for name in tool.args if name not in tool.optional],
                    "additionalProperties": False,
                },
            }
            for tool in self._tools.values()
        ]

    def own(self, params: Mapping[str, Any]) -> bool:
        """Whether a call is for us; tools in a namespace are those of the agent's own program."""
        return params.get("namespace") is None and params.get("tool") in list(self._tools)

    def called(self, request: int | str, params: Mapping[str, Any]) -> Iterator[Order | Event]:
        call = read(params, ToolCall)
        if call is None:
            yield _answer(request, "not understood", ok=False)
            return
        tool = self._tools[call.tool]
        asked = RequestId(f"{_REQUEST}{request}")
        self._waiting[asked] = request
        yield Asked(
            session=call.thread_id,
            request=asked,
            operation=tool.operation,
            arguments=tool.given(call.arguments if isinstance(call.arguments, dict) else {}),
            surface=Surface.TOOL,
        )

    def respond(self, effect: Respond) -> Iterator[Order]:
        request = self._waiting.pop(effect.request, None)
        if request is not None:
            yield _answer(request, effect.text or effect.code, ok=effect.ok)

    def clear(self) -> None:
        self._waiting.clear()


def _answer(request: int | str, text: str, *, ok: bool) -> Order:
    result = {"success": ok, "contentItems": [{"type": "inputText", "text": text}]}
    return Order(peer=CHILD, message=jsonrpc.Peer.result(request, result))
