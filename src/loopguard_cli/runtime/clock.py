"""The only clock. Wall time at the start of the run plus elapsed time since: it never jumps."""

from __future__ import annotations

import time


class Clock:
    """Seconds, comparable over runs like Unix time, monotonic within a run."""

    def __init__(self) -> None:
        self.started = time.time()
        self._from = time.monotonic()

    def now(self) -> float:
        return self.started + time.monotonic() - self._from
