"""Between an agent and its server: the clients connect to us, by WebSocket over a Unix socket.

The protocol itself is the library's; here are the socket and the messages, one JSON object each.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec
from websockets.exceptions import InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from loopguard_cli.agents.base import Answer, Relayed, ToClient
from loopguard_cli.core.events import Event, Unparsed

MESSAGE_BYTES = 64 << 20
"""Longest message of a client; a pasted image can be in it."""

UNSENT_BYTES = 64 << 20
"""A client that does not read what it is sent is given up."""

CLIENTS = 16

Take = Callable[[Answer], None]
Post = Callable[[Iterable[Event]], None]


class Relay:
    """Listens from the start, so that a client may come at once; talks when `begin` was called."""

    def __init__(self, adapter: Relayed, path: str, take: Take, post: Post) -> None:
        self._adapter = adapter
        self._take = take
        self._post = post
        self._path = path
        self._clients: dict[int, _Client] = {}
        self._numbers = 0
        self._opening: asyncio.Task[asyncio.Server] | None = None
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            self._socket.bind(path)
        finally:
            os.umask(before)
        self._socket.listen(CLIENTS)

    def begin(self) -> None:
        loop = asyncio.get_running_loop()
        self._opening = loop.create_task(loop.create_unix_server(lambda: _Client(self), sock=self._socket))

    def send(self, order: ToClient) -> None:
        client = self._clients.get(order.client)
        if client is not None:
            client.send(order.message)

    def close(self) -> None:
        """Hang up on everybody."""
        for client in list(self._clients.values()):
            client.close()
        if self._opening is not None and self._opening.done() and not self._opening.cancelled():
            self._opening.result().close()
        elif self._opening is not None:
            self._opening.cancel()
        self._socket.close()
        with suppress(OSError):
            Path(self._path).unlink()

    # --- called by clients -------------------------------------------------------------------

    def joined(self, client: _Client) -> int:
        self._numbers += 1
        self._clients[self._numbers] = client
        self._take(self._adapter.joined(self._numbers))
        return self._numbers

    def said(self, number: int, data: bytes) -> None:
        try:
            message: Any = msgspec.json.decode(data)
        except (msgspec.DecodeError, RecursionError):
            message = None
        if isinstance(message, dict):
            self._take(self._adapter.said(number, message))
        else:
            self._post((Unparsed(native="client message: not a JSON object"),))

    def parted(self, number: int) -> None:
        if self._clients.pop(number, None) is not None:
            self._take(self._adapter.parted(number))


class _Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._protocol = ServerProtocol(max_size=MESSAGE_BYTES)
        self._transport: asyncio.Transport | None = None
        self._number = 0
        self._parts: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Request):
                self._protocol.send_response(self._protocol.accept(event))
                self._number = self._relay.joined(self)
            elif isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                self._parts.append(bytes(event.data))
                if event.fin:
                    whole, self._parts = b"".join(self._parts), []
                    self._relay.said(self._number, whole)
        self._flush()

    def eof_received(self) -> None:
        self._protocol.receive_eof()
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._relay.parted(self._number)

    def send(self, message: dict[str, Any]) -> None:
        with suppress(InvalidState):
            self._protocol.send_text(msgspec.json.encode(message))
        self._flush()

    def close(self) -> None:
        with suppress(InvalidState):
            self._protocol.send_close(1001)
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def _flush(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        for data in self._protocol.data_to_send():
            if data:
                self._transport.write(data)
            else:
                self._transport.close()
                return
        if self._transport.get_write_buffer_size() > UNSENT_BYTES:
            self._transport.abort()
