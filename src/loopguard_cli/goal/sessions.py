"""All sessions of a run: their books as the ledger had them, and as they are now."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from loopguard_cli.core.effects import Effect, Record
from loopguard_cli.core.ids import Mint, SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.goal import prompts, records
from loopguard_cli.goal.evolve import WAITING, fold, join
from loopguard_cli.goal.model import Book
from loopguard_cli.goal.records import Kind, pack
from loopguard_cli.goal.session import GoalSession
from loopguard_cli.goal.settings import GoalSettings

MAX_SESSIONS = 200
"""Of sessions without goals, the least recently used are forgotten beyond this."""


class Sessions:
    """The state of `loop.Goals`, without what events do to it."""

    def __init__(self, settings: GoalSettings, capabilities: Capabilities, mint: Mint) -> None:
        self.settings = settings
        self._capabilities = capabilities
        self._mint = mint
        self._books: dict[SessionId, Book] = {}
        self._sessions: OrderedDict[SessionId, GoalSession] = OrderedDict()

    # --- what a run starts from --------------------------------------------------------------

    def restore(self, stored: Iterable[GoalRecord]) -> int:
        """Start from the ledger's records, oldest first; how many of them could not be understood."""
        self._books, bad = fold(self._books, stored)
        return bad

    def restated(self, now: float) -> list[GoalRecord]:
        """Everything this run holds, as records to start from."""
        held = [s for s in self._sessions.values() if s.desk.book != Book()]
        return [
            pack(s.desk.session, "", Kind.SNAPSHOT, records.Snapshot(at=now, book=s.desk.book)) for s in held
        ]

    def book(self, session: SessionId) -> Book:
        """The goals of one session."""
        known = self._sessions.get(session)
        return known.desk.book if known is not None else self._books.get(session, Book())

    def latest(self) -> SessionId:
        """The session a person without a live run means: goals that wait, else the newest live ones."""
        if self.book(WAITING).goals:
            return WAITING
        newest = {
            name: max(goal.seen for goal in book.goals) for name, book in self._books.items() if book.goals
        }
        finished = {
            name: book.last_result.finished
            for name, book in self._books.items()
            if book.last_result is not None
        }
        ages = newest or finished
        return max(ages, key=ages.__getitem__, default=WAITING)

    def wait(self, session: SessionId, now: float) -> Sequence[Effect]:
        """Have the goals of ``session`` wait for the session of the next run."""
        source, waiting = self._session(session), self._session(WAITING)
        if session != WAITING and source.desk.book.goals:
            record = pack(WAITING, "", Kind.ATTACHED, records.Attached(at=now, source=session))
            waiting.desk.out.append(Record(session=WAITING, record=record, sync=True))
            waiting.desk.load(join(source.desk.book, waiting.desk.book, now))
            source.desk.load(Book())
        return self._drain(list(self._sessions.values()))

    def opening(self, now: float) -> str:
        """First prompt for a session that does not exist yet, if a goal waits for one; else empty."""
        goal = self.book(WAITING).focused
        if goal is None or not goal.active:
            return ""
        return prompts.continuation(goal, self.settings, now, starting=True)

    def waiting(self, session: SessionId) -> float | None:
        """When the next continuation is due that only waits for the pace; None: none is."""
        known = self._sessions.get(session)
        step = known.desk.step if known is not None else None
        return step.wake if step is not None and step.stage == "waiting" else None

    def reconfigure(self, settings: GoalSettings) -> None:
        """Put new settings in force; limits of existing goals stay."""
        self.settings = settings
        for session in self._sessions.values():
            session.desk.settings = settings

    # --- their desks -------------------------------------------------------------------------

    def _session(self, name: SessionId) -> GoalSession:
        session = self._sessions.get(name)
        if session is None:
            book = self._books.get(name, Book())
            session = GoalSession(name, book, self.settings, self._capabilities, self._mint)
            self._sessions[name] = session
            self._forget_idle()
        self._sessions.move_to_end(name)
        return session

    def _forget_idle(self) -> None:
        if len(self._sessions) <= MAX_SESSIONS:
            return
        for name, session in self._sessions.items():
            if session.desk.book == Book() and session.idle and name != WAITING:
                del self._sessions[name]
                return

    def _drain(self, sessions: Iterable[GoalSession]) -> list[Effect]:
        """The effects of ``sessions``, and their context where it changed."""
        out: list[Effect] = []
        for session in sessions:
            session.desk.show()
            if session.desk.out:
                out += session.desk.out
                session.desk.out.clear()
        return out

    def _limit_results(self, now: float) -> None:
        """Only so many last results are kept over all sessions; the oldest goes first."""
        finished = [s for s in self._sessions.values() if s.desk.book.last_result is not None]
        excess = len(finished) - self.settings.max_results
        if excess > 0:
            finished.sort(key=lambda s: s.desk.book.last_result.finished if s.desk.book.last_result else now)
            for session in finished[:excess]:
                session.desk.book = replace(session.desk.book, last_result=None)
