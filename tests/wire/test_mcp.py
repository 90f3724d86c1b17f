from __future__ import annotations

from typing import Any

import msgspec
import pytest

from loopguard_cli.wire.jsonrpc import Message
from loopguard_cli.wire.mcp import REVISIONS, Call, McpServer, Tool

ECHO = Tool(name="echo", description="Says it again.", schema={"type": "object", "properties": {}})


def server() -> McpServer:
    return McpServer([ECHO], name="loopguard", version="1.2.3")


def message(method: str = "", **more: Any) -> Message:
    return msgspec.convert({"jsonrpc": "2.0", "method": method, **more}, Message)


def asked(one: McpServer, method: str, params: Any = None, request: int | str = 1) -> Any:
    return one.receive(message(method, id=request, params=params))


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_client_gets_the_revision_that_it_knows(revision: str) -> None:
    result = asked(server(), "initialize", {"protocolVersion": revision})["result"]
    assert result["protocolVersion"] == revision
    assert result["capabilities"] == {"tools": {}}
    assert result["serverInfo"] == {"name": "loopguard", "version": "1.2.3"}


@pytest.mark.parametrize("params", [{"protocolVersion": "1999-01-01"}, {}, None, []])
def test_an_unknown_revision_is_answered_with_our_newest(params: Any) -> None:
    assert asked(server(), "initialize", params)["result"]["protocolVersion"] == REVISIONS[0]


def test_tools_are_listed_and_called() -> None:
    one = server()
    (shown,) = asked(one, "tools/list")["result"]["tools"]
    assert shown == {"name": "echo", "description": "Says it again.", "inputSchema": ECHO.schema}
    call = asked(one, "tools/call", {"name": "echo", "arguments": {"a": 1}}, "x")
    assert call == Call("x", "echo", {"a": 1})
    answer = one.answer(call, "text", ok=False)
    assert answer == {
        "jsonrpc": "2.0",
        "id": "x",
        "result": {"content": [{"type": "text", "text": "text"}], "isError": True},
    }
    assert one.answer(call, "again", ok=True) is None


def test_a_cancelled_call_is_not_answered() -> None:
    one = server()
    call = asked(one, "tools/call", {"name": "echo"}, 7)
    assert one.receive(message("notifications/cancelled", params={"requestId": 7})) is None
    assert one.answer(call, "late", ok=True) is None


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("resources/list", None, -32601),
        ("server/discover", {}, -32601),
        ("tools/call", {"name": "nosuch"}, -32602),
        ("tools/call", {"name": 3}, -32602),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": "echo", "arguments": [1]}, -32602),
    ],
)
def test_what_is_not_offered_or_wrong_is_an_error(method: str, params: Any, code: int) -> None:
    answer = asked(server(), method, params)
    assert answer["error"]["code"] == code
    assert "result" not in answer


def test_the_id_of_a_call_under_way_is_not_taken_twice() -> None:
    one = server()
    asked(one, "tools/call", {"name": "echo"}, 7)
    assert asked(one, "tools/call", {"name": "echo"}, 7)["error"]["code"] == -32600


@pytest.mark.parametrize(
    "odd",
    [
        message("notifications/initialized"),
        message("notifications/cancelled", params={"requestId": ["x"]}),
        message("notifications/whatever"),
        message("", id=4, result={}),
        message(""),
    ],
)
def test_nothing_is_said_to_what_asks_nothing(odd: Message) -> None:
    assert server().receive(odd) is None


def test_ping() -> None:
    assert asked(server(), "ping", request="p") == {"jsonrpc": "2.0", "id": "p", "result": {}}
