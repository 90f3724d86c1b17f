"""The real hub, adapter and sockets of a run, without an agent's process: a test plays the bridge."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from loopguard_cli.agents.base import BridgeAddress
from loopguard_cli.agents.opencode.adapter import OpenCode
from loopguard_cli.agents.tools import GOAL_TOOLS, GUARD_TOOLS, LOOP_GUARD, goal_command
from loopguard_cli.core.effects import Effect
from loopguard_cli.core.events import Event
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.runtime.assemble import make_hub
from loopguard_cli.runtime.checks import Jobs
from loopguard_cli.runtime.clock import Clock
from loopguard_cli.runtime.control.server import ControlServer
from loopguard_cli.runtime.perform import Performer
from loopguard_cli.runtime.reach.bridges import BridgeServer
from loopguard_cli.runtime.reach.channels import Channels
from loopguard_cli.runtime.supervisor import Supervisor
from loopguard_cli.runtime.telling.notices import Notices

T = TypeVar("T")
SECONDS = 20.0
Message = dict[str, Any]


def played(test: Callable[[Wired], Awaitable[T]], **options: Any) -> T:
    """Run ``test`` beside an open `Wired`."""

    async def play() -> T:
        async with Wired(**options) as wired:
            return await asyncio.wait_for(test(wired), 120)

    return asyncio.run(play())


class Peer:
    """A bridge."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._ids = 0

    def send(self, *messages: Message) -> None:
        for message in messages:
            self.writer.write(json.dumps(message).encode() + b"\n")

    async def read(self) -> Message:
        line = await asyncio.wait_for(self.reader.readline(), SECONDS)
        if not line:
            raise EOFError
        message: Message = json.loads(line)
        return message

    async def until(self, kind: str) -> Message:
        while (message := await self.read())["type"] != kind:
            pass
        return message

    async def gone(self) -> bool:
        """The other end hangs up (whatever it says before)."""
        with suppress(ConnectionError):
            await asyncio.wait_for(self.reader.read(), SECONDS)
        return self.reader.at_eof() or self.reader.exception() is not None

    async def gate(self, call: str, session: str = "ses_1", tool: str = "bash", **args: Any) -> Message:
        """Ask whether a call may run."""
        self._ids += 1
        self.send(
            {"type": "gate", "id": self._ids, "session": session, "call": call, "tool": tool, "args": args}
        )
        while (answer := await self.until("answer"))["id"] != self._ids:
            pass
        return answer

    def native(self, kind: str, **properties: Any) -> None:
        self.send({"type": "event", "event": {"type": kind, "properties": properties}})

    def finished(self, call: str, session: str = "ses_1", tool: str = "bash", output: str = "ok") -> None:
        """A call that came to the gate has run."""
        state = {"status": "completed", "input": {}, "output": output, "metadata": {"exit": 0}}
        part = {
            "id": f"p{call}",
            "messageID": "m",
            "type": "tool",
            "tool": tool,
            "callID": call,
            "state": state,
        }
        self.native("message.part.updated", sessionID=session, part=part)

    def close(self) -> None:
        self.writer.close()

    async def closed(self) -> None:
        self.close()
        with suppress(OSError):
            await self.writer.wait_closed()


class Wired:
    def __init__(self, *, loopback: bool = False, argv: Sequence[str] = ("opencode",)) -> None:
        self._loopback = loopback
        self.adapter = OpenCode(
            argv, tools=(*GUARD_TOOLS, *GOAL_TOOLS), commands=(LOOP_GUARD, goal_command())
        )
        self.events: list[Event] = []
        self._peers: list[Peer] = []
        self.effects: list[Effect] = []
        self.folder = Path(tempfile.mkdtemp(prefix="lg-"))

    async def __aenter__(self) -> Self:
        hub = make_hub(GuardSettings(), self.adapter.capabilities, salt="test")
        self.bridges = BridgeServer(self.adapter, self.post)
        self.control = ControlServer(self.post)
        performer = Performer(
            adapter=self.adapter,
            channels=Channels(self.bridges, self.post),
            store=None,
            notices=Notices(screen=True),
            jobs=Jobs(self.post),
            reply=self.control.reply,
            goals=None,
            environ={},
        )

        def perform(effect: Effect, now: float) -> Sequence[Event]:
            self.effects.append(effect)
            return performer(effect, now)

        self.supervisor = Supervisor(hub, perform, Clock())
        await self.bridges.open(None if self._loopback else self.folder / "agent")
        await self.control.open(None if self._loopback else self.folder / "control")
        self.address = self.bridges.invite()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.supervisor.close()
        await self.bridges.close()
        await self.control.close()
        for peer in self._peers:
            await peer.closed()
        await asyncio.sleep(0)
        shutil.rmtree(self.folder)

    def post(self, events: Any) -> None:
        events = tuple(events)
        self.events += events
        self.supervisor.post(events)

    def of(self, kind: type[T]) -> list[T]:
        """The events of this kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    async def stranger(self, address: BridgeAddress | None = None) -> Peer:
        """Somebody who has connected and said nothing."""
        at = address or self.address
        if at.unix:
            peer = Peer(*await asyncio.open_unix_connection(at.unix, limit=1 << 24))
        else:
            peer = Peer(*await asyncio.open_connection(at.host, at.port, limit=1 << 24))
        self._peers.append(peer)
        return peer

    async def bridge(self, **hello: Any) -> Peer:
        """A bridge that was let in. ``peer.token``: its word for coming back."""
        peer = await self.stranger()
        peer.send({"type": "hello", "protocol": 1, "token": self.address.token, **hello})
        self.welcome = await peer.until("welcome")
        return peer
