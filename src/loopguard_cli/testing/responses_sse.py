"""Front end for the OpenAI responses format, plain and streamed.

Bytes in, bytes out; the connection belongs to `model`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from loopguard_cli.testing.conversation import BadRequest, Kind, Message, Request, ToolCall, kind_of
from loopguard_cli.testing.openai_sse import error, models
from loopguard_cli.testing.script import Call, Reply, Usage

__all__ = ["Stream", "Whole", "error", "handles", "models", "parse"]

_MESSAGE = "message"
_TITLING = "generate a concise, single-line task title"
"""How Codex 0.171 asks for the name of a session, in a conversation of its own."""


class _Item(msgspec.Struct):
    type: str = _MESSAGE
    role: str = ""
    content: str | list[dict[str, Any]] | None = None
    call_id: str = ""
    name: str = ""
    arguments: str = "{}"
    input: str = ""
    output: str | list[dict[str, Any]] | dict[str, Any] | None = None


class _Tool(msgspec.Struct):
    type: str = "function"
    name: str = ""


class _Body(msgspec.Struct):
    model: str
    input: str | list[_Item] = ""
    instructions: str | None = ""
    tools: list[_Tool] = []
    stream: bool = False


def handles(path: str) -> bool:
    return path.partition("?")[0].endswith("/responses")


def parse(path: str, body: bytes, headers: Mapping[str, str]) -> Request:
    """The request in ``body``. Raises `BadRequest`."""
    del path
    try:
        asked = msgspec.json.decode(body, type=_Body)
        given = [_Item(role="user", content=asked.input)] if isinstance(asked.input, str) else asked.input
        messages = tuple(_messages(given))
    except (msgspec.DecodeError, UnicodeDecodeError) as broken:
        raise BadRequest(str(broken)) from broken
    tools = tuple(tool.name or tool.type for tool in asked.tools)
    system = asked.instructions or ""
    titling = not tools and any(_TITLING in message.text.lower() for message in messages)
    return Request(
        model=asked.model,
        messages=(Message(role="system", text=system), *messages),
        tools=tools,
        stream=asked.stream,
        kind=Kind.TITLE if titling else kind_of(system, tools),
        headers=headers,
    )


def _messages(items: Iterable[_Item]) -> Iterator[Message]:
    """Items as messages: the calls of one reply, and its text, are one message of the assistant."""
    text, calls = "", list[ToolCall]()
    for item in items:
        if item.type == "reasoning" or (item.type == _MESSAGE and item.role == "assistant"):
            text += _text(item.content)
            if item.type == _MESSAGE and not calls:
                continue
        elif item.type in ("function_call", "custom_tool_call"):
            calls.append(ToolCall(id=item.call_id, tool=item.name, args=_given(item)))
            continue
        if text or calls:
            yield Message(role="assistant", text=text, calls=tuple(calls))
            text, calls = "", []
        if item.type.endswith("_output"):
            yield Message(role="tool", text=_text(item.output), answers=item.call_id)
        elif item.type == _MESSAGE and item.role != "assistant":
            role = "system" if item.role == "developer" else item.role
            yield Message(role=role, text=_text(item.content))
    if text or calls:
        yield Message(role="assistant", text=text, calls=tuple(calls))


def _given(item: _Item) -> dict[str, Any]:
    if item.type == "custom_tool_call":
        return {"input": item.input}
    return msgspec.json.decode(item.arguments or "{}", type=dict[str, Any])


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return msgspec.json.encode(content).decode()


class _Building:
    """The response so far."""

    def __init__(self, request: Request, number: int) -> None:
        self._number = number
        self._base = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 0,
            "model": request.model,
            "error": None,
        }
        self._done: list[dict[str, Any]] = []

    def _response(self, status: str, usage: Usage | None = None) -> dict[str, Any]:
        figures = _usage(usage) if usage is not None else None
        return {**self._base, "status": status, "output": self._done, "usage": figures}


class Stream(_Building):
    """Builds one streamed response out of server-sent events."""

    content_type = "text/event-stream"

    def __init__(self, request: Request, number: int) -> None:
        super().__init__(request, number)
        self._events = 0
        self._open: dict[str, Any] | None = None
        """The item whose text is being streamed."""
        self._text = ""

    def start(self) -> bytes:
        return self._event("response.created", response=self._response("in_progress"))

    def text(self, piece: str) -> bytes:
        return self._piece(_MESSAGE, piece, "response.output_text.delta", content_index=0)

    def reasoning(self, piece: str) -> bytes:
        return self._piece("reasoning", piece, "response.reasoning_summary_text.delta", summary_index=0)

    def call(self, call: Call, call_id: str) -> bytes:
        data = self._close()
        item = _call(call, call_id)
        index = len(self._done)
        data += self._event("response.output_item.added", output_index=index, item={**item, "arguments": ""})
        data += self._event("response.output_item.done", output_index=index, item=item)
        self._done.append(item)
        return data

    def failure(self, status: int, message: str) -> bytes:
        response = self._response("failed")
        response["error"] = {"code": "server_error", "message": f"{message} ({status})"}
        return self._event("response.failed", response=response)

    def end(self, reply: Reply) -> bytes:
        return self._close() + self._event(
            "response.completed", response=self._response("completed", reply.usage)
        )

    def _piece(self, kind: str, piece: str, event: str, **place: int) -> bytes:
        data = b""
        if self._open is None or self._open["type"] != kind:
            data += self._close()
            self._open = _item(kind, f"{kind[:3]}_{self._number}_{len(self._done)}")
            data += self._event("response.output_item.added", output_index=len(self._done), item=self._open)
            if kind == _MESSAGE:
                part = {"type": "output_text", "text": "", "annotations": []}
                data += self._event("response.content_part.added", **self._place(place), part=part)
            else:
                part = {"type": "summary_text", "text": ""}
                data += self._event("response.reasoning_summary_part.added", **self._place(place), part=part)
        self._text += piece
        return data + self._event(event, **self._place(place), delta=piece)

    def _place(self, place: Mapping[str, int]) -> dict[str, Any]:
        assert self._open is not None
        return {"item_id": self._open["id"], "output_index": len(self._done), **place}

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        item = _item(self._open["type"], self._open["id"], self._text)
        self._open, self._text = None, ""
        data = self._event("response.output_item.done", output_index=len(self._done), item=item)
        self._done.append(item)
        return data

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._events += 1
        event = {"type": kind, "sequence_number": self._events, **fields}
        return b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode(event) + b"\n\n"


class Whole(_Building):
    """Builds one response that is sent in a single piece; the parts before `end` are only gathered."""

    content_type = "application/json"

    def start(self) -> bytes:
        return b""

    def text(self, piece: str) -> bytes:
        return self._add(_MESSAGE, piece)

    def reasoning(self, piece: str) -> bytes:
        return self._add("reasoning", piece)

    def call(self, call: Call, call_id: str) -> bytes:
        self._done.append(_call(call, call_id))
        return b""

    def failure(self, status: int, message: str) -> bytes:
        return error(status, message)

    def end(self, reply: Reply) -> bytes:
        return msgspec.json.encode(self._response("completed", reply.usage))

    def _add(self, kind: str, piece: str) -> bytes:
        last: dict[str, Any] = self._done[-1] if self._done else {}
        if last.get("type") == kind:
            parts = last["content"] if kind == _MESSAGE else last["summary"]
            parts[0]["text"] += piece
        else:
            self._done.append(_item(kind, f"{kind[:3]}_{self._number}_{len(self._done)}", piece))
        return b""


def _item(kind: str, name: str, text: str | None = None) -> dict[str, Any]:
    """A message or reasoning; ``text`` None: it has only begun."""
    if kind == _MESSAGE:
        parts = [] if text is None else [{"type": "output_text", "text": text, "annotations": []}]
        status = "in_progress" if text is None else "completed"
        return {"type": kind, "id": name, "role": "assistant", "status": status, "content": parts}
    summary = [] if text is None else [{"type": "summary_text", "text": text}]
    return {"type": kind, "id": name, "summary": summary}


def _call(call: Call, call_id: str) -> dict[str, Any]:
    """``NAMESPACE/TOOL`` is a tool of a namespace."""
    namespace, _, name = call.tool.rpartition("/")
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": name,
        "arguments": msgspec.json.encode(call.args).decode(),
        "status": "completed",
        **({"namespace": namespace} if namespace else {}),
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
