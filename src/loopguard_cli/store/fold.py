"""What is still live in a ledger: what a new file has to begin with.

Restated are the runs that have not ended and the goals of every session. Guard counters are not:
they belong to the process that counts and die with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import GoalRecord, RunEnded, RunStarted
from loopguard_cli.goal.evolve import Books, fold
from loopguard_cli.goal.model import Book
from loopguard_cli.goal.records import Kind, Snapshot, pack
from loopguard_cli.store.lines import Entry

MAX_OPEN_RUNS = 16
"""A run that was killed never ends; only the newest are of interest."""
MAX_FINISHED_SESSIONS = 200
RETENTION_SECONDS = 30 * 86400.0
"""How long the results of a session without live goals stay."""


def compact(entries: Iterable[Entry]) -> Sequence[Entry]:
    """The fewest entries whose fold is that of ``entries``."""
    runs: dict[str, Entry] = {}
    goals: list[GoalRecord] = []
    writers: dict[SessionId, Entry] = {}
    newest = 0.0
    for entry in entries:
        newest = max(newest, entry.time)
        match entry.record:
            case RunStarted():
                runs[entry.run] = entry
            case RunEnded():
                runs.pop(entry.run, None)
            case GoalRecord():
                goals.append(entry.record)
                writers[entry.record.session] = entry
            case _:
                pass
    books = _kept(fold({}, goals)[0], newest)
    restated = [_restated(session, book, writers[session]) for session, book in books.items()]
    return [*list(runs.values())[-MAX_OPEN_RUNS:], *restated]


def _restated(session: SessionId, book: Book, last: Entry) -> Entry:
    record = pack(session, "", Kind.SNAPSHOT, Snapshot(at=last.time, book=book))
    return Entry(seq=last.seq, time=last.time, run=last.run, record=record)


def _kept(books: Books, now: float) -> Books:
    """Sessions with live goals, and of the others those whose results are not too old."""
    finished = {session: _finished(book) for session, book in books.items() if not book.goals}
    newest = sorted(finished, key=finished.__getitem__, reverse=True)[:MAX_FINISHED_SESSIONS]
    recent = {session for session in newest if finished[session] > now - RETENTION_SECONDS}
    return {session: book for session, book in books.items() if book.goals or session in recent}


def _finished(book: Book) -> float:
    results = (*book.archive, *((book.last_result,) if book.last_result else ()))
    return max((result.finished for result in results), default=0.0)
