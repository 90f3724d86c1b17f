"""One session of a run: its desk, who drives it, and what each event means for its goal."""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum

from msgspec.structs import replace

from loopguard_cli.core.events import (
    AgentError,
    AgentExited,
    AgentSwitched,
    Asked,
    Compacted,
    Event,
    Origin,
    PermissionAnswered,
    ReplyFinished,
    ReplyStarted,
    SessionGone,
    Status,
    StatusChanged,
    Surface,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import EffectId, MessageId, Mint, SessionId
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.goal.asked import Desktop
from loopguard_cli.goal.desk import Desk, remember
from loopguard_cli.goal.drive import NO_REFUSAL, Driver
from loopguard_cli.goal.ending import Ending
from loopguard_cli.goal.evolve import WAITING
from loopguard_cli.goal.markers import Claim, Signal
from loopguard_cli.goal.model import Book, Goal, StopReason, shorten
from loopguard_cli.goal.proof import Prover
from loopguard_cli.goal.records import Kind, Payload
from loopguard_cli.goal.send import Refusal
from loopguard_cli.goal.settings import GoalSettings

USE = (UserSpoke, ReplyStarted, StatusChanged)
"""Events that show that somebody works in a session."""


class Lease(Enum):
    FREE = "free"
    ASKED = "asked"
    HELD = "held"
    REFUSED = "refused"


class GoalSession:
    def __init__(
        self, name: SessionId, book: Book, settings: GoalSettings, capabilities: Capabilities, mint: Mint
    ) -> None:
        self.desk = Desk(name, book, settings, capabilities, mint)
        self._ending = Ending(self.desk)
        self._prover = Prover(self.desk, self._ending, self._after)
        self._driver = Driver(self.desk, self._end)
        self.desktop = Desktop(self.desk, self._prover, self._ending)
        self._lease = Lease.FREE
        self.told = False
        """The person knows that somebody else drives this session."""
        self.queue: list[Asked] = []
        """Questions that wait for the lease."""
        self.attach_to = SessionId("")
        """Of the waiting goals: the session that they are to join."""
        self._control_requests: OrderedDict[MessageId, None] = OrderedDict()

    @property
    def lease(self) -> Lease:
        return self._lease

    @lease.setter
    def lease(self, lease: Lease) -> None:
        self._lease = lease
        self.desk.driving = lease is Lease.HELD

    @property
    def idle(self) -> bool:
        return self.desk.status is not Status.BUSY and not self.queue

    # --- the life of the session -------------------------------------------------------------

    def adopt(self, now: float) -> None:
        """Take over what an earlier process left: nothing goes on by itself after a restart."""
        focused = self.desk.focused
        self.desk.ceiling = focused.limits if focused is not None else self.desk.ceiling
        if self.desk.session == WAITING:
            return
        for goal in self.desk.book.goals:
            if goal.active:
                status = "recovered after restart"
                self.desk.write(
                    Kind.RECOVERED, Payload(at=now, status=status), goal.id, "loopguard was started anew"
                )
                self.desk.notice("recovered", "Goal recovered; it is paused until it is resumed.")

    def attach(self, book: Book, now: float) -> None:
        """Goals that waited for this session are part of it now."""
        desk = self.desk
        desk.load(book)
        desk.first_message_free = not desk.spoken
        desk.ceiling = desk.focused.limits if desk.focused is not None else None
        desk.notice("active", "Goal in force.")
        if desk.status is Status.IDLE:
            self._driver.begin(now, starting=True)

    def hold(self, held: bool, now: float) -> None:
        self.desk.held = held
        if held:
            self.desk.drop()
        elif self.desk.status is Status.IDLE:
            self._driver.begin(now)

    def deadline(self) -> float | None:
        step = self.desk.step
        times = (step.wake if step else None, self.desk.retry_at, self._prover.deadline())
        return min((t for t in times if t is not None), default=None)

    def tick(self, now: float) -> None:
        desk, step = self.desk, self.desk.step
        if step is not None and step.wake is not None and now >= step.wake:
            step.wake = None
            if step.resume is not None:
                step.resume(now)
        if desk.retry_at is not None and now >= desk.retry_at:
            desk.retry_at = None
            self._driver.begin(now)
        self._prover.tick(now)

    def settle(self, effect: EffectId, event: Event, now: float) -> bool:
        return self.desk.settle(effect, event, now)

    def ask(self, event: Asked, now: float) -> None:
        """Answer a question; if it gives an idle session something to do, begin with it."""
        if event.surface is Surface.SLASH:
            remember(self._control_requests, MessageId(event.request))
        answer = self.desktop.handle(event, now)
        if answer is None or not answer.work:
            return
        self._control_requests.pop(MessageId(event.request), None)
        if self.desk.status is Status.IDLE:
            self._driver.begin(now, starting=True)

    # --- what comes back from claims ---------------------------------------------------------

    def _end(self, goal: Goal, claim: Claim, message: MessageId, now: float) -> None:
        if claim.signal is Signal.COMPLETE:
            self._prover.complete(goal, claim.detail, message, now)
        else:
            self._ending.block(goal.id, claim.detail, now)

    def _after(self, now: float, refusal: Refusal | None, *, starting: bool = False) -> None:
        """A claim is dealt with. Refuted: go on with the output; else the next goal may begin."""
        if self.desk.status is Status.IDLE:
            self._driver.begin(now, starting=starting, refusal=refusal or NO_REFUSAL)

    # --- events ------------------------------------------------------------------------------

    def observe(self, event: Event, now: float) -> None:
        desk = self.desk
        desk.turn.observe(event, desk.controls)
        desk.files.observe(event)
        match event:
            case UserSpoke():
                self._spoken(event, now)
            case ReplyStarted() if not event.summary:
                if desk.word and event.answers == desk.word:
                    desk.barred = False
                self._runs_under(event.agent, event.model, event.variant)
            case ReplyFinished() if event.error or event.aborted:
                self._broken(event.error, "", now, aborted=event.aborted)
            case AgentError():
                self._broken(event.name, event.text, now, aborted=event.aborted)
            case StatusChanged():
                self._status(event, now)
            case UsageReported():
                self._usage(event, now)
            case AgentSwitched():
                desk.agent = event.agent
                desk.read_only_agent = event.agent if event.read_only else ""
            case PermissionAnswered(allowed=False):
                desk.bar()
                desk.stop(StopReason.PERMISSION_REJECTED, now)
            case Compacted():
                desk.window.forget()
                if (goal := desk.focused) is not None and desk.driving:
                    desk.meter(goal.id, replace(goal.meters, context_tokens=0))
            case SessionGone() | AgentExited():
                desk.drop()
            case _:
                pass

    def _status(self, event: StatusChanged, now: float) -> None:
        desk = self.desk
        if event.delivery:
            if event.delivery in desk.deliveries:
                return
            desk.deliveries.append(event.delivery)
        desk.status = event.status
        if event.status is not Status.IDLE:
            return
        desk.turn.end()
        desk.aborting = desk.barred = False
        if desk.live_settled:
            desk.live = None
        if desk.driving:
            desk.prune(now)
            self._driver.begin(now)

    def _spoken(self, event: UserSpoke, now: float) -> None:
        desk = self.desk
        self._runs_under(event.agent, event.model, event.variant)
        match event.origin:
            case Origin.LOOPGUARD:
                remember(desk.ours, event.message)
                if MessageId(event.effect) in self._control_requests:
                    remember(desk.controls, event.message)
            case Origin.PERSON:
                self._person_spoke(event, now)
            case _:
                remember(desk.ours, event.message)

    def _person_spoke(self, event: UserSpoke, now: float) -> None:
        desk = self.desk
        remember(desk.heard, event.message)
        free, desk.first_message_free = desk.first_message_free, False
        desk.spoken = True
        desk.handoff_reply_due = ""
        desk.given_up = None
        desk.word = event.message
        if free:
            desk.drop()
        elif desk.settings.pause_on_message:
            if desk.active is not None:
                desk.bar(event.message)
            desk.stop(StopReason.USER_INTERVENTION, now)
        elif desk.step is not None and desk.step.stage in ("waiting", "again"):
            desk.drop()

    def _runs_under(self, agent: str, model: str, variant: str) -> None:
        desk = self.desk
        desk.agent = agent or desk.agent
        desk.model = model or desk.model
        desk.variant = variant or desk.variant

    def _broken(self, name: str, text: str, now: float, *, aborted: bool) -> None:
        """A turn was aborted or failed."""
        desk = self.desk
        if desk.turn.control:
            return
        aborted = aborted or "abort" in f"{name} {text}".lower()
        if aborted and desk.aborting:
            return
        said = shorten(f"{name}: {text}" if text else name, 240)
        if aborted:
            desk.bar()
        desk.stop(StopReason.USER_INTERRUPTED if aborted else StopReason.PROVIDER_ERROR, now, said)

    def _usage(self, event: UsageReported, now: float) -> None:
        desk, goal = self.desk, self.desk.focused
        if goal is None or not desk.driving:
            desk.window.saw(event.message)
            return
        progress = not desk.turn.control
        desk.meter(goal.id, desk.window.add(goal.meters, event, now, progress=progress))
