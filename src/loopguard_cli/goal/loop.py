"""The goal loop of one run: all sessions, every event in, effects out.

Pure and synchronous: time is an argument, `deadline` says when `tick` is due. State is the fold of
records; a new process starts from the records of the old ones and takes a session's goals over as
stopped. Goals set while there was no session wait for the first one of a run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from loopguard_cli.core.effects import Effect, Level, Record, Respond, TakeLease, Tell
from loopguard_cli.core.events import (
    Asked,
    AuditFinished,
    CheckFinished,
    EffectSettled,
    Event,
    LeaseSettled,
    SessionRead,
    SessionSeen,
)
from loopguard_cli.core.ids import NO_SESSION, EffectId, Mint, SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.goal import prompts, records
from loopguard_cli.goal.asked import ours
from loopguard_cli.goal.evolve import WAITING, fold, join
from loopguard_cli.goal.model import EXIT_ACHIEVED, Book, exit_code
from loopguard_cli.goal.records import Kind, pack
from loopguard_cli.goal.session import USE, GoalSession, Lease
from loopguard_cli.goal.settings import GoalSettings

MAX_SESSIONS = 200
"""Of sessions without goals, the least recently used are forgotten beyond this."""

EffectAnswer = EffectSettled | SessionRead | LeaseSettled | CheckFinished | AuditFinished
ANSWERS = (EffectSettled, SessionRead, LeaseSettled, CheckFinished, AuditFinished)
"""Events that answer an effect."""

SHUTTING_DOWN = "shutting_down"
STORAGE_UNSAFE = "storage_unsafe"
OWNED_ELSEWHERE = "session_owned_elsewhere"


class Goals:
    """Implements `core.ports.GoalLoop`."""

    def __init__(
        self,
        settings: GoalSettings,
        *,
        capabilities: Capabilities,
        salt: str = "",
        leases: bool = False,
    ) -> None:
        """``leases``: another process may drive the same sessions, so ask with `TakeLease` first."""
        self.settings = settings
        self._capabilities = capabilities
        self._leases = leases
        self._mint = Mint(f"{salt}g")
        self._books: dict[SessionId, Book] = {}
        self._sessions: OrderedDict[SessionId, GoalSession] = OrderedDict()
        self._closed = False
        self._used = NO_SESSION
        """The session somebody worked in last."""

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
        return self._collect(now)

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

    def close(self) -> None:
        """The run ends: nothing is driven or changed any more, whatever still comes in."""
        self._closed = True

    # --- core.ports.GoalLoop -----------------------------------------------------------------

    def receive(self, event: Event, now: float) -> Sequence[Effect]:
        if self._closed:
            return _closed(event) if isinstance(event, Asked) and ours(event.operation) else []
        if isinstance(event, Asked):
            self._asked(event, now)
        elif isinstance(event, ANSWERS):
            self._settle(event, now)
        elif event.session != NO_SESSION:
            self._observe(event, now)
            touched = (self._sessions.get(event.session), self._sessions.get(WAITING))
            return self._drain(session for session in touched if session is not None)
        return self._collect(now)

    def deadline(self) -> float | None:
        if self._closed:
            return None
        times = (session.deadline() for session in self._sessions.values())
        return min((t for t in times if t is not None), default=None)

    def tick(self, now: float) -> Sequence[Effect]:
        if self._closed:
            return []
        for session in list(self._sessions.values()):
            session.tick(now)
        return self._collect(now)

    def hold(self, session: SessionId, held: bool, now: float) -> Sequence[Effect]:
        if self._closed:
            return []
        self._session(session).hold(held, now)
        return self._collect(now)

    def drives(self, session: SessionId) -> bool:
        known = self._sessions.get(session)
        if self._closed or known is None:
            return False
        return known.lease is Lease.HELD and known.desk.active is not None

    def exit_code(self) -> int | None:
        """The worst end of all goals that were driven."""
        codes = []
        for session in self._sessions.values():
            desk = session.desk
            if not desk.driven or desk.session == WAITING:
                continue
            goal = desk.focused
            codes.append(exit_code(goal.stop) if goal is not None else desk.outcome or EXIT_ACHIEVED)
        return max(codes, default=None)

    # --- sessions ----------------------------------------------------------------------------

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

    def _observe(self, event: Event, now: float) -> None:
        session = self._session(event.session)
        if isinstance(event, SessionSeen):
            session.desk.parent = event.parent or session.desk.parent
            return
        if isinstance(event, USE) and session.desk.parent == NO_SESSION:
            self._used = event.session
            self._attach(session, now)
        if session.lease is Lease.FREE and session.desk.book.goals:
            self._take(session, now, asked=False)
        session.observe(event, now)

    def _attach(self, session: GoalSession, now: float) -> None:
        """Goals that waited for a session now have one."""
        if not self.book(WAITING).goals or session.desk.session == WAITING:
            return
        waiting = self._session(WAITING)
        if waiting.lease is Lease.FREE:
            self._take(waiting, now, asked=False)
        if waiting.lease is not Lease.HELD:
            waiting.attach_to = session.desk.session
            return
        if session.lease is not Lease.HELD:
            self._take(session, now, asked=True)
        if session.lease is not Lease.HELD:
            waiting.attach_to = session.desk.session
            return
        name = session.desk.session
        record = pack(name, "", Kind.ATTACHED, records.Attached(at=now, source=WAITING))
        session.desk.out.append(Record(session=name, record=record, sync=True))
        session.attach(join(waiting.desk.book, session.desk.book, now), now)
        waiting.desk.load(Book())
        self._books.pop(WAITING, None)

    def _settle(self, event: EffectAnswer, now: float) -> None:
        for session in list(self._sessions.values()):
            if session.settle(event.effect, event, now):
                return
        known = self._sessions.get(event.session)
        if isinstance(event, LeaseSettled) and not event.ok and known is not None:
            # Nobody asked: somebody else has taken the lease from us.
            known.desk.drop()
            self._refused(known, event)

    # --- leases ------------------------------------------------------------------------------

    def _take(self, session: GoalSession, now: float, *, asked: bool) -> None:
        if not self._leases:
            self._taken(session, LeaseSettled(effect=EffectId(""), ok=True), now)
            return
        if session.lease is Lease.ASKED:
            return
        session.lease = Lease.ASKED
        effect = self._mint.effect()
        session.desk.expect(effect, lambda event, at: self._taken(session, event, at))
        session.desk.out.append(TakeLease(session=session.desk.session, effect=effect, asked=asked))

    def _taken(self, session: GoalSession, event: Event, now: float) -> None:
        if not isinstance(event, LeaseSettled) or not event.ok:
            self._refused(session, event)
            return
        name = session.desk.session
        if event.records:
            session.desk.load(fold({}, event.records)[0].get(name, Book()))
        session.lease = Lease.HELD
        session.adopt(now)
        queued, session.queue = session.queue, []
        for asked in queued:
            self._answer(session, asked, now)
        if name == WAITING and session.attach_to and session.desk.book.goals:
            self._attach(self._session(session.attach_to), now)
        elif self._waits_for(name):
            self._attach(session, now)

    def _waits_for(self, name: SessionId) -> bool:
        waiting = self._sessions.get(WAITING)
        return waiting is not None and waiting.attach_to == name and bool(waiting.desk.book.goals)

    def _refused(self, session: GoalSession, event: Event) -> None:
        """Stay passive: ordinary work goes on, goals are another process's business."""
        first = not session.told
        session.lease, session.told = Lease.REFUSED, True
        unsafe = isinstance(event, LeaseSettled) and event.unsafe
        error = getattr(event, "error", "") or "another process drives this session"
        queued, session.queue = session.queue, []
        for asked in queued:
            text = f"Goals of this session cannot be used here: {error}. Ordinary work goes on."
            session.desktop.refuse(asked, STORAGE_UNSAFE if unsafe else OWNED_ELSEWHERE, text)
        if first and not queued:
            text = f"The goal of this session is not driven by this run: {error}."
            session.desk.out.append(
                Tell(session=session.desk.session, text=text, level=Level.WARNING, topic="goal.passive")
            )

    # --- questions ---------------------------------------------------------------------------

    def _asked(self, event: Asked, now: float) -> None:
        if not ours(event.operation):
            return
        named = event.session or SessionId(str(event.arguments.get("session", "")))
        session = self._session(named or self._target())
        if session.lease is Lease.HELD:
            self._answer(session, event, now)
            return
        session.queue.append(event)
        self._take(session, now, asked=True)

    def _target(self) -> SessionId:
        """The session a command without one is about: where somebody works; else the waiting goals."""
        return self._used

    def _answer(self, session: GoalSession, event: Asked, now: float) -> None:
        session.desk.prune(now)
        session.ask(event, now)

    # --- effects -----------------------------------------------------------------------------

    def _collect(self, now: float) -> list[Effect]:
        self._limit_results(now)
        return self._drain(list(self._sessions.values()))

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


def _closed(event: Asked) -> list[Effect]:
    text = "loopguard is shutting down"
    return [Respond(session=event.session, request=event.request, ok=False, text=text, code=SHUTTING_DOWN)]
