"""The ledger's current file: judging it, beginning a new one, and where it ends.

All of this runs under the ledger's lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import msgspec

from loopguard_cli.core.records import Generation
from loopguard_cli.store.folder import Folder
from loopguard_cli.store.lines import Entry, decode, encode
from loopguard_cli.store.reading import LEDGER, generation_names, read_files

_FRESH = f"{LEDGER}.new"
_TAIL_BYTES = 64 << 10

Compact = Callable[[Iterable[Entry]], Sequence[Entry]]


class Tail(msgspec.Struct, frozen=True):
    """Where a file ends."""

    end: int
    seq: int
    """Of the last intact line; 0 if there is none."""
    torn: bool
    """The last line has no end: whoever writes next has to begin a new one."""


def tail(fd: int) -> Tail:
    size = os.fstat(fd).st_size
    torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
    for window in (_TAIL_BYTES, size):
        start = max(0, size - window)
        lines = os.pread(fd, size - start, start).split(b"\n")
        for line in reversed(lines[1:] if start else lines):
            found = decode(line)
            if isinstance(found, Entry):
                return Tail(size, found.seq, torn)
    return Tail(size, 0, torn)


def fault(fd: int) -> str:
    """Why the file cannot be gone on with: newer, corrupt, empty; "" if it has an intact line."""
    worst = "empty"
    with os.fdopen(os.dup(fd), "rb") as file:
        file.seek(0)
        for line in file:
            found = decode(line.rstrip(b"\n"))
            if isinstance(found, Entry):
                return ""
            if found == "newer":
                worst = "newer"
            elif worst != "newer":
                worst = "corrupt"
    return worst


def head_bytes(fd: int) -> int:
    """Length of what only restates: the part that a new file would have again."""
    with os.fdopen(os.dup(fd), "rb") as file:
        file.seek(0)
        first = file.readline()
        found = decode(first.rstrip(b"\n"))
        length = len(first)
        if isinstance(found, Entry) and isinstance(found.record, Generation):
            length += sum(len(file.readline()) for _ in range(found.record.restates))
    return length


def begin(
    folder: Folder, *, run: str, now: float, keep: int, compact: Compact, extra: Sequence[Entry] = ()
) -> None:
    """Put a new current file in place, which restates what is live; the others move on by one.

    Any moment of it may be the last one of this process: the new file is complete and on disk
    before it gets its name, and until then the former one holds everything.
    """
    known = [
        item for items in read_files(folder, only_state=True) for item in items if isinstance(item, Entry)
    ]
    live = [*compact(known), *extra]
    seq = max((entry.seq for entry in known), default=0)
    content = [encode(seq + 1, now, run, Generation(restates=len(live)))]
    for number, entry in enumerate(live, start=seq + 2):
        content.append(encode(number, entry.time, entry.run, entry.record))
    folder.replace(_FRESH, b"".join(content), sync=True)
    _move_on(folder, keep)
    folder.rename(_FRESH, LEDGER)
    folder.sync()


def _move_on(folder: Folder, keep: int) -> None:
    current, *rotated = generation_names(folder)
    for name in reversed(rotated):
        number = int(name.rpartition(".")[2])
        if number >= keep:
            folder.remove(name)
        else:
            folder.rename(name, f"{LEDGER}.{number + 1}")
    if keep and folder.exists(current):
        with suppress(FileNotFoundError):
            folder.rename(current, f"{LEDGER}.1")
