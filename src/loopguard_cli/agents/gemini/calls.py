"""Tool calls of Gemini CLI, whose hooks give them no names: a result is that of the oldest equal call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.calls import Calls
from loopguard_cli.core.events import Event, FilesChanged, ToolFinished
from loopguard_cli.core.ids import CallId, SessionId

_CHANGING = {"edit", "replace", "write_file"}
_EXIT_CODE = re.compile(r"^Exit Code: (\d{1,3})$", re.MULTILINE)
_NOISE = re.compile(
    r"^(?:</?untrusted_context>|Process Group PGID: \d+|Background PIDs: [\d, ]+)\n?", re.MULTILINE
)
"""What differs between equal results, or surrounds all of them."""
CANCELLED = "cancelled by user"


class OpenCalls:
    """The calls that run, by what they are."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._open: list[tuple[SessionId, str, bytes, CallId]] = []
        self._numbers = 0

    def name(self, session: SessionId, body: dict[str, Any]) -> dict[str, Any]:
        """The input of the hook before a call, with a name for the call."""
        self._numbers += 1
        call = CallId(f"call.{self._numbers}")
        self._open.append((session, *_what(body), call))
        return {**body, "tool_use_id": call}

    def refused(self, call: CallId, reason: str) -> Iterator[Event]:
        """It never runs: no hook tells of its end."""
        self._open = [entry for entry in self._open if entry[3] != call]
        self._calls.refuse(call)
        yield from self._calls.end(call, reason, ok=False)

    def ended(self, session: SessionId, body: dict[str, Any]) -> Iterator[Event]:
        """The hook behind a call."""
        response = reading.record(body, "tool_response")
        output = reading.flat(reading.at(response, "llmContent"))
        error = reading.at(response, "error")
        code = exit_code_of(output)
        for event in self.over(
            session,
            body,
            plain(output) or reading.flat(error),
            ok=not error and not code and not was_cancelled(body),
            exit_code=code,
            cancelled=was_cancelled(body),
        ):
            yield event
            if isinstance(event, ToolFinished) and event.ok and event.tool in _CHANGING:
                yield FilesChanged(session=session, files=(reading.text(event.args, "file_path"),))

    def over(
        self,
        session: SessionId,
        body: dict[str, Any],
        output: str,
        *,
        ok: bool,
        exit_code: int | None = None,
        cancelled: bool = False,
    ) -> Iterator[Event]:
        """The oldest open call that is this one has ended."""
        tool, args = _what(body)
        entry = next((entry for entry in self._open if entry[:3] == (session, tool, args)), None)
        if entry is not None:
            self._open.remove(entry)
            yield from self._calls.end(entry[3], output, ok=ok, exit_code=exit_code, cancelled=cancelled)

    def given_up(self, session: SessionId) -> Iterator[Event]:
        """The turn goes on or is over: of what is still open, no end will be told."""
        over = [entry for entry in self._open if entry[0] == session]
        self._open = [entry for entry in self._open if entry[0] != session]
        for _, _, _, call in over:
            yield from self._calls.end(call, "", ok=False, cancelled=True)


def plain(output: str) -> str:
    """What a tool returned, without what differs between equal results."""
    return _NOISE.sub("", output).strip()


def exit_code_of(output: str) -> int | None:
    """The exit status of a command, which is told among its output."""
    found = _EXIT_CODE.search(output)
    return int(found[1]) if found else None


def was_cancelled(body: dict[str, Any]) -> bool:
    return CANCELLED in reading.flat(reading.at(body, "tool_response", "returnDisplay"))


def _what(body: dict[str, Any]) -> tuple[str, bytes]:
    args = msgspec.json.encode(reading.record(body, "tool_input"), order="sorted")
    return reading.text(body, "tool_name"), args
