"""The goal loop of one run: all sessions, every event in, effects out.

Pure and synchronous: time is an argument, `deadline` says when `tick` is due. State is the fold of
records; a new process starts from the records of the old ones and takes a session's goals over as
stopped. Goals set while there was no session wait for the first one of a run.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.goal import records
from loopguard_cli.goal.asked import ours
from loopguard_cli.goal.evolve import WAITING, fold, join
from loopguard_cli.goal.model import EXIT_ACHIEVED, Book, exit_code
from loopguard_cli.goal.records import Kind, pack
from loopguard_cli.goal.session import USE, GoalSession, Lease
from loopguard_cli.goal.sessions import Sessions
from loopguard_cli.goal.settings import GoalSettings

EffectAnswer = EffectSettled | SessionRead | LeaseSettled | CheckFinished | AuditFinished
ANSWERS = (EffectSettled, SessionRead, LeaseSettled, CheckFinished, AuditFinished)
"""Events that answer an effect."""

SHUTTING_DOWN = "shutting_down"
STORAGE_UNSAFE = "storage_unsafe"
OWNED_ELSEWHERE = "session_owned_elsewhere"


class Goals(Sessions):
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
        super().__init__(settings, capabilities, Mint(f"{salt}g"))
        self._leases = leases
        self._closed = False
        self._used = NO_SESSION
        """The session somebody worked in last."""

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


def _closed(event: Asked) -> list[Effect]:
    text = "loopguard is shutting down"
    return [Respond(session=event.session, request=event.request, ok=False, text=text, code=SHUTTING_DOWN)]
