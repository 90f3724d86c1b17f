"""The one place that performs effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from loopguard_cli.agents.base import Adapter, Auditing, Holding
from loopguard_cli.core.effects import (
    Abort,
    AnswerGate,
    AnswerPermission,
    CancelEffect,
    Effect,
    EndRun,
    Prompt,
    Purpose,
    ReadSession,
    Record,
    Respond,
    RunAudit,
    RunCheck,
    SetContext,
    TakeLease,
    Tell,
    Trim,
)
from loopguard_cli.core.events import AuditFinished, EffectSettled, Event, LeaseSettled
from loopguard_cli.core.records import Record as LedgerRecord
from loopguard_cli.errors import StoreError
from loopguard_cli.runtime.checks import Jobs
from loopguard_cli.runtime.goals import GoalKeeper
from loopguard_cli.runtime.reach.channels import Channels
from loopguard_cli.runtime.telling.notices import Notices
from loopguard_cli.runtime.telling.outside import Outside


class Store(Protocol):
    """What `store.ledger.Ledger` offers."""

    def append(self, record: LedgerRecord, *, sync: bool = False) -> int: ...


class Performer:
    """Performs effects in the order given; results that are known at once are returned as events."""

    def __init__(
        self,
        *,
        adapter: Adapter,
        channels: Channels,
        store: Store | None,
        notices: Notices,
        jobs: Jobs,
        reply: Callable[[Respond], bool],
        goals: GoalKeeper | None,
        environ: Mapping[str, str],
        outside: Outside | None = None,
    ) -> None:
        self._adapter = adapter
        self._channels = channels
        self._store = store
        self._notices = notices
        self._jobs = jobs
        self._reply = reply
        self._goals = goals
        self._environ = environ
        self._outside = outside
        self._store_failed = False
        self.next_prompt: Prompt | None = None
        """With what a one-shot agent is to be started again."""
        self.ending: EndRun | None = None

    def __call__(self, effect: Effect, now: float) -> Sequence[Event]:
        self._notices.count(effect)
        if self._outside is not None:
            self._outside.see(effect, now)
        match effect:
            case Record():
                return self._record(effect)
            case Prompt(purpose=Purpose.CONTINUATION | Purpose.HANDOFF) if lost := self._lost(effect):
                return (lost,)
            case Prompt() if effect.purpose is not Purpose.NUDGE and self._starts_again():
                self.next_prompt = effect
                return ()
            case CancelEffect():
                if self.next_prompt is not None and self.next_prompt.effect == effect.effect:
                    self.next_prompt = None
                self._jobs.cancel(effect.effect)
                return self._steer(effect)
            case RunCheck():
                self._jobs.check(effect)
                return ()
            case RunAudit():
                return self._audit(effect)
            case TakeLease():
                return (self._lease(effect, now),)
            case EndRun():
                self.ending = self.ending or effect
                return ()
            case Respond() if self._reply(effect):
                return ()
            case Tell():
                return self._tell(effect)
            case (
                AnswerGate() | AnswerPermission() | Abort() | ReadSession() | Trim() | Prompt()
                | SetContext() | Respond()
            ):  # fmt: skip
                return self._steer(effect)
            case _:
                raise AssertionError(f"no way to perform {type(effect).__name__}")

    def _steer(self, effect: Effect) -> Sequence[Event]:
        answer = self._adapter.carry_out(effect)
        self._channels.send(answer.orders)
        return answer.events

    def _starts_again(self) -> bool:
        """A prompt is for another start of the agent: this one has not been kept for it."""
        held = isinstance(self._adapter, Holding) and self._adapter.holding
        return self._adapter.capabilities.respawn and not held

    def _lost(self, prompt: Prompt) -> LeaseSettled | None:
        return self._goals.lost(prompt.session) if self._goals is not None else None

    def _lease(self, wish: TakeLease, now: float) -> Event:
        if self._goals is None:
            return LeaseSettled(session=wish.session, effect=wish.effect, ok=False, error="no goals here")
        return self._goals.take(wish, now)

    def _audit(self, audit: RunAudit) -> Sequence[Event]:
        if audit.command:
            self._jobs.audit(audit)
            return ()
        if isinstance(self._adapter, Auditing) and (plan := self._adapter.auditor(self._environ, audit)):
            self._jobs.audit_by(audit, plan, self._adapter.verdict)
            return ()
        answer = self._adapter.carry_out(audit)
        self._channels.send(answer.orders)
        if answer.orders or answer.events:
            return answer.events
        error = "this agent offers no auditor of its own; set an external one"
        return (AuditFinished(session=audit.session, effect=audit.effect, error=error),)

    def _tell(self, tell: Tell) -> Sequence[Event]:
        answer = self._adapter.carry_out(tell)
        self._channels.send(answer.orders)
        self._notices.tell(tell, delivered=bool(answer.orders))
        return answer.events

    def _record(self, effect: Record) -> Sequence[Event]:
        error = self._append(effect)
        if not effect.effect:
            return ()
        settled = EffectSettled(session=effect.session, effect=effect.effect, ok=not error, error=error)
        return (settled,)

    def _append(self, effect: Record) -> str:
        """Empty, or why the record is not in the ledger. A full disk must not stop the guard."""
        if self._store is None:
            return "no ledger"
        try:
            self._store.append(effect.record, sync=effect.sync)
        except StoreError as error:
            if not self._store_failed:
                self._store_failed = True
                self._notices.say(f"the history is incomplete: {error}")
            return str(error)
        return ""
