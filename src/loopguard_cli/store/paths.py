"""Where loopguard keeps things: the state folder of a project and the runtime folder of a person.

Only names are worked out here; nothing is opened or created (`store.folder` does that).

=============  ==================================================================================
state folder   what must survive: ledger, leases. ``.loopguard`` in the project, or
               ``LOOPGUARD_STATE_DIR``. A relative value is relative to the project, never to the
               process's working folder.
runtime folder  what dies with the login: sockets, the register of live runs. ``loopguard`` below
               ``XDG_RUNTIME_DIR``; where that is not set, a folder per user below the temporary
               folder.
=============  ==================================================================================
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

STATE_FOLDER = ".loopguard"
STATE_DIR_VARIABLE = "LOOPGUARD_STATE_DIR"
_PROJECT_MARKS = (STATE_FOLDER, "loopguard.toml", ".git")


def project_folder(start: Path) -> Path:
    """The project ``start`` lies in: the nearest folder upwards with one of our files or ``.git``.

    ``start`` itself if there is none. The home folder counts only where one starts in it, so that
    a run once started there does not adopt every project below; and a folder that somebody else
    owns or may write to (``/tmp``) never adopts anything.
    """
    start = start.absolute()
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where there is none
    for folder in (start, *start.parents):
        if folder == home and folder != start:
            break
        if folder != start and not _ours_alone(folder):
            break
        if any((folder / mark).exists() for mark in _PROJECT_MARKS):
            return folder
    return start


def _ours_alone(folder: Path) -> bool:
    try:
        found = folder.stat()
    except OSError:
        return False
    return found.st_uid == os.geteuid() and not found.st_mode & stat.S_IWOTH


def state_path(project: Path, *, option: str = "", environ: Mapping[str, str] | None = None) -> Path:
    """The state folder of ``project``: the option, else the environment, else the default.

    Blank values count as not given. A leading ``~`` is the home folder.
    """
    environ = os.environ if environ is None else environ
    for value in (option, environ.get(STATE_DIR_VARIABLE, "")):
        if value.strip():
            return project / Path(value.strip()).expanduser()
    return project / STATE_FOLDER


def is_default_state_path(project: Path, path: Path) -> bool:
    """Nobody named another place; only then an import from elsewhere is offered."""
    return path == project / STATE_FOLDER


def runtime_path(environ: Mapping[str, str] | None = None) -> Path:
    """The runtime folder of this person."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_RUNTIME_DIR", "").strip()
    if base and Path(base).is_absolute() and Path(base).is_dir():
        return Path(base) / "loopguard"
    return Path(tempfile.gettempdir()) / f"loopguard-{os.geteuid()}"


def session_name(session: str) -> str:
    """A file name for a session id; nothing of the id itself gets into a path."""
    return hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:32]
