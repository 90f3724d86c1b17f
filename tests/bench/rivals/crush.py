"""Crush: among the last ten steps, one signature more than five times; the run ends.

A step is one model call; its signature is made of the name, input and output of all its calls.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from loopguard_cli.core.events import Event, ReplyFinished, ToolFinished, UserSpoke
from tests.bench.rivals.rival import form

WINDOW = 10
MOST = 5


class Crush:
    def __init__(self) -> None:
        self._steps: deque[bytes] = deque(maxlen=WINDOW)
        self._step = b""

    def take(self, event: Event) -> Iterable[str]:
        if isinstance(event, UserSpoke):
            self._steps.clear()
            self._step = b""
        elif isinstance(event, ToolFinished):
            self._step += form(event.tool, event.args) + event.output.encode("utf-8", "surrogatepass")
        elif isinstance(event, ReplyFinished) and self._step:
            self._steps.append(self._step)
            self._step = b""
            if len(self._steps) == WINDOW and Counter(self._steps).most_common(1)[0][1] > MOST:
                yield "stop"
