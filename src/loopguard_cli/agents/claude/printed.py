"""What print mode writes to standard output, from the messages that a driven process sends instead.

Text and one JSON object are about the last turn only, so they wait until nothing more can come: a run
that is continued answers once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from loopguard_cli.agents.base import Show, Shown
from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.invocation import Format, Invocation

_BETWEEN_US = {
    "control_cancel_request",
    "control_request",
    "control_response",
    "keep_alive",
    "command_lifecycle",
}
"""What is said because we drive it."""
_FAILURES = {
    "error_during_execution": "Execution error",
    "error_max_budget_usd": "Error: Exceeded USD budget",
    "error_max_structured_output_retries": "Error: Failed to provide valid structured output",
}


class Printed:
    """The standard output of one run."""

    def __init__(self, invocation: Invocation) -> None:
        self._asked = invocation
        self._result: dict[str, Any] | None = None
        self._all: list[dict[str, Any]] = []

    def take(self, message: dict[str, Any]) -> Iterator[Shown]:
        """A message came."""
        kind = reading.text(message, "type")
        if kind == "result":
            self._result = message
        if self._asked.format is Format.TEXT or kind in _BETWEEN_US or self._only_partial(kind, message):
            return
        if self._asked.format is Format.STREAM:
            yield _out(msgspec.json.encode(message).decode() + "\n")
        elif self._asked.verbose:
            self._all.append(message)

    def conclude(self) -> Iterator[Shown]:
        """Nothing more will come."""
        result, self._result = self._result, None
        if result is None or self._asked.format is Format.STREAM:
            return
        if self._asked.format is Format.JSON:
            shown = self._all if self._asked.verbose else result
            yield _out(msgspec.json.encode(shown).decode() + "\n")
        else:
            yield _out(self._text(result))

    def _text(self, result: dict[str, Any]) -> str:
        kind = reading.text(result, "subtype")
        if kind == "success":
            said = reading.text(result, "result")
            return said if said.endswith("\n") else f"{said}\n"
        if kind == "error_max_turns":
            return f"Error: Reached max turns ({self._asked.max_turns})"
        return _FAILURES.get(kind, _FAILURES["error_during_execution"])

    def _only_partial(self, kind: str, message: dict[str, Any]) -> bool:
        """It comes only because we asked for partial messages."""
        status = kind == "system" and reading.text(message, "subtype") == "status"
        return not self._asked.partial and (status or kind == "stream_event")


def _out(text: str) -> Shown:
    return Shown(kind=Show.OUT, text=text)
