"""Front end for the Gemini API: ``models/NAME:streamGenerateContent`` and ``:generateContent``.

Bytes in, bytes out; the connection belongs to `model`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from loopguard_cli.testing.conversation import BadRequest, Kind, Message, Request, ToolCall, kind_of
from loopguard_cli.testing.script import Call, Reply, Usage

_PATH = re.compile(r"/models/(?P<model>[^/:]+):(?P<method>generateContent|streamGenerateContent)$")
_CONTEXT = ("<session_context>", "<hook_context>")
"""How Gemini CLI marks what it or a hook adds to the person's side."""


class _Content(msgspec.Struct):
    role: str = "user"
    parts: list[dict[str, Any]] = []


class _Tools(msgspec.Struct, rename="camel"):
    function_declarations: list[dict[str, Any]] = []


class _Config(msgspec.Struct, frozen=True, rename="camel"):
    response_mime_type: str = ""


class _Body(msgspec.Struct, rename="camel"):
    contents: list[_Content]
    system_instruction: _Content | None = None
    tools: list[_Tools] = []
    generation_config: _Config = _Config()


def handles(path: str) -> bool:
    return _PATH.search(path.partition("?")[0]) is not None


def parse(path: str, body: bytes, headers: Mapping[str, str]) -> Request:
    """The request in ``body``. Raises `BadRequest`."""
    asked = _PATH.search(path.partition("?")[0])
    assert asked is not None
    try:
        given = msgspec.json.decode(body, type=_Body)
        messages = [message for content in given.contents for message in _messages(content)]
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise BadRequest(str(error)) from error
    system = _text(given.system_instruction.parts) if given.system_instruction is not None else ""
    tools = tuple(str(tool.get("name", "")) for entry in given.tools for tool in entry.function_declarations)
    # What is to be answered by an object of a given shape is about the session: a name, a route, a decision.
    aside = given.generation_config.response_mime_type == "application/json"
    return Request(
        model=asked["model"],
        messages=(Message(role="system", text=system), *messages),
        tools=tools,
        stream=asked["method"] == "streamGenerateContent",
        kind=Kind.TITLE if aside else kind_of(system, tools),
        headers=headers,
    )


def _messages(content: _Content) -> Iterator[Message]:
    """One message a part for the user's side: results and prompts may share a content."""
    if content.role == "model":
        calls = tuple(_calls(content.parts))
        yield Message(role="assistant", text=_text(content.parts), calls=calls)
        return
    for part in content.parts:
        if isinstance(result := part.get("functionResponse"), dict):
            told = msgspec.json.encode(result.get("response")).decode()
            yield Message(role="tool", text=told, answers=str(result.get("id", "")))
        elif isinstance(text := part.get("text"), str):
            yield Message(role="system" if text.lstrip().startswith(_CONTEXT) else "user", text=text)


def _calls(parts: list[dict[str, Any]]) -> Iterator[ToolCall]:
    for part in parts:
        if isinstance(call := part.get("functionCall"), dict):
            fields = {"id": call.get("id") or "", "tool": call.get("name"), "args": call.get("args") or {}}
            yield msgspec.convert(fields, ToolCall)


def _text(parts: list[dict[str, Any]]) -> str:
    return "\n".join(str(part["text"]) for part in parts if "text" in part and not part.get("thought"))


def models(names: tuple[str, ...]) -> bytes:
    """The answer to ``GET /models``."""
    return msgspec.json.encode({"models": [{"name": f"models/{name}"} for name in names]})


def error(status: int, message: str) -> bytes:
    """The body of an error answer."""
    return msgspec.json.encode({"error": {"code": status, "message": message, "status": "UNAVAILABLE"}})


class Stream:
    """Builds one streamed response out of server-sent events."""

    content_type = "text/event-stream"

    def __init__(self, request: Request, number: int) -> None:
        self._base = {"modelVersion": request.model, "responseId": f"response-{number}"}

    def start(self) -> bytes:
        return b""

    def text(self, piece: str) -> bytes:
        return self._frame([{"text": piece}])

    def reasoning(self, piece: str) -> bytes:
        return self._frame([{"text": piece, "thought": True}])

    def call(self, call: Call, call_id: str) -> bytes:
        return self._frame([{"functionCall": {"id": call_id, "name": call.tool, "args": call.args}}])

    def failure(self, status: int, message: str) -> bytes:
        return b"data: " + error(status, message) + b"\n\n"

    def end(self, reply: Reply) -> bytes:
        return self._frame([{"text": ""}], finishReason=reply.finish or "STOP", usage=reply.usage)

    def _frame(self, parts: list[dict[str, Any]], *, usage: Usage | None = None, **more: str) -> bytes:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **more}
        figures = {"usageMetadata": _usage(usage)} if usage is not None else {}
        return b"data: " + msgspec.json.encode({"candidates": [candidate], **figures, **self._base}) + b"\n\n"


class Whole:
    """Builds one response that is sent in a single piece; the parts before `end` are only gathered."""

    content_type = "application/json"

    def __init__(self, request: Request, number: int) -> None:
        self._base = {"modelVersion": request.model, "responseId": f"response-{number}"}
        self._parts: list[dict[str, Any]] = []

    def start(self) -> bytes:
        return b""

    def text(self, piece: str) -> bytes:
        self._parts.append({"text": piece})
        return b""

    def reasoning(self, piece: str) -> bytes:
        self._parts.append({"text": piece, "thought": True})
        return b""

    def call(self, call: Call, call_id: str) -> bytes:
        self._parts.append({"functionCall": {"id": call_id, "name": call.tool, "args": call.args}})
        return b""

    def failure(self, status: int, message: str) -> bytes:
        return error(status, message)

    def end(self, reply: Reply) -> bytes:
        candidate = {
            "content": {"role": "model", "parts": self._parts},
            "index": 0,
            "finishReason": reply.finish or "STOP",
        }
        usage = {"usageMetadata": _usage(reply.usage)}
        return msgspec.json.encode({"candidates": [candidate], **usage, **self._base})


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output,
        "totalTokenCount": usage.input + usage.output,
        "cachedContentTokenCount": usage.cached,
        "thoughtsTokenCount": usage.reasoning,
    }
