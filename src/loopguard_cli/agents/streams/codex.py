"""``codex exec --json``: items that begin and are completed; text comes a message at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from loopguard_cli.agents.codex.calls import COMMAND, PATCH, unwrapped
from loopguard_cli.core.events import (
    AgentError,
    Channel,
    Event,
    FilesChanged,
    ReplyFinished,
    ReplyStarted,
    SessionSeen,
    Status,
    StatusChanged,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Unparsed,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import CallId, MessageId, PartId, SessionId

_TEXTS = {"agent_message": Channel.TEXT, "reasoning": Channel.REASONING}
_NO_CALLS = {"todo_list", "error"}


class Codex:
    """Reads one stream."""

    def __init__(self) -> None:
        self._session = SessionId("stream")
        self._turns = 0
        self._message = MessageId("")
        self._open: dict[CallId, ToolStarted] = {}

    def read(self, line: bytes) -> Iterator[Event]:
        event: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
        match event.get("type"):
            case "thread.started":
                self._session = SessionId(str(event.get("thread_id") or "stream"))
                yield SessionSeen(session=self._session)
            case "turn.started":
                yield from self._begin()
            case "item.started" | "item.updated" | "item.completed" as kind:
                yield from self._item(event.get("item"), completed=kind == "item.completed")
            case "turn.completed":
                yield from self._usage(event.get("usage"))
                yield from self._end()
            case "turn.failed" | "error" as kind:
                yield from self._failed(event, ends=kind == "turn.failed")
            case other:
                yield Unparsed(native=f"line: {other}"[:100])

    def ended(self) -> Iterator[Event]:
        yield from self._end(aborted=True)

    # --- inside ------------------------------------------------------------------------------

    def _begin(self) -> Iterator[Event]:
        self._turns += 1
        asked = MessageId(f"{self._session}.{self._turns}")
        self._message = MessageId(f"{asked}.answer")
        yield UserSpoke(session=self._session, message=asked)
        yield StatusChanged(session=self._session, status=Status.BUSY)
        yield ReplyStarted(session=self._session, message=self._message, answers=asked)

    def _item(self, item: Any, *, completed: bool) -> Iterator[Event]:
        if not isinstance(item, dict):
            yield Unparsed(native="item: not an object")
            return
        kind, name = str(item.get("type")), str(item.get("id"))
        if kind in _NO_CALLS:
            return
        if not self._message:
            yield from self._begin()
        if kind in _TEXTS:
            if completed:
                yield self._text(_TEXTS[kind], name, str(item.get("text") or ""))
            return
        call = CallId(f"{self._turns}.{name}")
        if call not in self._open:
            tool, args = _call(kind, item)
            begun = ToolStarted(session=self._session, call=call, tool=tool, args=args, message=self._message)
            self._open[call] = begun
            yield begun
        if completed:
            yield from self._completed(self._open.pop(call), item)

    def _text(self, channel: Channel, name: str, text: str) -> Event:
        return TextDelta(
            session=self._session, message=self._message, part=PartId(name), channel=channel, delta=text
        )

    def _completed(self, begun: ToolStarted, item: dict[str, Any]) -> Iterator[Event]:
        code, status = item.get("exit_code"), item.get("status")
        yield ToolFinished(
            session=begun.session,
            call=begun.call,
            tool=begun.tool,
            args=begun.args,
            ok=status != "declined" and (status != "failed" or isinstance(code, int)),
            output=_output(item),
            exit_code=code if isinstance(code, int) else None,
            cancelled=status == "declined",
            message=begun.message,
        )
        if files := _files(item):
            yield FilesChanged(session=begun.session, files=files)

    def _usage(self, usage: Any) -> Iterator[Event]:
        if isinstance(usage, dict) and self._message:
            figures = {name: value for name, value in usage.items() if isinstance(value, int)}
            yield UsageReported(
                session=self._session,
                message=self._message,
                input=figures.get("input_tokens", 0) - figures.get("cached_input_tokens", 0),
                output=figures.get("output_tokens", 0),
                cache_read=figures.get("cached_input_tokens", 0),
            )

    def _failed(self, event: dict[str, Any], *, ends: bool) -> Iterator[Event]:
        error = event.get("error")
        text = error.get("message") if isinstance(error, dict) else event.get("message")
        if ends:
            yield AgentError(session=self._session, name="turn.failed", text=str(text or ""))
            yield from self._end()

    def _end(self, *, aborted: bool = False) -> Iterator[Event]:
        if self._message:
            yield ReplyFinished(session=self._session, message=self._message, aborted=aborted)
            self._message = MessageId("")
            yield StatusChanged(session=self._session, status=Status.IDLE)


def _call(kind: str, item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    args = item.get("arguments")
    match kind:
        case "command_execution":
            return COMMAND, {"cmd": unwrapped(str(item.get("command") or ""))}
        case "file_change":
            return PATCH, {"changes": item.get("changes")}
        case "mcp_tool_call":
            name = f"mcp__{item.get('server') or ''}__{item.get('tool') or ''}"
            return name, args if isinstance(args, dict) else {}
        case "web_search":
            return "web_search", {"query": item.get("query") or ""}
        case _:
            return kind, {name: value for name, value in item.items() if name not in ("id", "status")}


def _output(item: dict[str, Any]) -> str:
    if isinstance(output := item.get("aggregated_output"), str):
        return output
    error, result = item.get("error"), item.get("result")
    if isinstance(error, dict):
        return str(error.get("message") or "")
    content = result.get("content") if isinstance(result, dict) else None
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return msgspec.json.encode(result).decode() if result is not None else ""


def _files(item: dict[str, Any]) -> tuple[str, ...]:
    changes = item.get("changes") if item.get("status") == "completed" else None
    listed = changes if isinstance(changes, list) else []
    return tuple(c["path"] for c in listed if isinstance(c, dict) and isinstance(c.get("path"), str))
