"""Drives the goal loop through the steps of one scenario."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from loopguard_cli.core import effects as fx
from loopguard_cli.core import events as ev
from loopguard_cli.core.ids import EffectId, MessageId, RequestId, SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.goal.loop import Goals
from loopguard_cli.goal.model import Book
from loopguard_cli.goal.records import Kind
from loopguard_cli.testing.scenarios.given import settings_of
from loopguard_cli.testing.scenarios.host import (
    ABLE,
    DEFAULT_SESSION,
    START,
    Auditor,
    HostSession,
    Message,
    Outcomes,
    Sent,
)
from loopguard_cli.testing.scenarios.steps import STEPS, Step
from loopguard_cli.testing.scenarios.storage import Memory, Storage


class Engine:
    """One scenario's world: host, clock, storage, and the process under test."""

    def __init__(self, given: dict[str, Any], storage: Callable[[Engine], Storage] | None = None) -> None:
        self.given = given
        self.ms = 0
        self.hosts: dict[str, HostSession] = {}
        self.auditor = Auditor(given.get("auditor"))
        self.settings, self.bad_settings = settings_of(given, self.auditor)
        self.prompts, self.reads = Outcomes(), Outcomes()
        self.checks: list[tuple[int | None, str]] = []
        """Exit status and output of the next checks; without any a check does not end."""
        self.storage: Storage = storage(self) if storage is not None else Memory(bool(given.get("persist")))
        self.goals: Goals | None = None
        self.disposed = False
        self.replies: list[fx.Respond] = []
        self.told: list[fx.Tell] = []
        self.records: list[tuple[str, GoalRecord]] = []
        self.unwritten = 0
        """Records that could not be written."""
        self._queue: deque[fx.Effect] = deque()
        self.injections: dict[str, list[Step]] = {}
        self._made = 0
        self._processes = 0
        self.commands: list[tuple[str, RequestId]] = []

    # --- time and process --------------------------------------------------------------------

    @property
    def now(self) -> float:
        return START + self.ms / 1000

    def process(self) -> Goals:
        """The running process; a new one is started where there is none."""
        if self.goals is None:
            self._processes += 1
            self.goals = Goals(
                self.settings, capabilities=ABLE, salt=f"p{self._processes}", leases=self.storage.leases
            )
            self.goals.restore(self.storage.start(self._processes))
        return self.goals

    def book(self, session: str) -> Book:
        if self.goals is None and self.disposed:
            return Book()
        return self.process().book(SessionId(session))

    def advance(self, ms: int) -> None:
        """Let time pass; timers of the loop fire when they are due."""
        target = self.ms + ms
        while self.goals is not None and (due := self.goals.deadline()) is not None:
            at = max(self.ms, round((due - START) * 1000))
            if at > target:
                break
            self.ms = at
            self.run(self.goals.tick(max(self.now, due)))
            if self.goals is not None and self.goals.deadline() == due:
                raise AssertionError(f"the timer at {due} does not move on")
        self.ms = max(self.ms, target)

    def stop(self, *, orderly: bool, again: bool) -> None:
        """End the process: orderly or by a crash. ``again``: the next step may start a new one."""
        if self.goals is not None and orderly:
            self.goals.close()
        self.goals = None
        self.disposed = not again
        self._queue.clear()
        self.storage.stop(orderly=orderly)

    # --- events and effects ------------------------------------------------------------------

    def feed(self, event: ev.Event) -> None:
        if not self.disposed:
            self.run(self.process().receive(event, self.now))

    def run(self, effects: Iterable[fx.Effect]) -> None:
        self._queue.extend(effects)
        while self._queue:
            self._perform(self._queue.popleft())

    def inject(self, place: str) -> None:
        for step in self.injections.pop(place, []):
            self.step(step)

    def _settled(self, effect: EffectId, session: SessionId, error: str = "") -> None:
        self.feed(ev.EffectSettled(session=session, effect=effect, ok=not error, error=error))

    def _perform(self, effect: fx.Effect) -> None:
        process = self.goals
        match effect:
            case fx.Record():
                self._record(effect)
            case fx.ReadSession():
                self._read(effect)
            case fx.Prompt():
                self._prompt(effect)
            case fx.Abort():
                self.host(effect.session).aborts += 1
                self._settled(effect.effect, effect.session)
            case fx.SetContext():
                host = self.host(effect.session)
                host.system, host.compaction = effect.system, effect.compaction
                host.host_continues = effect.host_continues
                host.systems.append(effect.system)
            case fx.Tell():
                self.told.append(effect)
                if effect.topic in ("goal.audit.complete-start", "goal.audit.block-start"):
                    self.inject("during_audit_announce")
            case fx.Respond():
                self.replies.append(effect)
                if effect.data.get("work"):
                    # The answer to such a command is itself a prompt in hosts that route commands
                    # through the model: the session is at work from here on.
                    self.host(effect.session).status = ev.Status.BUSY
            case fx.RunAudit():
                self.inject("during_audit")
                if self.goals is process:
                    self._audit(effect)
            case fx.RunCheck():
                self.inject("during_check")
                if self.goals is process and self.checks:
                    code, tail = self.checks.pop(0)
                    self.feed(
                        ev.CheckFinished(
                            session=effect.session, effect=effect.effect, exit_code=code, tail=tail
                        )
                    )
            case fx.TakeLease():
                self.feed(self.storage.take_lease(effect))
            case _:
                pass

    def _record(self, effect: fx.Record) -> None:
        assert isinstance(effect.record, GoalRecord)
        error = self.storage.append(effect.record, sync=effect.sync)
        if error:
            self.unwritten += 1
        else:
            self.records.append((effect.session, effect.record))
        if effect.record.event in (Kind.COMPLETED, Kind.BLOCKED):
            process = self.goals
            self.inject("during_persist")
            if self.goals is not process:
                return
        if effect.effect:
            self._settled(effect.effect, effect.session, error)

    def _read(self, effect: fx.ReadSession) -> None:
        process = self.goals
        self.inject("while_reading")
        if self.goals is not process:
            return
        host, outcome = self.host(effect.session), self.reads.next()
        user, assistant = host.newest("user"), host.newest("assistant")
        self.feed(
            ev.SessionRead(
                session=effect.session,
                effect=effect.effect,
                ok=outcome == "ok",
                error="" if outcome == "ok" else f"read {outcome}",
                status=host.status,
                newest_assistant=MessageId(assistant.name if assistant else ""),
                newest_user=MessageId(user.name if user else ""),
                newest_user_origin=user.origin if user else ev.Origin.PERSON,
                agent=host.agent,
            )
        )

    def _prompt(self, effect: fx.Prompt) -> None:
        host, outcome, process = self.host(effect.session), self.prompts.next(), self.goals
        host.prompts.append(Sent(effect.purpose.value, effect.text, self.ms))
        if outcome == "ok":
            message = self.name("u")
            host.messages.append(Message(message, "user", ev.Origin.LOOPGUARD))
            host.status = ev.Status.BUSY
            self.feed(
                ev.UserSpoke(
                    session=effect.session, message=message, origin=ev.Origin.LOOPGUARD, effect=effect.effect
                )
            )
            self.feed(ev.StatusChanged(session=effect.session, status=ev.Status.BUSY))
            self.inject("during_prompt")
        if self.goals is process:
            self._settled(effect.effect, effect.session, "" if outcome == "ok" else f"prompt {outcome}")

    def _audit(self, effect: fx.RunAudit) -> None:
        auditor = self.auditor
        answer = ev.AuditFinished(session=effect.session, effect=effect.effect)
        match auditor.verdict:
            case "approve":
                answer = msgspec.structs.replace(answer, approved=True)
            case "reject":
                answer = msgspec.structs.replace(answer, approved=False, reason=auditor.reason)
            case "reply":
                answer = msgspec.structs.replace(answer, reply=auditor.text)
            case "none":
                pass
            case "hang":
                return
            case "timeout":
                self.ms += auditor.timeout_ms
                answer = msgspec.structs.replace(answer, error="timeout")
            case failure:
                answer = msgspec.structs.replace(answer, error=failure)
        self.feed(answer)

    # --- names -------------------------------------------------------------------------------

    def host(self, session: str) -> HostSession:
        return self.hosts.setdefault(session, HostSession())

    def name(self, prefix: str) -> MessageId:
        self._made += 1
        return MessageId(f"{prefix}{self._made}")

    # --- steps -------------------------------------------------------------------------------

    def step(self, step: Step) -> None:
        """Do one step of the scenario."""
        name, session = step["do"], str(step.get("session", DEFAULT_SESSION))
        handler = STEPS.get(name)
        if handler is not None:
            handler(self, step, session)
        elif not self.storage.step(self, step):
            raise NotImplementedError(f"unknown step {name!r}")
