"""Front end for the OpenAI chat completions format, plain and streamed.

Bytes in, bytes out; the connection belongs to `model`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from loopguard_cli.testing.conversation import BadRequest, Message, Request, ToolCall, kind_of
from loopguard_cli.testing.script import Call, Reply, Usage


class _Function(msgspec.Struct):
    name: str
    arguments: str = "{}"


class _ToolCall(msgspec.Struct):
    function: _Function
    id: str = ""


class _Message(msgspec.Struct):
    role: str
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[_ToolCall] = []
    tool_call_id: str = ""


class _Tool(msgspec.Struct):
    function: _Function


class _Body(msgspec.Struct):
    model: str
    messages: list[_Message]
    tools: list[_Tool] = []
    stream: bool = False


def handles(path: str) -> bool:
    return path.endswith("/chat/completions")


def parse(path: str, body: bytes, headers: Mapping[str, str]) -> Request:
    """The request in ``body``. Raises `BadRequest`."""
    del path
    try:
        asked = msgspec.json.decode(body, type=_Body)
        messages = tuple(_message(message) for message in asked.messages)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(str(error)) from error
    tools = tuple(tool.function.name for tool in asked.tools)
    system = "\n".join(m.text for m in messages if m.role == "system")
    return Request(
        model=asked.model,
        messages=messages,
        tools=tools,
        stream=asked.stream,
        kind=kind_of(system, tools),
        headers=headers,
    )


def _message(message: _Message) -> Message:
    content = message.content or ""
    text = content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
    return Message(
        role="system" if message.role == "developer" else message.role,
        text=text,
        calls=tuple(
            ToolCall(
                id=call.id,
                tool=call.function.name,
                args=msgspec.json.decode(call.function.arguments or "{}", type=dict[str, Any]),
            )
            for call in message.tool_calls
        ),
        answers=message.tool_call_id,
    )


def models(names: tuple[str, ...]) -> bytes:
    """The answer to ``GET /v1/models``."""
    return msgspec.json.encode(
        {"object": "list", "data": [{"id": name, "object": "model", "owned_by": "script"} for name in names]}
    )


def error(status: int, message: str) -> bytes:
    """The body of an error answer."""
    return msgspec.json.encode({"error": {"message": message, "type": "scripted", "code": status}})


class Stream:
    """Builds one streamed response out of server-sent events."""

    content_type = "text/event-stream"

    def __init__(self, request: Request, number: int) -> None:
        self._base = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": request.model,
        }
        self._calls = 0

    def start(self) -> bytes:
        return self._event({"role": "assistant", "content": ""})

    def text(self, piece: str) -> bytes:
        return self._event({"content": piece})

    def reasoning(self, piece: str) -> bytes:
        return self._event({"reasoning_content": piece})

    def call(self, call: Call, call_id: str) -> bytes:
        index, self._calls = self._calls, self._calls + 1
        function = {"name": call.tool, "arguments": _arguments(call)}
        return self._event(
            {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}
        )

    def failure(self, status: int, message: str) -> bytes:
        return _frame(error(status, message))

    def end(self, reply: Reply) -> bytes:
        return self._event({}, finish=_finish(reply), usage=reply.usage) + _frame(b"[DONE]")

    def _event(
        self, delta: dict[str, Any], *, finish: str | None = None, usage: Usage | None = None
    ) -> bytes:
        event = {**self._base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        if usage is not None:
            event["usage"] = _usage(usage)
        return _frame(msgspec.json.encode(event))


class Whole:
    """Builds one response that is sent in a single piece; the parts before `end` are only gathered."""

    content_type = "application/json"

    def __init__(self, request: Request, number: int) -> None:
        self._request = request
        self._number = number
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._failure = b""

    def start(self) -> bytes:
        return b""

    def text(self, piece: str) -> bytes:
        self._text.append(piece)
        return b""

    def reasoning(self, piece: str) -> bytes:
        self._reasoning.append(piece)
        return b""

    def call(self, call: Call, call_id: str) -> bytes:
        function = {"name": call.tool, "arguments": _arguments(call)}
        self._calls.append({"id": call_id, "type": "function", "function": function})
        return b""

    def failure(self, status: int, message: str) -> bytes:
        return error(status, message)

    def end(self, reply: Reply) -> bytes:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text)}
        if self._reasoning:
            message["reasoning_content"] = "".join(self._reasoning)
        if self._calls:
            message["tool_calls"] = self._calls
        return msgspec.json.encode(
            {
                "id": f"chatcmpl-{self._number}",
                "object": "chat.completion",
                "created": 0,
                "model": self._request.model,
                "choices": [{"index": 0, "message": message, "finish_reason": _finish(reply)}],
                "usage": _usage(reply.usage),
            }
        )


def _frame(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


def _arguments(call: Call) -> str:
    return msgspec.json.encode(call.args).decode()


def _finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.calls_tools else "stop")


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
