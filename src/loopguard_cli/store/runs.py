"""The register of live runs: how other commands find a running supervisor.

One file per run, ``runs/<run id>.json`` in the runtime folder. What a killed run left behind is
cleared away by whoever reads the register next.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

import msgspec

from loopguard_cli.errors import StoreError
from loopguard_cli.store import processes
from loopguard_cli.store.folder import Folder, opened, reason
from loopguard_cli.store.paths import runtime_path

_RUNS = "runs"
_MAX_BYTES = 16 << 10
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class LiveRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says about itself."""

    run: str
    pid: int
    """Of the supervisor."""
    started: str
    """See `store.processes.started`."""
    space: str
    agent: str
    project: str
    """Folder of the project."""
    state: str
    """State folder."""
    socket: str
    """Of the control channel: path of a Unix socket in the runtime folder, or ``127.0.0.1:port``."""
    since: float
    """Unix time."""
    token: str = ""
    """Needed to speak over a loopback port; a Unix socket is protected by its folder."""


def new_run_id() -> str:
    """Short, for people to type; unlike any other."""
    return secrets.token_hex(4)


def this_run(
    *, run: str, agent: str, project: Path, state: Path, socket: str, since: float, token: str = ""
) -> LiveRun:
    """An entry for the calling process."""
    pid = os.getpid()
    return LiveRun(
        run=run, pid=pid, started=processes.started(pid) or "", space=processes.space(), agent=agent,
        project=str(project), state=str(state), socket=socket, since=since, token=token,
    )  # fmt: skip


def prepare_runtime_folder(runtime: Path | None = None) -> Path:
    """The runtime folder, made where it is missing, private and ours. Raises StoreError."""
    path = runtime or runtime_path()
    Folder.open(path, create=True, ours=True, variable="XDG_RUNTIME_DIR").close()
    return path


def register(live: LiveRun, *, runtime: Path | None = None) -> None:
    """Raises StoreError."""
    if not _RUN_ID.fullmatch(live.run):
        raise StoreError(f"{live.run!r} cannot be the id of a run")
    path = prepare_runtime_folder(runtime)
    try:
        with Folder.open(path, create=False, ours=True) as base, base.subfolder(_RUNS, create=True) as folder:
            folder.replace(f"{live.run}.json", msgspec.json.encode(live))
    except OSError as error:
        raise StoreError(f"cannot write to {path}: {reason(error)}") from error


def unregister(run: str, *, runtime: Path | None = None) -> None:
    with suppress(OSError, StoreError), opened(runtime or runtime_path(), _RUNS, ours=True) as folder:
        if folder is not None:
            folder.remove(f"{run}.json")


def live_runs(*, state: Path | None = None, runtime: Path | None = None) -> list[LiveRun]:
    """All runs of this person, oldest first; with ``state`` those that use this state folder.

    Raises StoreError when the runtime folder cannot be trusted.
    """
    found = []
    with opened(runtime or runtime_path(), _RUNS, ours=True) as folder:
        for name in folder.names() if folder else ():
            if folder is None or name.startswith(".") or not name.endswith(".json"):
                continue
            live = _read(folder, name)
            if live is not None and (state is None or live.state == str(state)):
                found.append(live)
    return sorted(found, key=lambda live: (live.since, live.run))


def _read(folder: Folder, name: str) -> LiveRun | None:
    try:
        live = msgspec.json.decode(folder.read(name, _MAX_BYTES), type=LiveRun)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    if live.space != processes.space():
        return None  # cannot be judged from here, nor reached
    if processes.alive(live.pid, live.started):
        return live
    with suppress(OSError):
        folder.remove(name)
    if Path(live.socket).parent == folder.path.parent:
        with suppress(OSError):
            Path(live.socket).unlink()
    return None
