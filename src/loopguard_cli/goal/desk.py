"""One session as the goal loop sees it: its book, the present turn, and what is being waited for.

Everything that drives a session works on its desk: it reads the book, writes records (which change
the book) and puts effects out. Steps that wait for an answer leave a handler under the id of the
effect; whoever comes back first checks whether the world is still the one it left.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable

from msgspec.structs import replace

from loopguard_cli.core.effects import Abort, CancelEffect, Effect, Level, Record, SetContext, Tell
from loopguard_cli.core.events import EffectSettled, Event, Status
from loopguard_cli.core.ids import NO_SESSION, EffectId, MessageId, Mint, SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.goal import prompts
from loopguard_cli.goal.evolve import evolve
from loopguard_cli.goal.files import Files
from loopguard_cli.goal.model import STOPS, Book, Goal, Limits, Meters, StopReason
from loopguard_cli.goal.records import Kind, Payload, Stopped, pack
from loopguard_cli.goal.settings import GoalSettings
from loopguard_cli.goal.turns import Turn
from loopguard_cli.goal.usage import Window

Handler = Callable[[Event, float], None]

REMEMBERED = 256


class Step:
    """Something in progress that leads to a prompt. At most one per session."""

    def __init__(self, goal: Goal, stage: str, *, starting: bool = False) -> None:
        self.goal, self.run = goal.id, goal.run
        self.stage = stage
        """reading, again (reading, once it may be idle), waiting, claiming or sending."""
        self.starting = starting
        """The prompt puts a goal into force; it is no continuation yet."""
        self.wake: float | None = None
        self.resume: Callable[[float], None] | None = None
        """Called at ``wake``."""
        self.newest_user = MessageId("")


class Change:
    """One record on its way into the ledger and the book."""

    def __init__(self, record: GoalRecord, kind: Kind, payload: Payload) -> None:
        self.record, self.kind, self.payload = record, kind, payload
        self.durable: bool | None = None
        """None until the ledger answered."""

    def apply(self, book: Book) -> Book:
        return evolve(book, self.record, self.kind, self.payload)


class Desk:
    """One session."""

    def __init__(
        self, session: SessionId, book: Book, settings: GoalSettings, capabilities: Capabilities, mint: Mint
    ) -> None:
        self.session = session
        self.book = book
        self.settings = settings
        self.capabilities = capabilities
        self.mint = mint
        self.out: list[Effect] = []
        # What the agent is doing.
        self.parent = NO_SESSION
        self.status: Status | None = None
        """None until the agent said it."""
        self.agent = self.model = self.variant = ""
        self.read_only_agent = ""
        self.turn = Turn()
        self.window = Window()
        # What we did.
        self.driving = False
        """We hold the lease: the book is ours to change."""
        self.held = False
        self.step: Step | None = None
        self.proving: set[str] = set()
        """Goals whose completion is being proved."""
        self.ceiling: Limits | None = None
        """What a person allowed; the agent stays below. None: nobody said anything yet."""
        self.given_up: Goal | None = None
        """A goal that the agent cleared: what is left of its budgets is all the next one it sets gets."""
        self.barred = False
        """A person said stop in the turn that runs now: nothing it asks for puts a goal into force."""
        self.word = MessageId("")
        """The newest message of a person since that stop; a reply to it is a turn of its own."""
        self.aborting = False
        """The next report of an aborted turn is about our own abort."""
        self.live: EffectId | None = None
        """The prompt that was sent and whose turn has not ended."""
        self.live_settled = True
        self.sent = False
        """A prompt was sent in the present window by this process."""
        self.attempted = 0.0
        self.retry_at: float | None = None
        self.judged = ("", 0, "")
        """Goal, run and message that were counted already: each message counts once."""
        self.handoff_reply_due = ""
        """Goal whose handoff prompt was sent and whose answer was not looked at yet."""
        self.files = Files()
        self.first_message_free = False
        """The goal waited for this session: the message that opens it is no intervention."""
        self.ours: OrderedDict[MessageId, None] = OrderedDict()
        self.controls: OrderedDict[MessageId, None] = OrderedDict()
        """User messages that only carry a command of ours."""
        self.heard: OrderedDict[MessageId, None] = OrderedDict()
        """Messages of a person that were taken into account."""
        self.deliveries: deque[str] = deque(maxlen=REMEMBERED)
        self.spoken = False
        """A person wrote something in this session since we know it."""
        self.driven = False
        self.outcome: int | None = None
        """Exit status that tells how the newest finished or stopped goal ended."""
        self._handlers: OrderedDict[EffectId, Handler] = OrderedDict()
        self._context: tuple[str, str, bool] = ("", "", True)
        self._shown: Book | None = None
        self._written: dict[str, Meters] = {}
        self._base = book
        """The book before the oldest change that is not durable yet."""
        self._log: list[Change] = []
        """That change and all later ones."""

    # --- reading -----------------------------------------------------------------------------

    @property
    def focused(self) -> Goal | None:
        return self.book.focused

    @property
    def active(self) -> Goal | None:
        goal = self.book.focused
        return goal if goal is not None and goal.active else None

    @property
    def planning(self) -> bool:
        """The session runs under an agent that may only read."""
        return self.agent.lower() == "plan" or (bool(self.agent) and self.agent == self.read_only_agent)

    # --- writing -----------------------------------------------------------------------------

    def write(self, kind: Kind, payload: Payload, goal: str, detail: str = "") -> None:
        """Change the book, and have the ledger know it before anything that follows."""
        change = self._change(kind, payload, goal, detail)
        sync = kind is not Kind.CHECKPOINT
        self.out.append(Record(session=self.session, record=change.record, sync=sync))
        change.durable = True
        if self._log:
            self._log.append(change)
        self._see(change.apply(self.book))

    def write_first(
        self, kind: Kind, payload: Payload, goal: str, detail: str, then: Callable[[str, float], None]
    ) -> None:
        """Change the book once the ledger knows it. ``then`` gets the error; empty: it is durable.

        What is written meanwhile comes behind it in the ledger, and so it does in the book.
        """
        change, effect = self._change(kind, payload, goal, detail), self.mint.effect()
        if not self._log:
            self._base = self.book
        self._log.append(change)

        def settled(event: Event, now: float) -> None:
            ok = isinstance(event, EffectSettled) and event.ok
            change.durable = ok
            if ok:
                self._see(self._refolded())
            self._trim()
            error = event.error if isinstance(event, EffectSettled) else ""
            then("" if ok else error or "not written", now)

        self.expect(effect, settled)
        self.out.append(Record(session=self.session, record=change.record, sync=True, effect=effect))

    def write_now(
        self, kind: Kind, payload: Payload, goals: list[str], then: Callable[[str, float], None]
    ) -> None:
        """Change the book for each of ``goals`` at once. ``then`` gets the first error once all settled."""
        errors: list[str] = []
        waiting = len(goals)

        def settled(event: Event, now: float) -> None:
            nonlocal waiting
            waiting -= 1
            if not isinstance(event, EffectSettled) or not event.ok:
                errors.append("not written")
            if waiting == 0:
                then(errors[0] if errors else "", now)

        for goal in goals:
            self.write(kind, payload, goal)
            record, effect = self.out.pop(), self.mint.effect()
            assert isinstance(record, Record)
            self.out.append(replace(record, effect=effect))
            self.expect(effect, settled)

    def _change(self, kind: Kind, payload: Payload, goal: str, detail: str) -> Change:
        live = self.book.find(goal)
        if live is not None and payload.meters is None and self._written.get(goal) != live.meters:
            payload = replace(payload, meters=live.meters)
        return Change(pack(self.session, goal, kind, payload, detail), kind, payload)

    def _refolded(self) -> Book:
        book = self._base
        for change in self._log:
            book = change.apply(book) if change.durable else book
        live = {(g.id, g.run): g.meters for g in self.book.goals}
        goals = tuple(replace(g, meters=live.get((g.id, g.run), g.meters)) for g in book.goals)
        return replace(book, goals=goals)

    def _trim(self) -> None:
        while self._log and self._log[0].durable is not None:
            change = self._log.pop(0)
            self._base = change.apply(self._base) if change.durable else self._base

    def _see(self, book: Book) -> None:
        self.book = book
        self._written = {g.id: g.meters for g in book.goals}
        goal = self.focused
        owner = (goal.id, goal.run) if goal is not None else ("", 0)
        if self.window.owner != owner:
            self.sent, self.attempted = False, 0.0
        self.window.open(*owner)
        self.driven = self.driven or self.active is not None

    def bar(self, message: MessageId | None = None) -> None:
        """A person said stop, with ``message`` or otherwise: the turn that runs now has no say any more."""
        if self.status is Status.BUSY or self.live is not None:
            self.barred, self.word = True, message or MessageId("")

    def stop(self, reason: StopReason, now: float, status: str = "") -> bool:
        """Stop the focused goal if it is active: the first reason stays. Tells whether it was."""
        goal = self.active
        if goal is None or not self.driving:
            return False
        self.drop()
        self.interrupt()
        title = STOPS[reason].title
        self.write(
            Kind.PAUSED, Stopped(at=now, reason=reason, status=status or title), goal.id, status or title
        )
        self.notice(f"paused:{reason.value}", f"Goal paused: {title}.", level=Level.WARNING)
        return True

    def load(self, book: Book) -> None:
        """Put ``book`` in place; it is known to the ledger, or follows from what is."""
        self._log.clear()
        self._see(book)

    def prune(self, now: float) -> None:
        """Forget results that are too old."""
        oldest, book = now - self.settings.retention_seconds, self.book
        archive = tuple(result for result in book.archive if result.finished >= oldest)
        last = book.last_result if book.last_result and book.last_result.finished >= oldest else None
        if archive != book.archive or last is not book.last_result:
            self.book = replace(book, archive=archive, last_result=last)

    def meter(self, goal: str, meters: Meters) -> None:
        """Keep ``meters`` with a live goal; they are written with its next record."""
        goals = tuple(replace(g, meters=meters) if g.id == goal else g for g in self.book.goals)
        self.book = replace(self.book, goals=goals)

    # --- asking ------------------------------------------------------------------------------

    def expect(self, effect: EffectId, handler: Handler) -> None:
        self._handlers[effect] = handler

    def settle(self, effect: EffectId, event: Event, now: float) -> bool:
        """Hand the answer of an effect to whoever waits for it."""
        handler = self._handlers.pop(effect, None)
        if handler is None:
            return False
        handler(event, now)
        return True

    def drop(self) -> None:
        """Give up whatever would lead to a prompt."""
        self.step = None
        self.retry_at = None

    def interrupt(self) -> None:
        """Have the turn of our own prompt aborted, if there is one."""
        if self.live is None:
            return
        if not self.live_settled:
            self.out.append(CancelEffect(session=self.session, effect=self.live))
        self.live = None
        self.handoff_reply_due = ""
        if self.capabilities.abort:
            self.aborting = True
            self.out.append(Abort(session=self.session, effect=self.mint.effect()))

    # --- telling -----------------------------------------------------------------------------

    def notice(self, kind: str, text: str, level: Level = Level.INFO) -> None:
        """Say that a goal changed its state. Never quotes an objective, evidence or a path."""
        if self.settings.notices:
            self.out.append(Tell(session=self.session, text=text, level=level, topic=f"goal.{kind}"))

    def audit_message(self, kind: str, text: str, level: Level = Level.INFO) -> None:
        if self.settings.audit_messages:
            self.out.append(Tell(session=self.session, text=text, level=level, topic=f"goal.audit.{kind}"))

    def show(self) -> None:
        """Put the standing text and the compaction text in force, if they changed."""
        if self.book is self._shown:
            return
        self._shown = self.book
        goal = self.focused
        context = (
            prompts.standing(goal),
            prompts.compaction(goal),
            goal is None or not goal.active,
        )
        if context != self._context and self.capabilities.context:
            self._context = context
            system, compaction, host_continues = context
            self.out.append(
                SetContext(
                    session=self.session, system=system, compaction=compaction, host_continues=host_continues
                )
            )


def remember(store: OrderedDict[MessageId, None], message: MessageId) -> None:
    """Add to a bounded set of ids, the oldest goes."""
    if message:
        store[message] = None
        if len(store) > REMEMBERED:
            store.popitem(last=False)
