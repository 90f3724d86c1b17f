"""What is waited for while an agent process runs: its hello, and the moment when it should end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from loopguard_cli.agents.base import Adapter, Form, Holding, LaunchPlan, Streams
from loopguard_cli.core.events import AgentDisconnected
from loopguard_cli.runtime.perform import Performer
from loopguard_cli.runtime.processes.process import Process
from loopguard_cli.runtime.reach.channels import Channels
from loopguard_cli.runtime.supervisor import Supervisor
from loopguard_cli.runtime.telling.notices import Notices

EXIT_SECONDS = 10.0
"""For an agent to exit by itself once it has nothing more to do."""

LATE_SECONDS = 20.0
"""Without a hello for so much longer the agent is not slow any more: it runs unguarded."""

DISMISSED_SECONDS = 2.0
"""For a driven agent to exit once its input has ended; some never do."""

GRACE_SECONDS = 3.0
"""Between asking an agent to end and making it."""


class Watchers:
    """Those of one run; `watch` starts the ones that a process needs, `dismissed` ends them."""

    def __init__(
        self,
        *,
        adapter: Adapter,
        supervisor: Supervisor,
        performer: Performer,
        channels: Channels,
        notices: Notices,
        hello_seconds: float,
        late_seconds: float = LATE_SECONDS,
    ) -> None:
        self._adapter = adapter
        self._supervisor = supervisor
        self._performer = performer
        self._channels = channels
        self._notices = notices
        self._hello_seconds = hello_seconds
        self._late_seconds = late_seconds
        self._tasks: list[asyncio.Task[None]] = []
        self.connected = asyncio.Event()
        """The present agent process has given a sign of life to its adapter."""
        self.guarded = False
        """Some process of this run has."""
        self.giving_up = False
        """The person wants the run to end."""

    def watch(self, process: Process, launch: LaunchPlan) -> None:
        if launch.bridged:
            self._start(self._expect_hello(launch))
        if process.driven:
            self._start(self._dismiss(process))
        elif launch.form is Form.ONE_SHOT:
            self._start(self._hurry(process))
        if isinstance(self._adapter, Holding):
            self._start(self._release(self._adapter))

    def _start(self, watcher: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.ensure_future(watcher))

    async def dismissed(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for a state of the run."""
        while not holds():
            self._supervisor.changed.clear()
            await self._supervisor.changed.wait()

    def nothing_wanted(self) -> bool:
        """Nobody wants anything more of the agent."""
        return self._performer.ending is not None or not self._supervisor.hub.pending()

    async def _expect_hello(self, launch: LaunchPlan) -> None:
        wording = self._notices.wording
        try:
            await asyncio.wait_for(self.connected.wait(), self._hello_seconds)
        except TimeoutError:
            if launch.lazy:
                self._notices.say(wording.lazy(self._adapter.name))
                await self.connected.wait()
                self._notices.say(wording.connected(self._adapter.name))
                self.guarded = True
                return
            if launch.streams is Streams.TAPPED:
                self._notices.say(wording.mute(self._hello_seconds))
                self._lost(self._hello_seconds)
                late = True
            else:
                late = await self._expect_late_hello()
            await self.connected.wait()
            said = wording.spoke_late if late else wording.connected
            self._notices.say(said(self._adapter.name))
        self.guarded = True

    async def _expect_late_hello(self) -> bool:
        """On a busy machine many an agent needs longer. True: it has not come."""
        wording, name = self._notices.wording, self._adapter.name
        self._notices.say(wording.awaited(name, self._hello_seconds))
        try:
            await asyncio.wait_for(self.connected.wait(), self._late_seconds)
        except TimeoutError:
            self._notices.say(wording.silent(name, self._lost(self._hello_seconds + self._late_seconds)))
            return True
        return False

    def _lost(self, seconds: float) -> str:
        """The agent counts as unguarded; returns the reason."""
        reason = f"no hello within {seconds:g} s"
        self._supervisor.post([AgentDisconnected(reason=reason)])
        return reason

    async def _hurry(self, process: Process) -> None:
        """A one-shot agent that should be done, because its continuation waits, must not hang."""
        await self.until(
            lambda: self._performer.next_prompt is not None or self._performer.ending is not None
        )
        await self._leave(process)

    async def _release(self, adapter: Holding) -> None:
        """An agent that is kept goes on by itself whenever nothing more is wanted of it."""
        while True:
            await self.until(lambda: adapter.holding and self.nothing_wanted())
            self._channels.take(adapter.release(self._performer.ending is not None))

    async def _dismiss(self, process: Process) -> None:
        """Let a driven agent go once nobody wants anything more from it."""
        await self.until(lambda: self.giving_up or (process.over and self.nothing_wanted()))
        process.dismiss()
        await self._leave(process, DISMISSED_SECONDS)

    async def _leave(self, process: Process, seconds: float = EXIT_SECONDS) -> None:
        await asyncio.sleep(seconds)
        await process.child.end(GRACE_SECONDS)
