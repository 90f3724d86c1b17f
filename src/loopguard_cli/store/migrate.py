"""Taking over goals from the goal plugin for OpenCode that loopguard replaces.

Only ever on request (``loopguard goal import``). The plugin's files are read and left as they are;
in a session that has goals here already nothing is imported. Everything arrives paused.

The plugin keeps ``.opencode/goals/state.json`` (older releases) or one such file per session below
``state.json.sessions/`` in the project, each with a ledger beside it that may know of a completion
which its state file missed. A file anywhere else can hold the goals of other projects: from there
only sessions that were named are taken.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from loopguard_cli.core.ids import SessionId
from loopguard_cli.errors import InputError
from loopguard_cli.goal.evolve import Books
from loopguard_cli.goal.model import MAX_LIVE_GOALS, Book
from loopguard_cli.goal.records import Kind, Snapshot, pack
from loopguard_cli.store.folder import reason
from loopguard_cli.store.goals import stored_goals
from loopguard_cli.store.lease import Leases
from loopguard_cli.store.ledger import Ledger
from loopguard_cli.store.plugin_state import Fields, goal_of, result_of

PLUGIN_STATE = Path(".opencode", "goals", "state.json")
MAX_STATE_BYTES = 16 << 20
"""The plugin's own bound."""
PLUGIN_VERSION = 1


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What can be imported."""

    books: Books = {}
    skipped: int = 0
    """Entries that are not valid."""
    files: tuple[str, ...] = ()


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What was imported."""

    goals: int = 0
    results: int = 0
    sessions: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """Sessions that have goals here already, or are driven by a live run."""
    skipped: int = 0


def state_files(project: Path) -> list[Path]:
    """The plugin's state files in ``project``."""
    whole = project / PLUGIN_STATE
    shards = sorted(whole.with_name(f"{whole.name}.sessions").glob("*/state.json"))
    return [path for path in (whole, *shards) if path.is_file() or path.is_symlink()]


def find(project: Path) -> Found:
    """All goals that the plugin left in ``project``. Raises InputError."""
    return _merged([read(path) for path in state_files(project)])


def read(path: Path, *, sessions: Collection[str] | None = None) -> Found:
    """The goals in one state file of the plugin; with ``sessions`` only theirs.

    Raises InputError when it is missing, a link, too large, no JSON or of another version.
    """
    state = _state(path)
    ended = set(_ended(path))
    books: Books = {}
    skipped = 0
    for raw in state["goals"]:
        fields = Fields(raw)
        session, goal = fields.text("sessionID"), goal_of(fields)
        if not session or goal is None:
            skipped += 1
        elif (session, goal.id) not in ended and (sessions is None or session in sessions):
            book = books.get(SessionId(session), Book())
            focus = goal.id if raw.get("focused") is True or not book.focus else book.focus
            goals = (*book.goals, goal)[:MAX_LIVE_GOALS]
            books[SessionId(session)] = msgspec.structs.replace(book, goals=goals, focus=focus)
    for session, raws in _results(state):
        if sessions is not None and session not in sessions:
            continue
        results = tuple(result for result in map(result_of, map(Fields, raws)) if result is not None)
        skipped += len(raws) - len(results)
        if results:
            book = books.get(SessionId(session), Book())
            archive = (*book.archive, *(r for r in results if r not in book.archive))
            books[SessionId(session)] = msgspec.structs.replace(
                book, archive=archive, last_result=archive[-1]
            )
    for session in _list(state.get("orderedSessions")):
        if isinstance(session, str) and (ordered := books.get(SessionId(session))) and ordered.goals:
            books[SessionId(session)] = msgspec.structs.replace(ordered, ordered=True)
    return Found(books=books, skipped=skipped, files=(str(path),))


def write(path: Path, found: Found, *, run: str, now: float) -> Imported:
    """Put what was found into the ledger of the state folder ``path``. Raises StoreError."""
    known = stored_goals(path).books()
    goals = results = 0
    taken, kept = [], []
    leases = Leases(path, run=run, clock=lambda: now)
    with Ledger.open(path, run=run, clock=lambda: now) as ledger:
        for session, book in found.books.items():
            own = known.get(session, Book())
            if own.goals or own.archive or leases.acquire(session) is not None:
                kept.append(session)
                continue
            record = pack(session, "", Kind.SNAPSHOT, Snapshot(at=now, book=book))
            try:
                ledger.append(record, sync=True)
            finally:
                leases.release(session)
            taken.append(session)
            goals += len(book.goals)
            results += len(book.archive)
    return Imported(
        goals=goals, results=results, sessions=tuple(taken), kept=tuple(kept), skipped=found.skipped
    )


def _merged(found: list[Found]) -> Found:
    """A session's own file, read last, is newer than the common one."""
    books: Books = {}
    for part in found:
        books.update(part.books)
    return Found(
        books=books,
        skipped=sum(part.skipped for part in found),
        files=tuple(file for part in found for file in part.files),
    )


def _state(path: Path) -> dict[str, Any]:
    state = _json(path)
    if not isinstance(state, dict):
        raise InputError(f"{path} is no state file of the goal plugin")
    if state.get("version") != PLUGIN_VERSION:
        raise InputError(f"{path} has version {state.get('version')!r}; only version 1 can be imported")
    if not isinstance(state.get("goals"), list) or not isinstance(state.get("results"), list):
        raise InputError(f"{path} is damaged: goals and results must be lists")
    return state


def _json(path: Path) -> Any:
    try:
        return json.loads(_content(path))
    except OSError as error:
        raise InputError(f"cannot read {path}: {reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON") from error


def _content(path: Path) -> bytes:
    """Of a regular file; nothing about it is changed."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        content = file.read(MAX_STATE_BYTES + 1)
    if len(content) > MAX_STATE_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return content


def _ended(path: Path) -> Iterator[tuple[str, str]]:
    """Session and id of goals that the plugin's ledger knows to be over."""
    try:
        content = _content(path.with_name(f"{path.name}.ledger.jsonl"))
    except OSError:
        return
    for line in content.splitlines():
        try:
            entry = Fields(json.loads(line))
        except (ValueError, RecursionError):
            continue
        if entry.text("type") in ("completed", "cleared"):
            yield entry.text("sessionID") or "", entry.text("goalId") or ""


def _results(state: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for archive in _list(state.get("archives")):
        fields = Fields(archive)
        if session := fields.text("sessionID"):
            yield session, _list(fields.raw.get("results"))
    for result in state["results"]:
        yield Fields(result).text("sessionID") or "", [result]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
