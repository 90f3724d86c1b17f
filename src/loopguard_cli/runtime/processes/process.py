"""One agent process together with what hangs on its standard streams."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Mapping
from typing import cast

from msgspec.structs import replace

from loopguard_cli.agents.base import (
    Adapter,
    Concluding,
    Driven,
    Form,
    LaunchPlan,
    OnTerminal,
    Relayed,
    Shown,
    Streams,
)
from loopguard_cli.core.events import AgentDisconnected, Event
from loopguard_cli.runtime.processes.child import Child
from loopguard_cli.runtime.reach.channels import Channels
from loopguard_cli.runtime.telling.notices import write

INTERRUPT_SECONDS = 1.0
"""Before an interrupt that should have come from the keyboard is passed on after all."""

Post = Callable[[Iterable[Event]], None]


class Process:
    """An agent with the person's own streams; the base of the other two."""

    driven = False
    """Its turns are ours to see to: it never ends by itself."""
    stays = True
    """It has the person's terminal, and goes on when we are killed."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.dismissed = False
        """It was told that nothing more will come; how it then ends says nothing."""

    def begin(self) -> None:
        """Everything is ready: let the two ends talk."""

    async def drained(self) -> None:
        """Everything that the ended process wrote has been taken in."""

    @property
    def over(self) -> bool:
        """Driven: it waits, and the person will ask for nothing more."""
        return False

    def interrupted(self, *, typed: bool) -> bool:
        """An interrupt; ``typed``: by ^C at a terminal that the agent shares. False: it ends the run."""
        delay = INTERRUPT_SECONDS if typed else 0.0
        asyncio.get_running_loop().call_later(delay, self.child.send, signal.SIGINT)
        return False

    def suspended(self) -> None:
        """The agent was stopped, and we are about to stop as well."""

    def resumed(self) -> None:
        self.child.send(signal.SIGCONT)

    def resized(self) -> None:
        """The person's terminal has another size."""

    def dismiss(self) -> None:
        self.dismissed = True

    def close(self) -> None:
        pass


class _DrivenProcess(Process):
    driven = True
    stays = False

    def __init__(
        self, launch: LaunchPlan, environ: Mapping[str, str], adapter: Driven, channels: Channels, post: Post
    ) -> None:
        from loopguard_cli.runtime.reach.console import Console
        from loopguard_cli.runtime.reach.pipes import PipedChild, Pipes

        child = PipedChild(launch, environ)
        super().__init__(child)
        self._adapter = adapter
        self._channels = channels
        self._interactive = launch.form is Form.CONSOLE
        self._console = Console(adapter, channels.take, post, interactive=self._interactive)
        self._patience = launch.input_seconds
        self._pipes = Pipes(adapter, child, channels.take, post)
        channels.pipes, channels.console = self._pipes, self._console

    def begin(self) -> None:
        self._channels.take(self._adapter.began())
        self._console.begin(patience=self._patience)

    async def drained(self) -> None:
        await self._pipes.ended.wait()

    @property
    def over(self) -> bool:
        return self._adapter.finished or (self._console.finished and self._adapter.waiting)

    def interrupted(self, *, typed: bool) -> bool:
        busy = not self._adapter.waiting
        self._channels.take(self._adapter.interrupted())
        if busy and self._interactive:
            return True
        asyncio.get_running_loop().call_later(INTERRUPT_SECONDS, self.child.send, signal.SIGINT)
        return False

    def suspended(self) -> None:
        self.child.send(signal.SIGSTOP)

    def dismiss(self) -> None:
        super().dismiss()
        self._pipes.finish()

    def close(self) -> None:
        if self.child.code and not self.dismissed:
            for line in self._pipes.complaints:
                self._console.say(line)
        self._pipes.close()  # its last words may still be shown
        self._channels.pipes = self._channels.console = None
        self._console.close()


