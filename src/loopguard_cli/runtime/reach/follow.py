"""Files that the agent appends to, read along: looked at again and again.

Looking is cheaper than being told: one `fstat` per file and look, on every system alike.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections import OrderedDict
from collections.abc import Callable

from loopguard_cli.agents.base import Answer, Following

LOOK_SECONDS = 0.1
"""Between two looks."""

FILES = 16
"""The one that was asked for longest ago is no longer followed."""

READ_BYTES = 1 << 20

Take = Callable[[Answer], None]


class _File:
    """One followed file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = -1
        self.open()
        # One that does not exist yet is new to us from its beginning.
        self.offset = os.fstat(self.fd).st_size if self.fd >= 0 else 0

    def open(self) -> None:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return
        if stat.S_ISREG(os.fstat(fd).st_mode):
            self.fd = fd
        else:
            os.close(fd)

    def read(self) -> bytes:
        if self.fd < 0:
            self.open()
        if self.fd < 0:
            return b""
        size = os.fstat(self.fd).st_size
        if size < self.offset:  # begun anew
            self.offset = 0
        if size == self.offset:
            return b""
        data = os.pread(self.fd, READ_BYTES, self.offset)
        self.offset += len(data)
        return data

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)


class Follower:
    """The followed files of one run."""

    def __init__(self, adapter: Following, take: Take) -> None:
        self._adapter = adapter
        self._take = take
        self._files: OrderedDict[str, _File] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    def follow(self, path: str) -> None:
        if path not in self._files:
            self._files[path] = _File(path)
            if len(self._files) > FILES:
                self._files.popitem(last=False)[1].close()
        self._files.move_to_end(path)
        if self._timer is None:
            self._arm()

    def look(self) -> None:
        """Read whatever is new in any of them."""
        for file in list(self._files.values()):
            self._read(file)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _arm(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._tick)

    def _tick(self) -> None:
        self._arm()
        self.look()

    def _read(self, file: _File) -> None:
        while data := file.read():
            self._take(self._adapter.appended(file.path, data))
