"""``--record FILE``: the whole event trace of a run, for `loopguard replay`.

The one place where arguments, output and text reach the disk: the person asked for it by name.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

from loopguard_cli.core.events import Event, encode
from loopguard_cli.errors import InputError

FORMAT = "loopguard-record"
VERSION = 1


class Recording:
    """An open trace file: a header line, then one line per event with ``t``, seconds since the start."""

    def __init__(self, path: Path, *, agent: str, started: float) -> None:
        """Raises InputError when ``path`` cannot be written safely."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            fd = os.open(path, flags, 0o600)
        except OSError as error:
            why = "it is a link" if path.is_symlink() else (error.strerror or str(error)).lower()
            raise InputError(f"cannot record to {path}: {why}", "name a regular file") from error
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise InputError(f"cannot record to {path}: it is not a regular file", "name a regular file")
        os.fchmod(fd, 0o600)
        self.path = path
        self.failed = ""
        """Why recording stopped; empty while it goes on."""
        self._started = started
        self._file = os.fdopen(fd, "wb")
        header = {"format": FORMAT, "version": VERSION, "agent": agent, "started": started}
        self._write(msgspec.json.encode(header))

    def write(self, event: Event, now: float) -> None:
        """Append one event. A full disk ends the recording, not the run."""
        self._write(b'{"t":%.6f,"event":%b}' % (now - self._started, encode(event)))

    def _write(self, line: bytes) -> None:
        if self.failed:
            return
        try:
            self._file.write(line + b"\n")
        except OSError as error:
            self.failed = (error.strerror or str(error)).lower()

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            self.failed = self.failed or (error.strerror or str(error)).lower()
