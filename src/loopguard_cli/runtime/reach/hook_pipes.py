"""Hooks by a shell client (``hook.sh``) and named pipes in the run's private folder.

``requests`` takes one short line per call (written at once, so that calls do not mix); the body
comes by a pipe of the call's own, ended by NUL, and the answer goes back by another. Until we have
opened those two, a client waits at ``turn``, which we hold open: it ends when callers were let in, and
is then another pipe of the same name. So it ends with us as well, however we end.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from loopguard_cli.agents.base import HookReply
from loopguard_cli.runtime.reach import hooks
from loopguard_cli.wire.lines import LineBuffer

Server = hooks.HookServer

READ_BYTES = 256 << 10
REQUEST_BYTES = 1000
CROWD = 100
"""With more clients than that, one that is refused is let go at once; each takes two descriptors."""
REFUSED_SECONDS = 5.0
"""Within which a client that is refused has asked its question."""

_HELD = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC


class HookPipes:
    """Waits for clients in ``folder``."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._loop = asyncio.get_running_loop()
        self._path, self._turn_path = folder / "requests", folder / "turn"
        self._lines = LineBuffer(REQUEST_BYTES)
        self._turn = -1
        self._next_turn()
        os.mkfifo(self._path, 0o600)
        # For writing too: it is never at its end, however many clients come and go.
        self._fd = os.open(self._path, _HELD)
        self._loop.add_reader(self._fd, self._read)
        self._open: set[_Caller] = set()

    def close(self) -> None:
        for caller in list(self._open):
            caller.close()
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._end_turn()
        for path in (self._path, self._turn_path):
            hooks.remove(path)

    def _next_turn(self) -> None:
        """Those who wait look whether they were let in."""
        fresh = self._turn_path.with_suffix(".next")
        with suppress(FileExistsError):
            os.mkfifo(fresh, 0o600)
        fresh.rename(self._turn_path)
        # Closed first, so that there is a number for the next one; who comes in between asks once more.
        self._end_turn()
        self._turn = os.open(self._turn_path, _HELD)

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, -1
        if turn >= 0:
            os.close(turn)

    def _read(self) -> None:
        try:
            data = os.read(self._fd, READ_BYTES)
        except OSError:
            return
        for line in self._lines.feed(data):
            client, _, hook = line.decode(errors="replace").partition(" ")
            if client.isdigit() and hook:
                with suppress(OSError):
                    caller = _Caller(self._server, self._folder, int(client), hook, self._open.discard)
                    self._open.add(caller)
                    caller.begin(crowded=len(self._open) > CROWD)
        with suppress(OSError):
            self._next_turn()


class _Caller:
    """One client."""

    def __init__(
        self, server: Server, folder: Path, client: int, hook: str, gone: Callable[[_Caller], None]
    ) -> None:
        self._stem = folder / str(client)
        flags = os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
        self._server = server
        self._hook = hook
        self._gone = gone
        self._call = 0
        self._admitted = False
        self._patience: asyncio.TimerHandle | None = None
        self._body = bytearray()
        self._loop = asyncio.get_running_loop()
        self._answer = os.open(self._stem.with_suffix(".a"), os.O_WRONLY | flags)
        try:
            # Looked at while it waits to be let in, so it is as it was started.
            self._who = server.at_pipe(client, self._answer, hook)
            self._question = os.open(self._stem.with_suffix(".q"), os.O_RDONLY | flags)
        except OSError:
            os.close(self._answer)
            raise
        # This lets it in, and it would have to start a program for it.
        for suffix in (".q", ".a"):
            hooks.remove(self._stem.with_suffix(suffix))
        self._unsent = b""

    def begin(self, *, crowded: bool) -> None:
        self._admitted = self._server.admits(self._who, self._hook, client=True)
        self._loop.add_reader(self._question, self._read)
        if not self._admitted:
            # It gets its answer once it has asked, like everybody; but it may only want to hold our pipes.
            self._patience = self._loop.call_later(0 if crowded else REFUSED_SECONDS, self.close)

    def reply(self, reply: HookReply) -> None:
        self._call = 0
        text = hooks.body_of(reply)
        self._unsent = (b"%d text\n%b" if text else b"%d\n%b") % (reply.code, text)
        self._write()

    def close(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._end_question()
        if self._answer >= 0:
            self._loop.remove_writer(self._answer)
            self._loop.remove_reader(self._answer)
            os.close(self._answer)
            self._answer = -1
        self._gone(self)

    def _read(self) -> None:
        try:
            data = os.read(self._question, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        body, end, _ = data.partition(b"\0")
        self._body += body
        if not data or len(self._body) > hooks.BODY_BYTES:
            self.close()
        elif end:
            self._end_question()
            if not self._admitted:
                self.reply(HookReply(call=0, code=1, text=hooks.NOT_OURS))
                return
            # Readable only when the client is gone: it holds nothing but the reading end.
            self._loop.add_reader(self._answer, self._hung_up)
            number = self._server.called(self, self._hook, bytes(self._body))
            if self._answer >= 0 and not self._unsent:
                self._call = number

    def _end_question(self) -> None:
        if self._question >= 0:
            self._loop.remove_reader(self._question)
            os.close(self._question)
            self._question = -1

    def _hung_up(self) -> None:
        call, self._call = self._call, 0
        self.close()
        if call:
            self._server.hung_up(call)

    def _write(self) -> None:
        if self._answer < 0:
            return
        try:
            sent = os.write(self._answer, self._unsent)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.close()
            return
        self._unsent = self._unsent[sent:]
        if self._unsent:
            self._loop.add_writer(self._answer, self._write)
        else:
            self.close()
