"""From the neutral trace format to the events of the core."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Protocol

from loopguard_cli.core.events import (
    Channel,
    Event,
    ReplyFinished,
    ReplyStarted,
    Status,
    StatusChanged,
    TextDelta,
    ToolAsked,
    ToolFinished,
    UserSpoke,
)
from loopguard_cli.core.ids import CallId, MessageId, PartId, RequestId, SessionId

SESSION = SessionId("trace")

OPEN_CALLS = 4_096


class Line(Protocol):
    """One event of the neutral format (see `study.traces`)."""

    @property
    def kind(self) -> str: ...
    @property
    def tool(self) -> str | None: ...
    @property
    def args(self) -> dict[str, Any] | None: ...
    @property
    def id(self) -> str | int | None: ...
    @property
    def ok(self) -> bool | None: ...
    @property
    def output(self) -> str | None: ...
    @property
    def output_sha(self) -> str | None: ...
    @property
    def output_len(self) -> int | None: ...
    @property
    def text(self) -> str | None: ...


class Translator:
    """Puts messages and parts around the bare events.

    A step (one assistant message) begins with the first thing the assistant says or calls after a
    user message or a result; a whole ``text`` is a part of its own, deltas in a row share one.
    """

    def __init__(self) -> None:
        self._message: MessageId | None = None
        self._part: tuple[str, PartId] | None = None
        self._open: OrderedDict[CallId, tuple[str, dict[str, Any]]] = OrderedDict()
        self._made = 0

    def translate(self, index: int, line: Line) -> Iterator[Event]:
        """The events of one line. Raises ValueError for a kind that does not exist."""
        match line.kind:
            case "user":
                yield from self._finish()
                yield UserSpoke(session=SESSION, message=MessageId(f"u{index}"), text=line.text or "")
                yield StatusChanged(session=SESSION, status=Status.BUSY)
            case "turn_end":
                yield from self._finish()
                self._open.clear()
                yield StatusChanged(session=SESSION, status=Status.IDLE)
            case "text" | "text_delta" | "reasoning":
                yield from self._say(line.kind, line.text or "")
            case "tool_call":
                yield from self._call(index, line)
            case "tool_result":
                yield from self._result(line)
            case kind:
                raise ValueError(f"unknown kind of event: {kind!r}")

    # --- inside ------------------------------------------------------------------------------

    def _begin(self) -> Iterator[Event]:
        if self._message is None:
            self._made += 1
            self._message = MessageId(f"m{self._made}")
            yield ReplyStarted(session=SESSION, message=self._message)

    def _finish(self) -> Iterator[Event]:
        if self._message is not None:
            yield ReplyFinished(session=SESSION, message=self._message)
        self._message = self._part = None

    def _say(self, kind: str, text: str) -> Iterator[Event]:
        yield from self._begin()
        assert self._message is not None
        if self._part is None or self._part[0] != kind or kind == "text":
            self._made += 1
            self._part = (kind, PartId(f"p{self._made}"))
        channel = Channel.REASONING if kind == "reasoning" else Channel.TEXT
        yield TextDelta(
            session=SESSION, message=self._message, part=self._part[1], channel=channel, delta=text
        )

    def _call(self, index: int, line: Line) -> Iterator[Event]:
        yield from self._begin()
        self._part = None
        call = CallId(str(line.id) if line.id is not None else f"#{index}")
        tool, args = line.tool or "", line.args or {}
        self._open[call] = (tool, args)
        while len(self._open) > OPEN_CALLS:
            self._open.popitem(last=False)
        yield ToolAsked(session=SESSION, request=RequestId(str(index)), call=call, tool=tool, args=args)

    def _result(self, line: Line) -> Iterator[Event]:
        call = self._match(line)
        if call is None:
            return
        tool, args = self._open.pop(call)
        output = line.output or ""
        cut = line.output_len is not None and line.output_len > len(output)
        yield ToolFinished(
            session=SESSION,
            call=call,
            tool=tool,
            args=args,
            ok=line.ok is not False,
            output=output,
            output_digest=(line.output_sha or "") if cut else "",
            output_chars=line.output_len if cut and line.output_len is not None else -1,
        )
        if not self._open:
            yield from self._finish()

    def _match(self, line: Line) -> CallId | None:
        """The open call a result belongs to; None for a result whose call the trace does not hold."""
        if line.id is not None:
            call = CallId(str(line.id))
            return call if call in self._open else None
        return next((call for call, (tool, _) in self._open.items() if tool == (line.tool or tool)), None)
