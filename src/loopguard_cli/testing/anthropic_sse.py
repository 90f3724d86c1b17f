"""Front end for the Anthropic messages format, plain and streamed.

Bytes in, bytes out; the connection belongs to `model`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from loopguard_cli.testing.conversation import BadRequest, Message, Request, ToolCall, kind_of
from loopguard_cli.testing.script import Call, Reply, Usage

_REMINDER = "<system-reminder>"
"""What Claude Code adds to a message of the person or to a result, in a block of its own."""

_PROMPTS = ("<task-notification>", "Stop hook additional context: ")
"""A reminder with one of these is what a turn begins or goes on with, like a message of the person."""

_SIGNATURE = "c2lnbmVk"
"""Behind reasoning; nobody checks it here."""


class _Message(msgspec.Struct):
    role: str
    content: str | list[dict[str, Any]]


class _Tool(msgspec.Struct):
    name: str = ""


class _Body(msgspec.Struct):
    model: str
    messages: list[_Message]
    system: str | list[dict[str, Any]] = ""
    tools: list[_Tool] = []
    stream: bool = False


def handles(path: str) -> bool:
    return path.partition("?")[0].endswith("/v1/messages")


def parse(path: str, body: bytes, headers: Mapping[str, str]) -> Request:
    """The request in ``body``. Raises `BadRequest`."""
    del path
    try:
        asked = msgspec.json.decode(body, type=_Body)
        messages = [message for given in asked.messages for message in _messages(given)]
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise BadRequest(str(error)) from error
    system = _text(asked.system)
    tools = tuple(tool.name for tool in asked.tools)
    return Request(
        model=asked.model,
        messages=(Message(role="system", text=system), *messages),
        tools=tools,
        stream=asked.stream,
        kind=kind_of(system, tools),
        headers=headers,
    )


def _messages(given: _Message) -> Iterator[Message]:
    """One message a block for the user's side: clients put several messages into one."""
    if given.role != "user":
        yield Message(role=given.role, text=_text(given.content), calls=tuple(_calls(given.content)))
    elif isinstance(given.content, str):
        yield Message(role="user", text=given.content)
    else:
        for block in given.content:
            if block.get("type") == "tool_result":
                answers = str(block.get("tool_use_id", ""))
                yield Message(role="tool", text=_text(block.get("content") or ""), answers=answers)
            elif block.get("type") == "text":
                text = str(block.get("text", ""))
                yield Message(role="system" if _is_reminder(text) else "user", text=text)


def _is_reminder(text: str) -> bool:
    return text.lstrip().startswith(_REMINDER) and not any(mark in text for mark in _PROMPTS)


def _calls(content: str | list[dict[str, Any]]) -> Iterator[ToolCall]:
    for block in content if isinstance(content, list) else ():
        if block.get("type") == "tool_use":
            yield msgspec.convert({**block, "tool": block.get("name"), "args": block.get("input")}, ToolCall)


def _text(content: str | Sequence[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block["text"]) for block in content if block.get("type") == "text")


def models(names: tuple[str, ...]) -> bytes:
    """The answer to ``GET /v1/models``."""
    listed = [{"id": name, "type": "model", "display_name": name} for name in names]
    return msgspec.json.encode({"data": listed, "has_more": False})


def error(status: int, message: str) -> bytes:
    """The body of an error answer."""
    kind = "overloaded_error" if status == 529 else "api_error"
    return msgspec.json.encode({"type": "error", "error": {"type": kind, "message": message}})


class Stream:
    """Builds one streamed response out of server-sent events."""

    content_type = "text/event-stream"

    def __init__(self, request: Request, number: int) -> None:
        self._message = _message(request, number)
        self._index = -1
        self._open = ""
        """The type of the block that is being written; empty between blocks."""

    def start(self) -> bytes:
        return _frame({"type": "message_start", "message": self._message})

    def text(self, piece: str) -> bytes:
        opened = self._begin("text", {"type": "text", "text": ""})
        return opened + self._delta({"type": "text_delta", "text": piece})

    def reasoning(self, piece: str) -> bytes:
        opened = self._begin("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        return opened + self._delta({"type": "thinking_delta", "thinking": piece})

    def call(self, call: Call, call_id: str) -> bytes:
        closed = self._close()
        block = {"type": "tool_use", "id": _call_id(call_id), "name": call.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": msgspec.json.encode(call.args).decode()}
        return closed + self._begin("tool_use", block) + self._delta(delta)

    def failure(self, status: int, message: str) -> bytes:
        return b"event: error\ndata: " + error(status, message) + b"\n\n"

    def end(self, reply: Reply) -> bytes:
        delta = {"stop_reason": _finish(reply), "stop_sequence": None}
        usage = {"output_tokens": reply.usage.output, **_input(reply.usage)}
        return (
            self._close()
            + _frame({"type": "message_delta", "delta": delta, "usage": usage})
            + _frame({"type": "message_stop"})
        )

    def _begin(self, kind: str, block: dict[str, Any]) -> bytes:
        if self._open == kind:
            return b""
        closed = self._close()
        self._index, self._open = self._index + 1, kind
        return closed + _frame({"type": "content_block_start", "index": self._index, "content_block": block})

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _frame({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _close(self) -> bytes:
        kind, self._open = self._open, ""
        if not kind:
            return b""
        signed = (
            self._delta({"type": "signature_delta", "signature": _SIGNATURE}) if kind == "thinking" else b""
        )
        return signed + _frame({"type": "content_block_stop", "index": self._index})


class Whole:
    """Builds one response that is sent in a single piece; the parts before `end` are only gathered."""

    content_type = "application/json"

    def __init__(self, request: Request, number: int) -> None:
        self._message = _message(request, number)
        self._blocks: list[dict[str, Any]] = []

    def start(self) -> bytes:
        return b""

    def text(self, piece: str) -> bytes:
        return self._add("text", {"type": "text"}, piece)

    def reasoning(self, piece: str) -> bytes:
        return self._add("thinking", {"type": "thinking", "signature": _SIGNATURE}, piece)

    def call(self, call: Call, call_id: str) -> bytes:
        self._blocks.append(
            {"type": "tool_use", "id": _call_id(call_id), "name": call.tool, "input": call.args}
        )
        return b""

    def failure(self, status: int, message: str) -> bytes:
        return error(status, message)

    def end(self, reply: Reply) -> bytes:
        usage = {"output_tokens": reply.usage.output, **_input(reply.usage)}
        return msgspec.json.encode(
            {**self._message, "content": self._blocks, "stop_reason": _finish(reply), "usage": usage}
        )

    def _add(self, field: str, block: dict[str, Any], piece: str) -> bytes:
        if self._blocks and self._blocks[-1]["type"] == block["type"]:
            self._blocks[-1][field] += piece
        else:
            self._blocks.append({**block, field: piece})
        return b""


def _message(request: Request, number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _frame(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\n".encode() + b"data: " + msgspec.json.encode(event) + b"\n\n"


def _call_id(call_id: str) -> str:
    return call_id if call_id.startswith("toolu_") else f"toolu_{call_id}"


def _finish(reply: Reply) -> str:
    return reply.finish or ("tool_use" if reply.calls_tools else "end_turn")


def _input(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input - usage.cached,
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": 0,
    }
