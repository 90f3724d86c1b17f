"""Hooks that the agent calls: over loopback HTTP, or by a small shell client and named pipes.

Both lead to the same `HookCall`. A call is answered when the adapter says so, which may be much
later (a waiting hook is how a turn is pushed into an idle session). One that cannot be understood
is answered with nothing at once, so that the agent goes on.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from loopguard_cli.agents.base import Answer, BridgeAddress, Considering, HookCall, Hooked, HookReply
from loopguard_cli.core.events import Event, Unparsed

if TYPE_CHECKING:
    from loopguard_cli.runtime.reach.hook_pipes import HookPipes

BODY_BYTES = 64 << 20
"""Longest body; a tool result can be in it."""

Take = Callable[[Answer], None]
Post = Callable[[Iterable[Event]], None]


class Caller(Protocol):
    """The waiting end of one call."""

    def reply(self, reply: HookReply) -> None: ...


class HookServer:
    """Listens for the hooks of one run and passes on what they say."""

    def __init__(self, adapter: Hooked, folder: Path, take: Take, post: Post) -> None:
        self._adapter = adapter
        self._folder = folder
        self._take = take
        self._post = post
        self._token = secrets.token_urlsafe(24)
        self._calls: dict[int, Caller] = {}
        self._numbers = 0
        self._server: asyncio.Server | None = None
        self._pipes: HookPipes | None = None

    async def open(self) -> None:
        from loopguard_cli.runtime.reach.hook_http import Connection
        from loopguard_cli.runtime.reach.hook_pipes import HookPipes

        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), "127.0.0.1", 0)
        self._pipes = HookPipes(self, self._folder)

    def invite(self, address: BridgeAddress) -> BridgeAddress:
        """``address`` with the ways to reach us."""
        from loopguard_cli.runtime.reach.hook_pipes import command

        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return msgspec.structs.replace(
            address,
            hooks=f"http://127.0.0.1:{port}/{self._token}/",
            hook_command=command(self._folder, os.getpid()),
            folder=str(self._folder),
        )

    def reply(self, reply: HookReply) -> None:
        caller = self._calls.pop(reply.call, None)
        if caller is not None:
            caller.reply(reply)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for call in list(self._calls):
            self.reply(HookReply(call=call))
        if self._pipes is not None:
            self._pipes.close()
            self._pipes = None

    # --- called by the two kinds of callers --------------------------------------------------

    def admits(self, path: str) -> str:
        """The hook that a request path names; empty when the token is wrong."""
        token, _, hook = path.lstrip("/").partition("/")
        return hook if hmac.compare_digest(token.encode(), self._token.encode()) else ""

    def called(self, caller: Caller, hook: str, body: bytes) -> int:
        """A call is complete. Returns its number, for `hung_up`."""
        self._numbers += 1
        number = self._numbers
        self._calls[number] = caller
        try:
            fields: Any = msgspec.json.decode(body) if body.strip() else {}
        except (msgspec.DecodeError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            self._post((Unparsed(native=f"hook {hook}: not a JSON object"[:100]),))
            self.reply(HookReply(call=number))
        else:
            self._take(self._adapter.called(HookCall(call=number, hook=hook, body=fields)))
            if number in self._calls and isinstance(self._adapter, Considering):
                self._take(self._adapter.considered(number))
        return number

    def hung_up(self, number: int) -> None:
        if self._calls.pop(number, None) is not None:
            self._post(self._adapter.hung_up(number))


def body_of(reply: HookReply) -> bytes:
    """What the hook prints: its JSON, or its complaint."""
    if reply.code:
        return reply.text.encode()
    return msgspec.json.encode(reply.body) if reply.body is not None else b""


def remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
