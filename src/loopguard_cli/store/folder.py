"""A folder of ours, held open: everything in it is reached through its handle and follows no link.

Type and owner are checked on the open handle, never on a name, so there is no moment between check
and use. POSIX only.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

from loopguard_cli.errors import StoreError
from loopguard_cli.store.paths import STATE_DIR_VARIABLE, STATE_FOLDER

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class NotRegular(OSError):
    """There is something of that name, but no regular file of ours."""


def reason(error: OSError) -> str:
    """What went wrong, for a person, without path and number."""
    return os.strerror(error.errno).lower() if error.errno else str(error)


class Folder:
    """An open folder. ``path`` is for messages and for `reopen`."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd

    @classmethod
    def open(
        cls, path: Path, *, create: bool, ours: bool | None = None, variable: str = STATE_DIR_VARIABLE
    ) -> Self:
        """Open ``path``; with ``create`` make it (0700) where it is missing.

        ``ours``: nobody else has business in it, so that loose permissions are tightened; else a
        folder that others can write to is refused. By default told by its name: a person may name
        any folder. ``variable`` sets another place.

        Raises StoreError, FileNotFoundError (only without ``create``).
        """
        ours = path.name == STATE_FOLDER if ours is None else ours
        if create:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with suppress(FileExistsError):
                    path.mkdir(mode=0o700)
            except OSError as error:
                raise StoreError(
                    f"cannot create {path}: {reason(error)}", f"set {variable} to another folder"
                ) from error
        try:
            fd = os.open(path, _OPEN_FOLDER)
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                what = "a symbolic link" if path.is_symlink() else "not a folder"
                raise StoreError(f"{path} is {what}", f"remove it, or set {variable}") from error
            raise StoreError(f"cannot open {path}: {reason(error)}") from error
        try:
            _check_folder(path, fd, ours=ours, variable=variable)
        except BaseException:
            os.close(fd)
            raise
        return cls(path, fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def subfolder(self, name: str, *, create: bool) -> Folder:
        """A folder inside. Raises FileNotFoundError (only without ``create``), StoreError."""
        path = self.path / name
        if create:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self._fd)
        try:
            fd = os.open(name, _OPEN_FOLDER, dir_fd=self._fd)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreError(f"{path} is not a folder of ours: {reason(error)}", "remove it") from error
        try:
            _check_folder(path, fd, ours=True, variable=STATE_DIR_VARIABLE)
        except BaseException:
            os.close(fd)
            raise
        return Folder(path, fd)

    # --- files -------------------------------------------------------------------------------

    def open_file(self, name: str, flags: int) -> int:
        """Open the regular file ``name`` of ours (0600 where created) and return the descriptor.

        Raises NotRegular for a link, a pipe, a folder or somebody else's file; OSError.
        """
        try:
            # NONBLOCK: a named pipe in the way must not make us wait for its other end.
            fd = os.open(
                name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, mode=0o600, dir_fd=self._fd
            )
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.EMLINK}:
                raise NotRegular(f"{self.path / name} is not a regular file") from error
            raise
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            os.close(fd)
            raise NotRegular(f"{self.path / name} is not a regular file of ours")
        if found.st_mode & 0o177:
            with suppress(OSError):
                os.fchmod(fd, 0o600)
        return fd

    def read(self, name: str, limit: int) -> bytes:
        """The content of ``name``. Raises NotRegular, OSError; EFBIG beyond ``limit`` bytes."""
        fd = self.open_file(name, os.O_RDONLY)
        with os.fdopen(fd, "rb") as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return content

    def replace(self, name: str, content: bytes, *, sync: bool = False) -> None:
        """Put ``content`` in place of ``name`` at once: a reader sees the old or the new whole.

        Two writers of one name exclude each other by a lock.
        """
        temporary = f".{name}.new"  # a fixed name, so that crashes leave at most one behind
        with suppress(FileNotFoundError):
            self.remove(temporary)
        fd = self.open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            try:
                _write_all(fd, content)
                if sync:
                    os.fsync(fd)
            finally:
                os.close(fd)
            self.rename(temporary, name)
        except BaseException:
            with suppress(OSError):
                self.remove(temporary)
            raise
        if sync:
            self.sync()

    def exists(self, name: str) -> bool:
        """There is something of that name, a dangling link included."""
        return self.stat(name) is not None

    def stat(self, name: str) -> os.stat_result | None:
        """Of the name itself, not of what it may point to; None where there is none."""
        try:
            return os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        return sorted(os.listdir(self._fd))  # noqa: PTH208 - a handle is no path

    def remove(self, name: str) -> None:
        os.unlink(name, dir_fd=self._fd)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def put_aside(self, name: str, kind: str, now: float) -> str:
        """Rename ``name`` (whatever it is) to a free ``name.kind.time`` and return that name."""
        aside = base = f"{name}.{kind}.{int(now)}"
        number = 1
        while self.exists(aside):
            number += 1
            aside = f"{base}-{number}"
        self.rename(name, aside)
        return aside

    def sync(self) -> None:
        """Flush creations and renames to disk."""
        os.fsync(self._fd)

    def still_there(self) -> bool:
        """The path still leads to the folder we hold (nobody removed or replaced it)."""
        try:
            return os.path.samestat(self.path.lstat(), os.fstat(self._fd))
        except OSError:
            return False


def _write_all(fd: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _check_folder(path: Path, fd: int, *, ours: bool, variable: str) -> None:
    found = os.fstat(fd)
    if found.st_uid != os.geteuid():
        raise StoreError(f"{path} belongs to another user", f"set {variable} to a folder of yours")
    if ours and found.st_mode & 0o077:
        with suppress(OSError):
            os.fchmod(fd, 0o700)
            found = os.fstat(fd)
    if found.st_mode & _OTHERS_WRITE:
        raise StoreError(f"other users can write to {path}", f"chmod go-w {path}")


@contextmanager
def opened(path: Path, *inside: str, ours: bool | None = None) -> Iterator[Folder | None]:
    """The folder at ``path``, or the one ``inside`` it, for the time of a ``with``; None: not there.

    Raises StoreError.
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(Folder.open(path, create=False, ours=ours))
            for name in inside:
                folder = stack.enter_context(folder.subfolder(name, create=False))
        except FileNotFoundError:
            yield None
            return
        yield folder
