"""Lines of a file, one at a time: memory stays flat however long the file or a line is."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from loopguard_cli.history.base import Conversation, Tally

MAX_LINE_BYTES = 32 << 20
"""A longer line is left out: one screenshot in it is worth less than a flat memory."""

_BUFFER_BYTES = 1 << 20

T = TypeVar("T")


def records(path: Path, decoder: msgspec.json.Decoder[T], tally: Tally) -> Iterator[T]:
    """The decoded lines of ``path``; what cannot be decoded is counted.

    A last line without its end is one that is just being written: it counts if it is whole.
    """
    for line in _lines(path, tally):
        try:
            record = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            tally.damaged += 1
            continue
        tally.records += 1
        yield record


def opened(path: Path) -> BinaryIO:
    """``path`` for reading. Raises OSError for what is no file: a pipe would be waited for without end."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        raise OSError("not a regular file")
    return os.fdopen(handle, "rb", buffering=_BUFFER_BYTES)


def _lines(path: Path, tally: Tally) -> Iterator[bytes]:
    with opened(path) as file:
        while line := file.readline(MAX_LINE_BYTES):
            tally.bytes += len(line)
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                tally.oversized += 1
                while rest := file.readline(MAX_LINE_BYTES):
                    tally.bytes += len(rest)
                    if rest.endswith(b"\n"):
                        break
            elif not line.isspace():
                yield line


def files(agent: str, place: Path, pattern: str) -> Iterator[Conversation]:
    """One conversation per file: ``place`` itself, or what matches ``pattern`` below it."""
    found = sorted(place.glob(pattern)) if place.is_dir() else [place]
    for path in found:
        try:
            status = path.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            yield Conversation(agent=agent, path=path, modified=status.st_mtime, size=status.st_size)


def unix_time(stamp: str | None) -> float:
    """Unix time of an ISO 8601 stamp; 0 when there is none."""
    if not stamp:
        return 0.0
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return 0.0
