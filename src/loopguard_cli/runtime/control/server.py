"""The control socket of a run: commands from other terminals, and attempts from inside the agent.

Whoever connects is looked at: another user is turned away, and a process below this run speaks for
the agent, not for the person (`Surface.INSIDE`), whatever it says. The one process in there that
has the run's word for it speaks for the agent's tools (`Surface.TOOL`).
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from loopguard_cli.core.effects import Respond
from loopguard_cli.core.events import Asked, Event, Surface
from loopguard_cli.core.ids import RequestId, SessionId
from loopguard_cli.runtime.control.client import Answer, Request
from loopguard_cli.runtime.processes.peers import descends, peer_of
from loopguard_cli.wire.ndjson import Decoder, Malformed, encode

REQUEST_BYTES = 1 << 20
IDLE_SECONDS = 60.0
CLIENTS = 64

Post = Callable[[Iterable[Event]], None]


class ControlServer:
    """Turns requests into `Asked` and sends back what `Respond` says."""

    def __init__(self, post: Post, *, tool_word: str = "") -> None:
        """``tool_word``: lets a process inside the agent speak for its tools; empty: none may."""
        self._post = post
        self._tool_word = tool_word
        self._server: asyncio.Server | None = None
        self._path: Path | None = None
        self._waiting: dict[RequestId, _Client] = {}
        self._clients: set[_Client] = set()
        self._numbers = 0
        self.address = ""
        self.token = ""

    async def open(self, path: Path | None) -> None:
        """Listen on a Unix socket at ``path``, or on a loopback port that wants a token."""
        loop = asyncio.get_running_loop()
        if path is not None:
            self._server = await loop.create_unix_server(lambda: _Client(self), str(path))
            path.chmod(0o600)
            self._path, self.address = path, str(path)
        else:
            self._server = await loop.create_server(lambda: _Client(self), "127.0.0.1", 0)
            self.token = secrets.token_urlsafe(24)
            self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def reply(self, effect: Respond) -> bool:
        """Send an answer; False when the question did not come over this socket."""
        if not effect.request.startswith(_PREFIX):
            return False
        client = self._waiting.pop(effect.request, None)
        if client is not None:
            client.send(Answer(ok=effect.ok, text=effect.text, code=effect.code, data=effect.data))
        return True

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for client in list(self._clients):
            client.close()
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()

    # --- called by clients -------------------------------------------------------------------

    def arrived(self, client: _Client) -> bool:
        other_user = client.peer is not None and client.peer.uid not in (0, os.geteuid())
        if other_user or len(self._clients) >= CLIENTS:
            return False
        self._clients.add(client)
        return True

    def left(self, client: _Client) -> None:
        self._clients.discard(client)
        for request in [r for r, c in self._waiting.items() if c is client]:
            del self._waiting[request]

    def asked(self, client: _Client, request: Request | Malformed) -> None:
        if isinstance(request, Malformed):
            client.send(Answer(ok=False, code="bad_request", text=request.reason))
            return
        if self.token and not hmac.compare_digest(self.token.encode(), request.token.encode()):
            client.send(Answer(ok=False, code="not_allowed", text="wrong token"))
            return
        self._numbers += 1
        number = RequestId(f"{_PREFIX}{self._numbers}")
        self._waiting[number] = client
        client.rest()
        asked = Asked(
            session=SessionId(request.session),
            request=number,
            operation=request.operation,
            arguments=request.arguments,
            surface=self._surface(client, request),
        )
        self._post((asked,))

    def _surface(self, client: _Client, request: Request) -> Surface:
        if not request.tool:
            return client.surface
        known = self._tool_word and hmac.compare_digest(self._tool_word.encode(), request.tool_word.encode())
        return Surface.TOOL if known or client.surface is Surface.CLI else client.surface


_PREFIX = "control."


class _Client(asyncio.Protocol):
    def __init__(self, server: ControlServer) -> None:
        self._server = server
        self._decoder = Decoder[Request](Request, limit=REQUEST_BYTES)
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.surface = Surface.CLI

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.peer = peer_of(transport.get_extra_info("socket"))
        if self.peer is not None and descends(self.peer.pid, os.getpid()):
            self.surface = Surface.INSIDE
        if not self._server.arrived(self):
            self.close()
            return
        self._wait()

    def data_received(self, data: bytes) -> None:
        for request in self._decoder.feed(data):
            self._server.asked(self, request)

    def rest(self) -> None:
        """It waits for an answer, which may take long: a goal is proved, say."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        self.rest()
        self._timer = asyncio.get_running_loop().call_later(IDLE_SECONDS, self.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self.rest()
        self._server.left(self)

    def send(self, answer: Answer) -> None:
        if self._transport is not None and not self._transport.is_closing():
            message: Any = answer
            self._transport.write(encode(message))
            self._wait()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
