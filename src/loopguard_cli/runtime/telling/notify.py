"""Sends notices. Nothing here may ever hold up or fail a run: sinks work beside it, each within a
time limit, and one that fails is mentioned once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from loopguard_cli.core.effects import Effect
from loopguard_cli.core.noticing import Notice, Noticing
from loopguard_cli.runtime.telling.sinks import Sink

SEND_SECONDS = 10.0
IN_FLIGHT = 8
"""Notices on their way at once; what comes on top is dropped."""


class Notifier:
    """Looks at every effect of a run and sends the notices that are worth it."""

    def __init__(
        self,
        noticing: Noticing,
        sinks: Sequence[Sink],
        *,
        complain: Callable[[str], object] = lambda _: None,
        seconds: float = SEND_SECONDS,
    ) -> None:
        """``complain`` is told once about each sink that fails."""
        self._noticing = noticing
        self._sinks = sinks
        self._complain = complain
        self._seconds = seconds
        self._failed: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def see(self, effect: Effect, now: float) -> None:
        """Called with each effect as it is performed; returns at once."""
        if not self._sinks:
            return
        notice = self._noticing.decide(effect, now)
        if notice is None:
            return
        for sink in self._sinks:
            if len(self._tasks) < IN_FLIGHT:
                task = asyncio.get_running_loop().create_task(self._send(sink, notice))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait for what is on its way, within the time limit of a sink."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._seconds)

    async def _send(self, sink: Sink, notice: Notice) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                await sink.send(notice)
        except Exception as error:
            if sink.name not in self._failed:
                self._failed.add(sink.name)
                why = (
                    "took too long" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
                )
                self._complain(f"no notice could be sent ({sink.name}): {why}")
