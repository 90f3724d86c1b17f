"""OpenCode's `doom_loop`: the last three parts of the message being written are one tool with equal input.

Text between, or a new message for the next step, begins anew. ``across_steps`` takes all steps of a
turn for one message, which is more than it does. It asks for a permission before the third runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from loopguard_cli.core.events import Event, ReplyStarted, TextDelta, ToolAsked, UserSpoke
from tests.bench.rivals.rival import form

THRESHOLD = 3


class OpenCode:
    def __init__(self, *, across_steps: bool = False) -> None:
        self._across_steps = across_steps
        self._parts: list[bytes] = []

    def take(self, event: Event) -> Iterable[str]:
        if isinstance(event, (UserSpoke, TextDelta)) or (
            isinstance(event, ReplyStarted) and not self._across_steps
        ):
            self._parts.clear()
        elif isinstance(event, ToolAsked):
            self._parts.append(form(event.tool, event.args))
            latest = self._parts[-THRESHOLD:]
            if len(latest) == THRESHOLD and len(set(latest)) == 1:
                yield "block"
