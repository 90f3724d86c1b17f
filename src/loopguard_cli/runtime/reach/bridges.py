"""The socket on which bridges talk to us.

A connection is nobody until its first line is a `Hello` with a token that lets it in. The launch
token travels in the agent's environment, where the agent's own shell could find it in spite of the
bridge taking it out, so it stops working while a bridge is connected, except for a process that
cannot be below that agent. Each welcome hands out a fresh token, known to that bridge alone, for
coming back after a lost connection; the former one holds until the bridge shows that it has the
fresh one, because a welcome can be lost with its connection.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec

from loopguard_cli.agents.base import Adapter, BridgeAddress, Hello, Order, Outgoing, Pong, Sync
from loopguard_cli.core.events import AgentConnected, AgentDisconnected, Event, Unparsed
from loopguard_cli.runtime.processes.peers import descends, peer_of, same_login_session
from loopguard_cli.runtime.reach.pulse import Pulse, processor_time
from loopguard_cli.wire.ndjson import Decoder, Malformed, encode

PROTOCOL = 1
LINE_BYTES = 8 << 20
HELLO_BYTES = 4 << 10
HELLO_SECONDS = 5.0
STRANGERS = 16
"""Connections that have not said hello; more are turned away."""
RETURNS = 256
"""Tokens for coming back; the oldest stop working."""
UNSENT_BYTES = 16 << 20
"""A bridge that does not read its answers is given up; its agent goes on unguarded."""

Post = Callable[[Iterable[Event]], None]


class BridgeServer:
    """Listens for the bridges of one run and passes on what they say."""

    def __init__(self, adapter: Adapter, post: Post) -> None:
        self._adapter = adapter
        self._post = post
        self._server: asyncio.Server | None = None
        self._path: Path | None = None
        self._address = BridgeAddress(token="")
        self._peers: dict[int, _Connection] = {}
        self._strangers: set[_Connection] = set()
        self._returns: dict[str, None] = {}
        self._numbers = 0

    async def open(self, path: Path | None) -> None:
        """Listen on a Unix socket at ``path``, or on a loopback port."""
        loop = asyncio.get_running_loop()
        if path is not None:
            self._server = await loop.create_unix_server(lambda: _Connection(self), str(path))
            path.chmod(0o600)
            self._path = path
            self._address = BridgeAddress(token="", unix=str(path))
        else:
            self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0)
            port = self._server.sockets[0].getsockname()[1]
            self._address = BridgeAddress(token="", host="127.0.0.1", port=port)

    def invite(self) -> BridgeAddress:
        """The address for an agent about to be launched; former launch tokens stop working."""
        self._address = msgspec.structs.replace(self._address, token=secrets.token_urlsafe(24))
        return self._address

    @property
    def connected(self) -> bool:
        return bool(self._peers)

    def send(self, orders: Iterable[Outgoing]) -> None:
        """Send what is meant for bridges."""
        for order in orders:
            if isinstance(order, Order) and (connection := self._peers.get(order.peer)):
                connection.send(order.message)

    async def drained(self, seconds: float) -> None:
        """Wait until all bridges have hung up: whatever they said last has then been heard."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._until_empty(), seconds)

    async def _until_empty(self) -> None:
        for connection in list(self._peers.values()):
            await connection.ended.wait()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in [*self._peers.values(), *self._strangers]:
            connection.close()
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()

    # --- called by connections ---------------------------------------------------------------

    def arrived(self, connection: _Connection) -> bool:
        if len(self._strangers) >= STRANGERS:
            return False
        self._strangers.add(connection)
        return True

    def hello(self, connection: _Connection, hello: Hello) -> bool:
        """Let a bridge in. False: it is none of ours."""
        if hello.protocol != PROTOCOL or not self._knows(connection, hello):
            return False
        if hello.token in self._returns:
            connection.came_with = hello.token
        self._strangers.discard(connection)
        self._numbers += 1
        connection.number = self._numbers
        self._peers[connection.number] = connection
        token = secrets.token_urlsafe(24)
        self._returns[token] = None
        while len(self._returns) > RETURNS:
            del self._returns[next(iter(self._returns))]
        answer = self._adapter.greet(connection.number, hello)
        orders = [order.message for order in answer.orders if isinstance(order, Order)]
        connection.send({"type": "welcome", "token": token, "resync": hello.reconnected, "orders": orders})
        self._post(answer.events)
        if hello.pulse and connection.peer is not None:
            connection.begin_pulse(connection.peer.pid)
        return True

    def _knows(self, connection: _Connection, hello: Hello) -> bool:
        for token in self._returns:
            if hmac.compare_digest(token.encode(), hello.token.encode()):
                return True
        if not self._address.token or not hmac.compare_digest(
            self._address.token.encode(), hello.token.encode()
        ):
            return False
        if not self._peers:
            return True
        peer = connection.peer
        return (
            peer is not None
            and same_login_session(peer.pid)
            and not any(
                other.peer is not None and descends(peer.pid, other.peer.pid)
                for other in self._peers.values()
            )
        )

    def said(self, connection: _Connection, message: Any) -> None:
        # It speaks, so it has read its welcome and will come back with the word in there.
        self._returns.pop(connection.came_with, None)
        if connection.pulse is not None:
            connection.pulse.heard()
        if isinstance(message, Pong):
            return
        if isinstance(message, Sync):
            connection.send({"type": "answer", "id": message.id})
        elif isinstance(message, Malformed):
            self._post((Unparsed(native=f"bridge message: {message.reason}"[:100]),))
        else:
            self._post(self._adapter.receive(connection.number, message))

    def deaf(self, *, deaf: bool) -> None:
        """A connected bridge does not answer, or answers again."""
        lost = AgentDisconnected(reason="its bridge does not answer", bypassed=True)
        self._post((lost if deaf else AgentConnected(agent=self._adapter.name),))

    def left(self, connection: _Connection, reason: str) -> None:
        self._strangers.discard(connection)
        if self._peers.pop(connection.number, None) is not None:
            self._post(self._adapter.lost(connection.number, reason))

    def decoder(self) -> Decoder[Any]:
        return Decoder(self._adapter.messages | Sync | Pong, limit=LINE_BYTES)


