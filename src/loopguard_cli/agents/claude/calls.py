"""Tool calls: asked at the gate, ended by a hook or by their result, told once each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.events import Event, FilesChanged, ToolAsked, ToolFinished, ToolStarted
from loopguard_cli.core.ids import CallId, MessageId, RequestId, SessionId

CALLS = 1000
_CHANGING = {"Edit", "MultiEdit", "NotebookEdit", "Write"}
_PATHS = ("file_path", "notebook_path", "path")


class _Call:
    """One call."""

    __slots__ = ("args", "ended", "message", "refused", "session", "tool")

    def __init__(self, session: SessionId, tool: str, args: dict[str, Any]) -> None:
        self.session, self.tool, self.args = session, tool, args
        self.message = MessageId("")
        self.refused = self.ended = False


class _Announced(NamedTuple):
    """What a message says of a call."""

    session: SessionId
    message: MessageId
    block: dict[str, Any]


class Calls:
    """The calls of one run. ``ours``: what stands before the names of our own tools."""

    def __init__(self, ours: str) -> None:
        self._ours = ours
        self._calls: Recent[CallId, _Call] = Recent(CALLS)
        self._announced: Recent[CallId, _Announced] = Recent(CALLS)

    def is_ours(self, tool: str) -> bool:
        return tool.startswith(self._ours)

    def announced(self, session: SessionId, block: dict[str, Any], message: MessageId) -> None:
        """A message holds the call; it has not run yet."""
        self._announced[reading.call_id(block, "id")] = _Announced(session, message, block)

    def ask(self, request: RequestId, body: dict[str, Any]) -> ToolAsked:
        """The gate's question, from the input of a hook before the call."""
        call, session = reading.call_id(body, "tool_use_id"), reading.session_of(body)
        tool = reading.text(body, "tool_name").removeprefix(self._ours)
        args = reading.record(body, "tool_input")
        if call not in self._calls:
            self._calls[call] = _Call(session, tool, args)
        return ToolAsked(session=session, request=request, call=call, tool=tool, args=args)

    def begin(self, session: SessionId, block: dict[str, Any], message: MessageId) -> Iterator[Event]:
        """Where there is no gate: a ``tool_use`` block says that a call is about to run."""
        call, args = reading.call_id(block, "id"), reading.record(block, "input")
        tool = reading.text(block, "name").removeprefix(self._ours)
        if call and tool and call not in self._calls:
            self._calls[call] = _Call(session, tool, args)
            yield ToolStarted(session=session, call=call, tool=tool, args=args, message=message)

    def unasked(self, block: dict[str, Any]) -> Iterator[Event]:
        """A ``tool_result`` block says that a call failed before a hook was asked: now it is known."""
        known = self._announced.get(reading.call_id(block, "tool_use_id"), None)
        if known is not None and reading.at(block, "is_error") is True:
            yield from self.begin(known.session, known.block, known.message)

    def passed(self, block: dict[str, Any]) -> bool:
        """A ``tool_result`` block says that a call ran which the gate was never asked about."""
        return not reading.at(block, "is_error") and reading.call_id(block, "tool_use_id") not in self._calls

    def session(self, call: CallId) -> SessionId:
        """Whose call it is; empty when it is not known."""
        known = self._calls.get(call, None)
        return known.session if known is not None else SessionId("")

    def refuse(self, call: CallId) -> None:
        known = self._calls.get(call, None)
        if known is not None:
            known.refused = True

    def end(
        self, call: CallId, output: str, *, ok: bool, exit_code: int | None = None, cancelled: bool = False
    ) -> Iterator[Event]:
        """The call is over. Nothing, if that was told before or the call was never asked about."""
        known = self._calls.get(call, None)
        if known is None or known.ended:
            return
        known.ended = True
        announced = self._announced.get(call, None)
        yield ToolFinished(
            session=known.session,
            call=call,
            tool=known.tool,
            args=known.args,
            ok=ok,
            output=output,
            exit_code=exit_code,
            cancelled=cancelled and not ok and not known.refused,
            refused=known.refused and not ok and exit_code is None,
            message=announced.message if announced is not None else MessageId(""),
        )
        if ok and known.tool in _CHANGING and (paths := _paths(known.args)):
            yield FilesChanged(session=known.session, files=paths)

    def result(self, block: dict[str, Any], *, cancelled: bool = False) -> Iterator[Event]:
        """The call that a ``tool_result`` block answers."""
        ok = not reading.at(block, "is_error")
        output = reading.flat(reading.at(block, "content"))
        code = None if ok else reading.exit_code_of(output)
        yield from self.end(
            reading.call_id(block, "tool_use_id"), output, ok=ok, exit_code=code, cancelled=cancelled
        )


def _paths(args: dict[str, Any]) -> tuple[str, ...]:
    return tuple(path for name in _PATHS if (path := reading.text(args, name)))
