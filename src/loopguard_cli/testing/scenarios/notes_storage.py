"""The checks of `notes` for scenarios about files and processes."""

from __future__ import annotations

import stat
from collections.abc import Callable

from loopguard_cli.core.effects import Respond
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.goal.loop import OWNED_ELSEWHERE, STORAGE_UNSAFE
from loopguard_cli.goal.model import StopReason
from loopguard_cli.store.goals import stored_goals
from loopguard_cli.store.ledger import Damage
from loopguard_cli.store.reading import LEDGER, read_ledger
from loopguard_cli.testing.scenarios.engine import Engine
from loopguard_cli.testing.scenarios.host import DEFAULT_SESSION
from loopguard_cli.testing.scenarios.persistent import Persistent

Check = Callable[[Engine, int, Respond | None], list[str]]


def _must(ok: bool, text: str) -> list[str]:
    return [] if ok else [text]


def _store(engine: Engine) -> Persistent:
    assert isinstance(engine.storage, Persistent)
    return engine.storage


def _refused(reply: Respond | None, code: str = OWNED_ELSEWHERE) -> list[str]:
    return _must(reply is not None and reply.code == code, f"expected {code}, got {reply}")


def _worked(reply: Respond | None) -> list[str]:
    return _must(reply is not None and reply.ok, f"expected an answer, got {reply}")


def _takeover(engine: Engine, number: int, reply: Respond | None) -> list[str]:
    if number == 1:
        return _refused(reply)
    if number != 4:
        return []
    book = stored_goals(_store(engine).path).books()[SessionId(DEFAULT_SESSION)]
    recovered = book.focused is not None and book.focused.stop is StopReason.RECOVERED
    return [*_worked(reply), *_must(recovered, "the goal was not taken over as stopped")]


def _remote(_engine: Engine, number: int, reply: Respond | None) -> list[str]:
    return _refused(reply) if number == 1 else []


def _malformed(_engine: Engine, number: int, reply: Respond | None) -> list[str]:
    if number == 1:
        return _refused(reply)
    return _worked(reply) if number == 3 else []


def _newer(engine: Engine, number: int, reply: Respond | None) -> list[str]:
    if number != 1:
        return []
    file = next((_store(engine).path / "leases").glob("*.json"))
    untouched = b'"protocol": 99' in file.read_bytes()
    return [*_refused(reply), *_must(untouched, "the lease of a newer version was changed")]


def _independent(engine: Engine, _number: int, _reply: Respond | None) -> list[str]:
    books = stored_goals(_store(engine).path).books()
    return _must(sum(len(book.goals) for book in books.values()) == 4, f"goals: {books}")


def _hostile(engine: Engine, number: int, reply: Respond | None) -> list[str]:
    if number != 1 or reply is None:
        return []
    shown = [word for word in ("evil", "\n", "f" * 32, str(_store(engine).path)) if word in reply.text]
    return [*_refused(reply), *_must(not shown, f"the answer shows {shown}")]


def _no_folder(_engine: Engine, number: int, reply: Respond | None) -> list[str]:
    return _refused(reply, STORAGE_UNSAFE) if number == 1 else []


def _released(_engine: Engine, number: int, reply: Respond | None) -> list[str]:
    return _worked(reply) if number == 2 else []


def _link(engine: Engine, number: int, _reply: Respond | None) -> list[str]:
    store = _store(engine)
    if number == 0 or not store.outside.exists():
        return []
    mode = stat.S_IMODE(store.outside.stat().st_mode)
    kept = store.outside.read_text() == "outside\n" and mode == 0o640
    known = engine.book(DEFAULT_SESSION).focused is not None
    return [*_must(kept, "the target of a link was changed"), *_must(known or number > 1, "the goal is lost")]


def _read_link(engine: Engine, number: int, reply: Respond | None) -> list[str]:
    if number != 3:
        return []
    kept = _store(engine).outside.read_text() == "outside\n"
    return [*_worked(reply), *_must(kept, "the target of a link was changed")]


def _rotated(engine: Engine, number: int, _reply: Respond | None) -> list[str]:
    if number != 1:
        return []
    path, given = _store(engine).path, engine.given
    files = sorted(path.glob(f"{LEDGER}*"))
    most = given["ledger_max_bytes"] * 2
    found = list(read_ledger(path))
    filler = [
        item.record.detail
        for item in found
        if not isinstance(item, Damage)
        and isinstance(item.record, GoalRecord)
        and item.record.goal == "gfiller"
    ]
    return [
        *_must(len(files) <= given["ledger_generations"] + 1, f"files: {[f.name for f in files]}"),
        *_must(all(f.stat().st_size <= most for f in files), "a file is too large"),
        *_must(not any(isinstance(item, Damage) for item in found), "damaged lines"),
        *_must(bool(filler) and filler == sorted(filler), "the events are not in order"),
    ]


def _both_failed(engine: Engine, number: int, _reply: Respond | None) -> list[str]:
    if number != 3:
        return []
    reasons = [goal.stop for goal in engine.book(DEFAULT_SESSION).goals]
    return _must(reasons[-1:] == [StopReason.QUEUED], f"stop reasons {reasons}")


CHECKS: dict[str, Check] = {
    "lease.takeover-explicit": _takeover,
    "lease.remote-owner": _remote,
    "lease.malformed-recent": _malformed,
    "lease.future-protocol": _newer,
    "lease.independent-sessions": _independent,
    "lease.hostile-metadata": _hostile,
    "lease.storage-error-is-not-contention": _no_folder,
    "lease.dispose-releases": _released,
    "ledger.symlink": _link,
    "better.ledger-read-nofollow": _read_link,
    "ledger.rotation": _rotated,
    "ledger.zero-retention": _rotated,
    "durable.both-fail-sequence": _both_failed,
}
