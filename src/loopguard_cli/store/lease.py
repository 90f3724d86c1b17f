"""The right of one process to drive one session's goal.

One file per session, ``leases/<digest of the session id>.json``, changed only under a lock that is
held for that change. Reading never waits. What becomes of a lease that somebody else holds:

=====================================  =========================================================
its owner                              then it
=====================================  =========================================================
runs (same number, same start time)    blocks, however old its heartbeat: it may be suspended
is gone, or its number was used again  is taken over
is in another container of this host   blocks until its heartbeat is a minute old
is on another host                     blocks; once its heartbeat is a minute old a person may
                                       take it over by saying so (a lost network looks the same
                                       as a lost host)
cannot be made out (damaged file)      blocks for 30 seconds from the last change of the file
follows a newer protocol               blocks and is left untouched
=====================================  =========================================================
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

import msgspec

from loopguard_cli.errors import StoreError
from loopguard_cli.store import processes
from loopguard_cli.store.folder import Folder, NotRegular, opened, reason
from loopguard_cli.store.locks import FileLock
from loopguard_cli.store.paths import session_name

PROTOCOL = 1
HEARTBEAT_SECONDS = 10.0
"""How often the holder has to call `Leases.beat`."""
STALE_SECONDS = 60.0
MALFORMED_SECONDS = 30.0
_LEASES = "leases"
_LOCK = "lock"
_MAX_BYTES = 4096


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a lease file."""

    protocol: int
    token: str
    pid: int
    started: str
    host: str
    space: str
    run: str
    since: float
    """Unix time."""
    beat: float
    """Unix time of the newest heartbeat."""


class Why(StrEnum):
    RUNNING = "running"
    ELSEWHERE = "elsewhere"
    """On another host, or in another container, with a fresh heartbeat."""
    LOST_ELSEWHERE = "lost_elsewhere"
    """On another host, without heartbeat: a person may take it over."""
    MALFORMED = "malformed"
    NEWER = "newer"


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Another process holds the lease."""

    why: Why
    run: str = ""
    """Of the owner, if it runs here."""
    host: str = ""
    """Of the owner, fit to be shown; empty: this one."""

    @property
    def text(self) -> str:
        match self.why:
            case Why.RUNNING:
                return "another loopguard drives this session; end it to take over"
            case Why.ELSEWHERE:
                return f"loopguard on {self.host} drives this session; end it there to take over"
            case Why.LOST_ELSEWHERE:
                return f"loopguard on {self.host} drove this session and has not been heard of since"
            case Why.MALFORMED:
                return "the lease of this session is damaged; it expires within 30 seconds"
            case Why.NEWER:
                return "a newer loopguard drives this session"


class Leases:
    """The leases of one run in one state folder."""

    def __init__(self, path: Path, *, run: str, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._run = run
        self._clock = clock
        self._token = secrets.token_hex(16)
        self._held: dict[str, float] = {}

    def acquire(self, session: str, *, take_over: bool = False) -> Refusal | None:
        """None: this run may drive ``session`` now. ``take_over``: a person said so.

        Raises StoreError when the folder cannot be written; that is no refusal.
        """
        name = _file_name(session)
        with _Locked(self._path) as folder:
            refusal = self._refusal(folder, name, take_over=take_over)
            if refusal is None:
                since = self._held.get(session, self._clock())
                self._write(folder, name, since)
                self._held[session] = since
            return refusal

    def holds(self, session: str) -> bool:
        """Read back: still ours, also after this process was suspended for a while."""
        if session not in self._held:
            return False
        with suppress(StoreError):
            owner = read_owner(self._path, session)
            return isinstance(owner, Owner) and owner.token == self._token
        return False

    def beat(self) -> list[str]:
        """Say that we live. The sessions whose lease somebody else has taken meanwhile.

        Raises StoreError.
        """
        if not self._held:
            return []
        lost = []
        with _Locked(self._path) as folder:
            for session, since in list(self._held.items()):
                name = _file_name(session)
                owner = _read(folder, name)
                if owner is None or (isinstance(owner, Owner) and owner.token == self._token):
                    self._write(folder, name, since)
                else:
                    del self._held[session]
                    lost.append(session)
        return lost

    def release(self, session: str) -> None:
        """Give up; nothing happens if it is not ours. Raises StoreError."""
        if self._held.pop(session, None) is None:
            return
        name = _file_name(session)
        with _Locked(self._path) as folder:
            owner = _read(folder, name)
            if isinstance(owner, Owner) and owner.token == self._token:
                folder.remove(name)

    def close(self) -> None:
        """Give up all, as far as possible."""
        for session in list(self._held):
            with suppress(StoreError):
                self.release(session)

    def _refusal(self, folder: Folder, name: str, *, take_over: bool) -> Refusal | None:
        owner = _read(folder, name)
        now = self._clock()
        if owner is None:
            return None
        if isinstance(owner, _Unusable):
            if owner.newer:
                return Refusal(why=Why.NEWER)
            return None if abs(now - owner.changed) > MALFORMED_SECONDS else Refusal(why=Why.MALFORMED)
        stale = abs(now - owner.beat) > STALE_SECONDS
        if owner.token == self._token:
            return None
        host = processes.shown_host(owner.host)
        if owner.host != processes.host():
            if stale and take_over:
                return None
            return Refusal(why=Why.LOST_ELSEWHERE if stale else Why.ELSEWHERE, host=host)
        if owner.space != processes.space():
            return None if stale else Refusal(why=Why.ELSEWHERE, host=host)
        if processes.alive(owner.pid, owner.started):
            return Refusal(why=Why.RUNNING, run=owner.run)
        return None

    def _write(self, folder: Folder, name: str, since: float) -> None:
        pid = os.getpid()
        owner = Owner(
            protocol=PROTOCOL, token=self._token, pid=pid, started=processes.started(pid) or "",
            host=processes.host(), space=processes.space(), run=self._run,
            since=since, beat=self._clock(),
        )  # fmt: skip
        try:
            folder.replace(name, msgspec.json.encode(owner))
        except OSError as error:
            raise StoreError(f"cannot write to {folder.path}: {reason(error)}") from error


def read_owner(path: Path, session: str) -> Owner | None:
    """Who holds the lease of ``session`` according to its file (it may be dead by now).

    None also where the file cannot be made out. Raises StoreError.
    """
    with opened(path, _LEASES) as folder:
        owner = None if folder is None else _read(folder, _file_name(session))
    return owner if isinstance(owner, Owner) else None


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One lease, to be looked at."""

    run: str = ""
    alive: bool = False
    """Its owner runs, here or (as far as its heartbeat tells) elsewhere."""
    damaged: bool = False


