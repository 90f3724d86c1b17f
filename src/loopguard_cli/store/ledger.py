"""The ledger: append-only, one line per record, shared by all runs of a project.

State is its fold, so a record is written (and, with ``sync``, on disk) before the effect it
announces. Several processes append to one file: each line goes out in a single write, under a lock
that is held for just that write. What cannot be read is put aside, never overwritten.

Not for use by several threads at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from loopguard_cli.core.records import AnyRecord, Record, RecordsLost
from loopguard_cli.errors import StoreError
from loopguard_cli.store import generation
from loopguard_cli.store.fold import compact
from loopguard_cli.store.folder import Folder, NotRegular, reason
from loopguard_cli.store.generation import Compact
from loopguard_cli.store.lines import MAX_LINE_BYTES, Damage, Entry, encode
from loopguard_cli.store.locks import FileLock
from loopguard_cli.store.paths import STATE_FOLDER
from loopguard_cli.store.reading import LEDGER, read_ledger

__all__ = ["Damage", "Entry", "Ledger", "read_ledger"]

MAX_BYTES = 2 << 20
"""Of one file."""
GENERATIONS = 3
"""Former files that are kept."""
_LOCK = "ledger.lock"


class Ledger:
    """An open ledger. Make one with `Ledger.open`."""

    def __init__(
        self, folder: Folder, *, run: str, clock: Callable[[], float],
        live: Callable[[], Sequence[AnyRecord]], max_bytes: int, generations: int, compact: Compact,
    ) -> None:  # fmt: skip
        self.found: list[Damage] = []
        """What the person has to be told: files put aside, a file that could not be rotated."""
        self.lost = 0
        """Records that could not be written and are not yet accounted for in the ledger."""
        self._folder = folder
        self._run = run
        self._clock = clock
        self._live = live
        self._max_bytes = max_bytes
        self._generations = generations
        self._compact = compact
        self._lock = FileLock(folder, _LOCK)
        self._fd = -1
        self._end = -1
        self._seq = 0
        self._torn = False
        self._rotate_at = max_bytes

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        run: str,
        clock: Callable[[], float] = time.time,
        live: Callable[[], Sequence[AnyRecord]] = tuple,
        max_bytes: int = MAX_BYTES,
        generations: int = GENERATIONS,
        compact: Compact = compact,
    ) -> Self:
        """Open (and make, where needed) the ledger in the state folder ``path``.

        ``run``: whose records these will be. ``clock``: Unix time. ``live``: asked for records
        that restate what this run holds in memory, should the ledger be deleted under it.

        Raises StoreError.
        """
        ledger = cls(
            Folder.open(path, create=True), run=run, clock=clock, live=live,
            max_bytes=max_bytes, generations=generations, compact=compact,
        )  # fmt: skip
        try:
            _hide_from_git(ledger._folder)
            with ledger._lock.held():
                ledger._attach()
        except OSError as error:
            ledger.close()
            raise StoreError(f"cannot write to {path}: {reason(error)}") from error
        except BaseException:
            ledger.close()
            raise
        return ledger

    def close(self) -> None:
        self._detach()
        self._lock.close()
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, record: Record, *, sync: bool = False) -> int:
        """Write ``record``; with ``sync`` return only when it is on disk. Its sequence number.

        Raises StoreError when it was not written; it then is not in the ledger, not even in part.
        Without ``sync`` a series of failures raises once; the later ones give -1. What was lost is
        counted in the ledger as soon as it can be written again.
        """
        try:
            self._find_folder()
            with self._lock.held():
                self._find_file()
                if self.lost:
                    self._write(RecordsLost(count=self.lost), sync=False)
                    self.lost = 0
                return self._write(record, sync=sync)
        except (OSError, StoreError) as error:
            self.lost += 1
            if self.lost > 1 and not sync:
                return -1
            if isinstance(error, StoreError):
                raise
            raise StoreError(f"cannot write to {self._folder.path}: {reason(error)}") from error

    def _find_folder(self) -> None:
        """Make it anew where somebody deleted it under us (`git clean`)."""
        if self._folder.still_there():
            return
        folder = Folder.open(self._folder.path, create=True)
        self._lock.close()
        self._folder.close()
        self._folder = folder
        self._lock = FileLock(folder, _LOCK)
        _hide_from_git(folder)

    # --- from here on the lock is held -------------------------------------------------------

    def _find_file(self) -> None:
        """Hold the current file, and know where it ends."""
        there = self._folder.stat(LEDGER)
        if there is None:
            now = self._clock()
            live = [Entry(seq=0, time=now, run=self._run, record=record) for record in self._live()]
            self._begin_generation(live)
        elif self._fd < 0 or not os.path.samestat(there, os.fstat(self._fd)):
            self._attach()
        elif os.fstat(self._fd).st_size != self._end:
            self._look_at_tail()

    def _attach(self) -> None:
        """Open the current file; put it aside and begin a new one where it is not usable."""
        self._detach()
        self._rotate_at = self._max_bytes
        try:
            self._fd = self._folder.open_file(LEDGER, os.O_RDWR | os.O_APPEND)
            fault = generation.fault(self._fd)
        except FileNotFoundError:
            fault = "empty"
        except (NotRegular, PermissionError):
            fault = "corrupt"
        if not fault:
            self._look_at_tail()
            return
        if fault != "empty":
            aside = self._folder.put_aside(LEDGER, fault, self._clock())
            self.found.append(
                Damage(file=aside, line=0, reason="newer" if fault == "newer" else "unreadable")
            )
        self._begin_generation()

    def _detach(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _begin_generation(self, extra: Sequence[Entry] = ()) -> None:
        generation.begin(
            self._folder, run=self._run, now=self._clock(), keep=self._generations,
            compact=self._compact, extra=extra,
        )  # fmt: skip
        self._detach()
        self._fd = self._folder.open_file(LEDGER, os.O_RDWR | os.O_APPEND)
        self._look_at_tail()
        # A long head must not make every line begin a new file.
        self._rotate_at = max(self._max_bytes, self._end + self._max_bytes // 4)

    def _look_at_tail(self) -> None:
        tail = generation.tail(self._fd)
        self._end, self._seq, self._torn = tail.end, max(self._seq, tail.seq), tail.torn

    def _make_room(self, needed: int) -> None:
        """Begin a new file if that helps; a failure to do so is no failure to write."""
        self._rotate_at = max(self._max_bytes, generation.head_bytes(self._fd) + self._max_bytes // 4)
        if self._end + needed <= self._rotate_at:
            return
        try:
            self._begin_generation()
        except Exception as error:  # whatever it is: the line at hand still has a place
            self._rotate_at = self._end + self._max_bytes // 4
            overlong = Damage(file=LEDGER, line=0, reason="overlong", detail=type(error).__name__)
            if overlong not in self.found:
                self.found.append(overlong)

    def _write(self, record: Record, *, sync: bool) -> int:
        line = encode(self._seq + 1, self._clock(), self._run, record)
        if len(line) > MAX_LINE_BYTES:
            raise StoreError(f"a {type(record).__name__} of {len(line)} bytes is too long for the ledger")
        if self._end + len(line) > self._rotate_at:
            self._make_room(len(line))
            line = encode(self._seq + 1, self._clock(), self._run, record)
        if self._torn:
            line = b"\n" + line
        try:
            if os.write(self._fd, line) != len(line):
                raise StoreError(f"cannot write to {self._folder.path}: no space left on device")
            if sync:
                os.fsync(self._fd)
        except (OSError, StoreError):
            # Should this fail as well, the next writer finds a torn line and begins a new one.
            with suppress(OSError):
                os.ftruncate(self._fd, self._end)
            raise
        self._seq += 1
        self._end += len(line)
        self._torn = False
        return self._seq


def _hide_from_git(folder: Folder) -> None:
    """Not where a person named a folder that holds other things."""
    if not folder.exists(".gitignore") and (folder.path.name == STATE_FOLDER or not folder.names()):
        with suppress(OSError):
            folder.replace(".gitignore", b"*\n")
