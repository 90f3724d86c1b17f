"""Reading the ledger. Never blocked by a writer, never writes, follows no link.

Files, oldest first: ``ledger.jsonl.3``, ``.2``, ``.1``, ``ledger.jsonl``. Each begins with a
`Generation` line and what was live when it began, so state needs only the newest file whose head is
whole; history needs all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from loopguard_cli.core.records import Generation
from loopguard_cli.store.folder import Folder, NotRegular, opened, reason
from loopguard_cli.store.lines import Damage, Entry, decode

LEDGER = "ledger.jsonl"
MAX_FILE_BYTES = 64 << 20
"""Of one generation; ours are near 2 MiB. A longer one is unreadable."""
_ROTATED = re.compile(re.escape(LEDGER) + r"\.([1-9][0-9]{0,2})")
_ATTEMPTS = 10


def read_ledger(path: Path) -> Iterator[Entry | Damage]:
    """Everything in the state folder ``path``, oldest first; nothing where there is none.

    Raises StoreError when the folder cannot be used safely.
    """
    with opened(path) as folder:
        files = [] if folder is None else read_files(folder)
    for items in files:
        yield from items


def read_state(path: Path) -> Iterator[Entry | Damage]:
    """What state is the fold of: the newest file with a whole head, and what follows it.

    Raises StoreError when the folder cannot be used safely.
    """
    with opened(path) as folder:
        files = [] if folder is None else read_files(folder, only_state=True)
    for items in files:
        yield from items


def read_files(folder: Folder, *, only_state: bool = False) -> list[Sequence[Entry | Damage]]:
    """The ledger's files as of one moment, oldest first; with ``only_state`` as in `read_state`."""
    files: list[Sequence[Entry | Damage]] = []
    for _ in range(_ATTEMPTS):
        files.clear()
        before = folder.stat(LEDGER)
        for name in generation_names(folder):
            files.append(items := _read_file(folder, name))
            if only_state and _head_is_whole(items):
                break
        after = folder.stat(LEDGER)
        if before is after or (before and after and os.path.samestat(before, after)):
            break  # else: rotated meanwhile; a file may have been read twice or not at all
    files.reverse()
    return files


def generation_names(folder: Folder) -> list[str]:
    """Names of the ledger's files, the current one (there or not) first, then newest to oldest."""
    numbers = sorted(int(match[1]) for match in map(_ROTATED.fullmatch, folder.names()) if match)
    return [LEDGER, *(f"{LEDGER}.{number}" for number in numbers)]


def parse(name: str, content: bytes) -> Iterator[Entry | Damage]:
    """The lines of one file. An intact line whose end is missing counts."""
    restated = 0
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line:
            continue
        found = decode(line)
        if isinstance(found, str):
            yield Damage(file=name, line=number, reason=found)
            continue
        if number == 1 and isinstance(found.record, Generation):
            restated = 1 + found.record.restates
        yield msgspec.structs.replace(found, restated=True) if number <= restated else found


def _head_is_whole(items: Sequence[Entry | Damage]) -> bool:
    first = items[0] if items else None
    if not isinstance(first, Entry) or not isinstance(first.record, Generation):
        return False
    head = items[1 : 1 + first.record.restates]
    return len(head) == first.record.restates and all(isinstance(item, Entry) for item in head)


def _read_file(folder: Folder, name: str) -> Sequence[Entry | Damage]:
    try:
        return list(parse(name, folder.read(name, MAX_FILE_BYTES)))
    except FileNotFoundError:
        return ()
    except NotRegular:
        return (Damage(file=name, line=0, reason="unreadable", detail="not a regular file of ours"),)
    except OSError as error:
        return (Damage(file=name, line=0, reason="unreadable", detail=reason(error)),)


class Follower:
    """Reads on where it stopped, over rotations. Starts behind what is there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1
        self._rest = b""
        self._line = 0
        self._restated = 0
        self._open()
        if self._fd >= 0:
            self._drain()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def poll(self) -> list[Entry]:
        """What was written since; damaged lines are left out (a full read reports them)."""
        found = self._drain() if self._fd >= 0 else []
        if self._replaced():
            if self._fd >= 0:
                found += self._drain()
                self.close()
            self._open()
            found += self._drain() if self._fd >= 0 else []
        return found

    def _replaced(self) -> bool:
        try:
            there = (self._path / LEDGER).lstat()
        except OSError:
            return False  # between two renames, or gone: what we hold is still the newest
        return self._fd < 0 or not os.path.samestat(there, os.fstat(self._fd))

    def _open(self) -> None:
        self._rest, self._line, self._restated = b"", 0, 0
        with opened(self._path) as folder:
            if folder is not None:
                with suppress(OSError):
                    self._fd = folder.open_file(LEDGER, os.O_RDONLY)

    def _drain(self) -> list[Entry]:
        found = []
        while chunk := os.read(self._fd, 1 << 20):
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                self._line += 1
                entry = decode(line)
                if isinstance(entry, str):
                    continue
                if self._line == 1 and isinstance(entry.record, Generation):
                    self._restated = 1 + entry.record.restates
                if self._line > self._restated:
                    found.append(entry)
        return found
