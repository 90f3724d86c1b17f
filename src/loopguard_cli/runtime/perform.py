"""The one place that performs effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from loopguard_cli.agents.base import Adapter
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
    Tell,
    Trim,
)
from loopguard_cli.core.events import EffectSettled, Event
from loopguard_cli.core.records import Record as LedgerRecord
from loopguard_cli.errors import StoreError
from loopguard_cli.runtime.channels import Channels
from loopguard_cli.runtime.checks import Jobs
from loopguard_cli.runtime.notices import Notices


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
    ) -> None:
        self._adapter = adapter
        self._channels = channels
        self._store = store
        self._notices = notices
        self._jobs = jobs
        self._reply = reply
        self._store_failed = False
        self.next_prompt: Prompt | None = None
        """With what a one-shot agent is to be started again."""
        self.ending: EndRun | None = None

    def __call__(self, effect: Effect, now: float) -> Sequence[Event]:
        self._notices.count(effect)
        match effect:
            case Record():
                return self._record(effect)
            case Prompt() if self._adapter.capabilities.respawn and effect.purpose is not Purpose.NUDGE:
                self.next_prompt = effect
                return ()
            case CancelEffect():
                if self.next_prompt is not None and self.next_prompt.effect == effect.effect:
                    self.next_prompt = None
                self._jobs.cancel(effect.effect)
                return ()
            case RunCheck():
                self._jobs.check(effect)
                return ()
            case RunAudit():
                self._jobs.audit(effect)
                return ()
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
