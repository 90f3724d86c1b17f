"""Hooks that the agent calls: over loopback HTTP, or by a small shell client and named pipes.

Both lead to the same `HookCall`. A call is answered when the adapter says so, which may be much
later (a waiting hook is how a turn is pushed into an idle session). One that cannot be understood
is answered with nothing at once, so that the agent goes on. One that does not come from the agent
itself (`hook_peers`), or not in the way it was told to call, is refused and recorded.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from loopguard_cli.agents.base import Answer, BridgeAddress, Considering, Hook, HookCall, Hooked, HookReply
from loopguard_cli.core.events import Asked, Event, Surface, Unparsed
from loopguard_cli.core.ids import RequestId
from loopguard_cli.core.requests import HOOK
from loopguard_cli.runtime.reach.hook_peers import Caller, HookPeers

if TYPE_CHECKING:
    from loopguard_cli.runtime.reach.hook_pipes import HookPipes

BODY_BYTES = 64 << 20
"""Longest body; a tool result can be in it."""

NAME_CHARACTERS = 40
REPORTED = 20
"""Refused calls of one run that are recorded; a loop of them tells nothing new."""

NOT_OURS = "loopguard: this hook is called by the agent itself only; the attempt is recorded"

Take = Callable[[Answer], None]
Post = Callable[[Iterable[Event]], None]


class Waiting(Protocol):
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
        self._calls: dict[int, Waiting] = {}
        self._numbers = self._refusals = 0
        self._peers = HookPeers()
        self._expected: Mapping[str, Hook] = {}
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
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return msgspec.structs.replace(
            address,
            hooks=f"http://127.0.0.1:{port}/{self._token}/",
            hook_command=command(self._folder, os.getpid()),
            folder=str(self._folder),
        )

    def launched(self, pid: int, hooks: Mapping[str, Hook]) -> None:
        """The agent was started as process ``pid``; it calls ``hooks`` (empty: any)."""
        self._expected = hooks
        self._peers.launched(pid)

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

    def named(self, path: str) -> str:
        """The hook that a request path names; empty when the token is wrong."""
        token, _, hook = path.lstrip("/").partition("/")
        return hook if hmac.compare_digest(token.encode(), self._token.encode()) else ""

    def at_socket(self, connection: socket.socket) -> Caller:
        """Who is at the other end of a connection; looked up once for all its calls."""
        return self._peers.connected(connection)

    def at_pipe(self, client: int, answer: int, hook: str) -> Caller:
        """Who waits, as process ``client``, at the pipe that is our descriptor ``answer``."""
        return self._peers.called(client, answer, (*command(self._folder, os.getpid()), hook))

    def admits(self, caller: Caller, hook: str, *, client: bool) -> bool:
        """Whether to listen to a call; ``client``: it came by the shell client. A refusal is recorded."""
        if caller is Caller.AGENT and self._expects(hook, client=client):
            return True
        if caller is not Caller.GONE:
            self._refused(hook)
        return False

    def _expects(self, hook: str, *, client: bool) -> bool:
        expected = self._expected.get(hook)
        return not self._expected or (expected is not None and expected.client is client)

    def _refused(self, hook: str) -> None:
        """Record it, and tell the person."""
        self._refusals += 1
        if self._refusals > REPORTED:
            return
        # The name is the caller's choice: nothing but a name goes on record.
        name = hook if hook.isidentifier() and len(hook) <= NAME_CHARACTERS else ""
        request = RequestId(f"forged.{self._refusals}")
        asked = Asked(request=request, operation=HOOK, arguments={"hook": name}, surface=Surface.INSIDE)
        self._post((asked,))

    def called(self, caller: Waiting, hook: str, body: bytes) -> int:
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
        elif not self._fits(hook, fields):
            self._refused(hook)
            self.reply(HookReply(call=number, code=1, text=NOT_OURS))
        else:
            self._take(self._adapter.called(HookCall(call=number, hook=hook, body=fields)))
            if number in self._calls and isinstance(self._adapter, Considering):
                self._take(self._adapter.considered(number))
        return number

    def _fits(self, hook: str, fields: dict[str, Any]) -> bool:
        """Whether it tells of an event that it is for: settings can have any hook called at any event."""
        expected = self._expected.get(hook)
        event = fields.get("hook_event_name")
        return expected is None or not expected.events or event is None or event in expected.events

    def hung_up(self, number: int) -> None:
        if self._calls.pop(number, None) is not None:
            self._post(self._adapter.hung_up(number))


def command(folder: Path, pid: int) -> tuple[str, ...]:
    """The shell client's command line, to which the name of the hook is appended."""
    return ("/bin/sh", str(Path(__file__).with_name("hook.sh")), str(folder), str(pid))


def body_of(reply: HookReply) -> bytes:
    """What the hook prints: its JSON, or its complaint."""
    if reply.code:
        return reply.text.encode()
    return msgspec.json.encode(reply.body) if reply.body is not None else b""


def remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