def standing(path: Path, now: float) -> list[Standing]:
    """All leases in the state folder ``path``. Raises StoreError."""
    found = []
    with opened(path, _LEASES) as folder:
        for name in folder.names() if folder else ():
            if folder is None or name.startswith(".") or not name.endswith(".json"):
                continue
            owner = _read(folder, name)
            if isinstance(owner, Owner):
                here = (owner.host, owner.space) == (processes.host(), processes.space())
                fresh = abs(now - owner.beat) <= STALE_SECONDS
                alive = processes.alive(owner.pid, owner.started) if here else fresh
                found.append(Standing(run=owner.run, alive=alive))
            elif owner is not None:
                found.append(Standing(damaged=True))
    return found


class _Unusable(msgspec.Struct, frozen=True):
    newer: bool
    changed: float
    """Unix time."""


class _Protocol(msgspec.Struct):
    protocol: int


_owner = msgspec.json.Decoder(Owner)
_protocol = msgspec.json.Decoder(_Protocol)


def _file_name(session: str) -> str:
    return f"{session_name(session)}.json"


def _read(folder: Folder, name: str) -> Owner | _Unusable | None:
    found = folder.stat(name)
    try:
        content = folder.read(name, _MAX_BYTES)
    except FileNotFoundError:
        return None
    except NotRegular as error:
        raise StoreError(str(error), "remove it") from error
    except OSError:
        return _Unusable(newer=False, changed=found.st_mtime if found else 0.0)
    changed = found.st_mtime if found else 0.0
    try:
        if _protocol.decode(content).protocol != PROTOCOL:
            return _Unusable(newer=True, changed=changed)
        return _owner.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Unusable(newer=False, changed=changed)


class _Locked:
    """The folder of the leases, with the lock held."""

    def __init__(self, path: Path) -> None:
        try:
            with Folder.open(path, create=True) as state:
                self._folder = state.subfolder(_LEASES, create=True)
        except OSError as error:
            raise StoreError(f"cannot write to {path}: {reason(error)}") from error
        self._lock = FileLock(self._folder, _LOCK)
        self._held = self._lock.held()

    def __enter__(self) -> Folder:
        try:
            self._held.__enter__()
        except BaseException:
            self._close()
            raise
        return self._folder

    def __exit__(self, *_: object) -> None:
        self._held.__exit__(None, None, None)
        self._close()

    def _close(self) -> None:
        self._lock.close()
        self._folder.close()
