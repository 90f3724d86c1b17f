"""Tool calls, put together from what the agent tells about them piece by piece.

Three things differ from agent to agent: whether arguments come at all, whether permission is asked
before or after "in progress" is reported, and whether it is asked. A call is told to the core once,
with the arguments known then: at the gate if permission is asked for it, else when it runs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from loopguard_cli.agents.acp.protocol import ToolFields, exit_code_of, output_of, paths_of, printed_of
from loopguard_cli.agents.base import Show, Shown
from loopguard_cli.agents.memory import Recent
from loopguard_cli.core.events import Event, FilesChanged, ToolAsked, ToolFinished, ToolStarted
from loopguard_cli.core.ids import CallId, MessageId, RequestId, SessionId

CALLS = 1000
TOOLS = 200
PRINTED = 1 << 18
"""Characters that are kept of what a command prints while it runs."""
BRIEF = 120
"""Characters of a call or a result on the console."""

_NAME = re.compile(r"[\w.:/-]+")
_CHANGING = {"edit", "delete", "move"}
_COMMAND = "execute"
_BESIDE = {"description", "timeout"}
_BOOKKEEPING = {"call_id", "completed_at_ms", "parsed_cmd", "source", "started_at_ms", "turn_id"}
"""What codex-acp puts beside the arguments of a call; it differs from call to call."""
_TYPED, _PROCESS = "interaction_input", "process_id"
_BY_SHELL = {"-c", "-lc", "-ic"}


class _Call:
    """What is known of one call."""

    __slots__ = (
        "args", "ended", "first_title", "kind", "named", "printed", "refused", "rejected", "running", "title",
        "told", "tool", "whole",
    )  # fmt: skip

    def __init__(self) -> None:
        self.tool = self.kind = self.title = self.first_title = self.printed = ""
        self.named = False
        """The agent named the tool; a title may only describe the call."""
        self.args: dict[str, Any] = {}
        self.whole = False
        """The arguments are those that it runs with, not a first glimpse of them."""
        self.told = self.running = self.ended = False
        """The core knows of it; that it runs; that it ended."""
        self.refused = self.rejected = False
        """By our gate; by a person or a policy."""


class Calls:
    """The tool calls of one session."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._calls: Recent[CallId, _Call] = Recent(CALLS)
        self._asking: Recent[str, None] = Recent(TOOLS)
        """Tools for which permission was asked the last time: the next call waits for the question."""

    def update(
        self, session: SessionId, fields: ToolFields, message: MessageId, *, cancelling: bool
    ) -> Iterator[Event | Shown]:
        """The agent says something about a call. ``cancelling``: its turn is being cut off."""
        call = self._merge(fields, gate=False)
        ended = fields.status in ("completed", "failed") and not call.ended
        if fields.status == "in_progress" and (call.told or call.tool not in self._asking):
            yield from self._run(session, fields.tool_call_id, call, message)
        elif ended and not call.told:
            self._asking.pop(call.tool)
            yield from self._run(session, fields.tool_call_id, call, message)
        if ended:
            if call.told and not call.running and not call.rejected:
                yield Shown(kind=Show.TOOL, text=_brief(call))  # asked about, and not told to be running
            yield from self._end(session, fields, call, message, cancelling=cancelling)

    def ask(self, session: SessionId, fields: ToolFields, request: RequestId) -> ToolAsked:
        """The agent asks for permission; the core decides first."""
        call = self._merge(fields, gate=True)
        self._asking[call.tool] = None
        call.told = True
        args = self._arguments(fields.tool_call_id, call)
        return ToolAsked(
            session=session, request=request, call=fields.tool_call_id, tool=call.tool, args=args
        )

    def refuse(self, call: CallId, *, ours: bool) -> None:
        """It was not allowed: ``ours``: by our gate, which says nothing about the call."""
        found = self._calls.get(call, None)
        if found is not None:
            found.refused, found.rejected = found.refused or ours, True

    def describe(self, call: CallId) -> str:
        """One line for the person."""
        found = self._calls.get(call, None)
        return _brief(found) if found is not None else call

    # --- inside ------------------------------------------------------------------------------

    def _merge(self, fields: ToolFields, *, gate: bool) -> _Call:
        call = self._calls.get(fields.tool_call_id, None)
        if call is None:
            call = self._calls[fields.tool_call_id] = _Call()
        # What a question for permission shows is not always what the tool was called with.
        if fields.kind and not (gate and call.kind):
            call.kind = fields.kind
        if fields.title and not (gate and call.title):
            call.first_title = call.first_title or fields.title
            call.title = fields.title
        if isinstance(fields.raw_input, dict) and not (gate and call.whole):
            call.args = {**call.args, **fields.raw_input}
            call.whole = not gate and fields.status == "in_progress"
        if len(call.printed) < PRINTED and not call.ended:
            call.printed += printed_of(fields)
        if fields.name:
            call.tool, call.named = fields.name, True
        elif not call.named:
            named = _NAME.fullmatch(call.first_title) is not None
            # A description of one word looks like a name.
            described = call.first_title == call.args.get("description")
            call.named = named and not described and not gate
            call.tool = call.first_title if call.named else call.kind or "tool"
        return call

    def _arguments(self, call_id: CallId, call: _Call) -> dict[str, Any]:
        args = {name: value for name, value in call.args.items() if name not in _BOOKKEEPING}
        if call.kind == _COMMAND and "command" in args:
            # The same command is asked about and reported with different fields beside it.
            beside = _BESIDE | ({"cwd"} if args.get("cwd") == self._directory else set())
            if _TYPED not in args:
                beside |= {_PROCESS}  # its own; where something is typed into one, it matters which
            args = {name: value for name, value in args.items() if name not in beside}
            args["command"] = _command(args["command"])
        if args:
            return args
        # Without arguments only the title tells calls apart; a bare name would make all of them equal.
        return {"title": call.title} if call.title not in ("", call.tool) else {"call": call_id}

    def _run(
        self, session: SessionId, call_id: CallId, call: _Call, message: MessageId
    ) -> Iterator[Event | Shown]:
        if call.running or call.rejected:
            return
        call.told = call.running = True
        args = self._arguments(call_id, call)
        yield ToolStarted(session=session, call=call_id, tool=call.tool, args=args, message=message)
        yield Shown(kind=Show.TOOL, text=_brief(call))

    def _end(
        self, session: SessionId, fields: ToolFields, call: _Call, message: MessageId, *, cancelling: bool
    ) -> Iterator[Event | Shown]:
        call.ended = True
        ok = fields.status == "completed"
        output, code, paths = output_of(fields) or call.printed, exit_code_of(fields), paths_of(fields)
        call.printed = ""
        yield ToolFinished(
            session=session,
            call=fields.tool_call_id,
            tool=call.tool,
            args=self._arguments(fields.tool_call_id, call),
            ok=ok,
            output=output,
            exit_code=code,
            cancelled=not ok and not call.refused and (call.rejected or cancelling),
            refused=not ok and call.refused and code is None,
            message=message,
        )
        if ok and paths and call.kind in _CHANGING:
            yield FilesChanged(session=session, files=paths)
        if not ok or code:
            first = output.strip().partition("\n")[0][:BRIEF]
            yield Shown(kind=Show.RESULT, text=f"{f'exit {code}' if ok else 'failed'}: {first}")


def _command(given: Any) -> Any:
    """A command as a person writes it, where it was given as words or as the shell that runs it."""
    if not isinstance(given, list) or not given or not all(isinstance(word, str) for word in given):
        return given
    _shell, *rest = given
    return rest[1] if len(rest) == 2 and rest[0] in _BY_SHELL else shlex.join(given)


def _brief(call: _Call) -> str:
    text = " ".join(str(_command(call.args.get("command")) or call.title).split())
    line = text if text.startswith(call.tool) else f"{call.tool} {text}"
    return line if len(line) <= BRIEF else line[: BRIEF - 1] + "…"