class _RelayedProcess(Process):
    """The agent on the person's terminal, its server beside it."""

    def __init__(
        self, launch: LaunchPlan, environ: Mapping[str, str], adapter: Relayed, channels: Channels, post: Post
    ) -> None:
        from loopguard_cli.runtime.reach.pipes import PipedChild, Pipes
        from loopguard_cli.runtime.reach.relay import Relay

        self._post = post
        self._adapter = adapter
        self._channels = channels
        self._relay = channels.relay = Relay(adapter, launch.relay, channels.take, post)
        try:
            self._server = PipedChild(replace(launch, argv=launch.server, quiet=True), environ)
        except BaseException:
            self._relay.close()
            raise
        self._pipes = channels.pipes = Pipes(adapter, self._server, channels.take, post)
        self._watch: asyncio.Task[None] | None = None
        try:
            super().__init__(Child(launch, environ))
        except BaseException:
            self.close()
            raise

    def begin(self) -> None:
        self._relay.begin()
        self._watch = asyncio.get_running_loop().create_task(self._until_the_server_ends())

    async def drained(self) -> None:
        """The agent is gone; its server goes with its input, but may first end a turn."""
        self._pipes.finish()
        await self._pipes.ended.wait()
        if isinstance(self._adapter, Concluding):
            for order in self._adapter.concluded().orders:
                if isinstance(order, Shown):
                    write(order.text)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._channels.pipes = self._channels.relay = None
        self._relay.close()
        self._pipes.close()
        self._server.poll()

    async def _until_the_server_ends(self) -> None:
        await self._pipes.ended.wait()
        self._server.poll()
        if self.child.code is None:
            self._post((AgentDisconnected(reason="its server has ended"),))
            self._relay.close()


class _ScreenProcess(Process):
    stays = False

    def __init__(
        self, launch: LaunchPlan, environ: Mapping[str, str], adapter: OnTerminal | None, channels: Channels
    ) -> None:
        from loopguard_cli.runtime.processes.screen_child import ScreenChild
        from loopguard_cli.runtime.reach.screen import Screen

        child = ScreenChild(launch, environ)
        super().__init__(child)
        self._channels = channels
        self._screen = channels.screen = Screen(child, adapter, channels.take)

    def begin(self) -> None:
        self._screen.begin()

    async def drained(self) -> None:
        await self._screen.ended.wait()

    def interrupted(self, *, typed: bool) -> bool:
        return super().interrupted(typed=False)

    def suspended(self) -> None:
        self._screen.suspend()

    def resumed(self) -> None:
        self._screen.resume()
        super().resumed()

    def resized(self) -> None:
        self._screen.resized()

    def close(self) -> None:
        self._channels.screen = None
        self._screen.close()


class _TappedProcess(Process):
    stays = False

    def __init__(
        self, launch: LaunchPlan, environ: Mapping[str, str], adapter: OnTerminal, channels: Channels
    ) -> None:
        from loopguard_cli.runtime.reach.tap import Tap, TapChild

        child = TapChild(launch, environ)
        super().__init__(child)
        self._channels = channels
        self._tap = channels.tap = Tap(child, adapter, channels.take)

    def begin(self) -> None:
        self._tap.begin()

    async def drained(self) -> None:
        await self._tap.ended.wait()

    def close(self) -> None:
        self._channels.tap = None
        self._tap.close()


def start(
    launch: LaunchPlan, environ: Mapping[str, str], adapter: Adapter, channels: Channels, post: Post
) -> Process:
    """Start the agent. Raises AgentNotFound, AgentNotExecutable."""
    match launch.streams:
        case Streams.INHERITED:
            return Process(Child(launch, environ))
        case Streams.PIPED:
            return _DrivenProcess(launch, environ, cast("Driven", adapter), channels, post)
        case Streams.RELAYED:
            return _RelayedProcess(launch, environ, cast("Relayed", adapter), channels, post)
        case Streams.TERMINAL:
            reader = adapter if isinstance(adapter, OnTerminal) else None
            return _ScreenProcess(launch, environ, reader, channels)
        case Streams.TAPPED:
            return _TappedProcess(launch, environ, cast("OnTerminal", adapter), channels)