class _Connection(asyncio.Protocol):
    """One bridge, or somebody who would like to be one."""

    def __init__(self, server: BridgeServer) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._greeting = Decoder[Hello](Hello, limit=HELLO_BYTES)
        self._decoder: Decoder[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.number = 0
        self.came_with = ""
        """The token for coming back that let it in."""
        self.ended = asyncio.Event()
        self.pulse: Pulse | None = None

    def begin_pulse(self, pid: int) -> None:
        self.pulse = Pulse(
            processor_time(pid),
            ask=lambda: self.send({"type": "ping"}),
            tell=lambda deaf: self._server.deaf(deaf=deaf),
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.peer = peer_of(transport.get_extra_info("socket"))
        if not self._server.arrived(self):
            self._transport.abort()
            return
        self._timer = asyncio.get_running_loop().call_later(HELLO_SECONDS, self.close)

    def data_received(self, data: bytes) -> None:
        if self._decoder is None:
            data = self._greet(data)
        if self._decoder is not None:
            for message in self._decoder.feed(data):
                self._server.said(self, message)

    def _greet(self, data: bytes) -> bytes:
        """Read the first line; returns what follows it."""
        first, end, rest = data.partition(b"\n")
        for hello in self._greeting.feed(first + end):
            if not isinstance(hello, Hello) or not self._server.hello(self, hello):
                self.close()
                return b""
            if self._timer is not None:
                self._timer.cancel()
            self._decoder = self._server.decoder()
        return rest

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.pulse is not None:
            self.pulse.close()
        self.ended.set()
        self._server.left(self, type(exc).__name__ if exc else "closed")

    def send(self, message: dict[str, Any]) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(encode(message))
        if self._transport.get_write_buffer_size() > UNSENT_BYTES:
            self._transport.abort()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
