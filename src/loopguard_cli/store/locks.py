"""Mutual exclusion between processes on one folder, by the kernel's file locks.

The kernel releases such a lock when its holder dies, so a lock can never be stale. It is held for
the length of one write, never for the life of a process (that is what `store.lease` is for).
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from loopguard_cli.errors import StoreError
from loopguard_cli.store.folder import Folder, NotRegular, reason

WAIT_SECONDS = 2.0
"""Longer than any holder needs; only a suspended process keeps a lock that long. The wait is paid
once: until the lock was had again, it is only tried."""
_STEP_SECONDS = 0.002


class FileLock:
    """An exclusive lock on ``name`` in ``folder``, taken by ``with lock.held():``."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder = folder
        self._name = name
        self._fd = -1
        self._patience = WAIT_SECONDS

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raises StoreError when it cannot be had in time."""
        self._take()
        try:
            yield
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _take(self) -> None:
        give_up = 0.0
        while True:
            if self._fd < 0:
                self._fd = self._open()
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                now = time.monotonic()
                give_up = give_up or now + self._patience
                if now >= give_up:
                    self._patience = 0.0
                    raise StoreError(f"another process holds {self._folder.path / self._name}") from None
                time.sleep(_STEP_SECONDS)
                continue
            except OSError as error:
                raise StoreError(f"cannot lock {self._folder.path}: {reason(error)}") from error
            there = self._folder.stat(self._name)
            if there is not None and os.path.samestat(there, os.fstat(self._fd)):
                self._patience = WAIT_SECONDS
                return
            self.close()  # somebody removed the file: others would lock the new one

    def _open(self) -> int:
        try:
            return self._folder.open_file(self._name, os.O_RDWR | os.O_CREAT)
        except NotRegular as error:
            raise StoreError(str(error), "remove it") from error
        except OSError as error:
            raise StoreError(f"cannot write to {self._folder.path}: {reason(error)}") from error
