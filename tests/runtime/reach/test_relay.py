"""Between a program and its server: real WebSocket clients on our socket."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import ConnectionClosed

from loopguard_cli.agents.base import CHILD, Answer, Order, ToClient
from loopguard_cli.core.events import Event, Unparsed
from loopguard_cli.runtime.reach.relay import Relay


class Echo:
    """Answers each message with the same, and notes what passes."""

    speaks: Any = dict[str, Any]

    def __init__(self) -> None:
        self.noted: list[Any] = []

    def heard(self, message: Any) -> Answer:
        return Answer((Order(peer=CHILD, message=message),))

    def joined(self, client: int) -> Answer:
        self.noted.append(("joined", client))
        return Answer()

    def said(self, client: int, message: dict[str, Any]) -> Answer:
        self.noted.append(("said", client))
        return Answer((ToClient(client=client, message=message),))

    def parted(self, client: int) -> Answer:
        self.noted.append(("parted", client))
        return Answer()


class Running:
    def __init__(self, path: Path) -> None:
        self.adapter = Echo()
        self.path = path
        self.events: list[Event] = []
        self.relay = Relay(self.adapter, str(path), self._take, self.events.extend)

    def _take(self, answer: Answer) -> None:
        for order in answer.orders:
            assert isinstance(order, ToClient)
            self.relay.send(order)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[ClientConnection]:
        async with unix_connect(str(self.path), "ws://localhost/", max_size=None) as client:
            yield client


def played(tmp_path: Path, scene: Callable[[Running], Any]) -> Running:
    async def play() -> Running:
        running = Running(tmp_path / "relay")
        running.relay.begin()
        try:
            await asyncio.wait_for(scene(running), 20)
        finally:
            running.relay.close()
        return running

    return asyncio.run(play())


def test_messages_of_any_size_pass_whole_and_in_order(tmp_path: Path) -> None:
    async def scene(running: Running) -> None:
        async with running.client() as client:
            for size in (0, 125, 126, 70_000, 3_000_000):
                message = {"id": size, "text": "ü" * size}
                await client.send(msgspec.json.encode(message))
                assert msgspec.json.decode(await client.recv()) == message

    played(tmp_path, scene)


def test_a_message_in_pieces_is_one_message(tmp_path: Path) -> None:
    async def scene(running: Running) -> None:
        async with running.client() as client:
            await client.send([b'{"a": ', b"[1, 2", b"]}"])
            assert msgspec.json.decode(await client.recv()) == {"a": [1, 2]}
        assert running.adapter.noted.count(("said", 1)) == 1

    played(tmp_path, scene)


def test_clients_are_told_apart_and_missed_when_they_go(tmp_path: Path) -> None:
    async def scene(running: Running) -> None:
        async with running.client() as first, running.client() as second:
            await second.send('{"from": 2}')
            assert msgspec.json.decode(await second.recv()) == {"from": 2}
            await first.send('{"from": 1}')
            assert msgspec.json.decode(await first.recv()) == {"from": 1}
        await asyncio.sleep(0)
        running.relay.send(ToClient(client=1, message={}))

    noted = played(tmp_path, scene).adapter.noted
    assert noted[:4] == [("joined", 1), ("joined", 2), ("said", 2), ("said", 1)]
    assert set(noted[4:]) == {("parted", 1), ("parted", 2)}


def test_what_is_no_message_is_counted(tmp_path: Path) -> None:
    async def scene(running: Running) -> None:
        async with running.client() as client:
            for text in ("nonsense", "[1]", "\x00", '{"ok": true}'):
                await client.send(text)
            await client.recv()

    running = played(tmp_path, scene)
    assert [type(event) for event in running.events] == [Unparsed] * 3


def test_closing_hangs_up_and_leaves_no_socket(tmp_path: Path) -> None:
    async def scene(running: Running) -> None:
        assert stat.S_IMODE(running.path.stat().st_mode) == 0o600
        async with running.client() as client:
            running.relay.close()
            try:
                await client.recv()
            except ConnectionClosed:
                return
            raise AssertionError("still connected")

    assert not played(tmp_path, scene).path.exists()


def test_a_client_may_come_before_we_listen_to_it(tmp_path: Path) -> None:
    async def scene(running: Running) -> None:
        async with running.client() as client:
            await client.send('{"early": true}')
            assert msgspec.json.decode(await client.recv()) == {"early": True}

    async def play() -> None:
        running = Running(tmp_path / "relay")
        task = asyncio.ensure_future(scene(running))
        await asyncio.sleep(0)
        running.relay.begin()
        await asyncio.wait_for(task, 20)
        running.relay.close()

    asyncio.run(play())
