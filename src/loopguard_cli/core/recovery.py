"""Recovery of one session: abort, verify, confirmed idle, trim, continue.

A machine over events with time as an argument. It never retries a failed step: it warns and
leaves the session alone, so that a person finds it as it stopped (source: the behaviour promised
by the streaming guard that this tool replaces).

    none -> aborting -> verifying -> trimming -> prompting -> none

``aborting``   the abort was ordered; only the agent's confirmation counts.
``verifying``  the agent is asked for its state until it says idle; an idle event alone proves
               nothing, because a second one follows each abort.
``trimming``   the looped text is cut from the stored history.
``prompting``  the continuation was handed over and is not yet accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from loopguard_cli.core.effects import (
    Abort,
    CancelEffect,
    Effect,
    Level,
    Prompt,
    Purpose,
    ReadSession,
    Record,
    Tell,
    Trim,
)
from loopguard_cli.core.events import (
    AgentError,
    AgentExited,
    EffectSettled,
    Event,
    Origin,
    SessionGone,
    SessionRead,
    Status,
    StatusChanged,
    UserSpoke,
)
from loopguard_cli.core.findings import Finding
from loopguard_cli.core.ids import EffectId, MessageId, Mint, SessionId
from loopguard_cli.core.records import RecoveryStep
from loopguard_cli.core.settings import Capabilities, GuardSettings
from loopguard_cli.core.wording import Wording

READ_EVERY_SECONDS = 0.25
"""How often the agent is asked again while it is still busy after an abort."""

ABORT_SECONDS = 10.0
"""How long an abort may stay unanswered. OpenCode answers within 0.11 s."""

PROMPT_SECONDS = 30.0
"""How long a continuation may stay unanswered; a one-shot agent has to start again for it."""


class Step(StrEnum):
    NONE = "none"
    ABORTING = "aborting"
    VERIFYING = "verifying"
    TRIMMING = "trimming"
    PROMPTING = "prompting"


class Recovery:
    """The recovery of one session and its allowance."""

    def __init__(
        self,
        session: SessionId,
        settings: GuardSettings,
        capabilities: Capabilities,
        wording: Wording,
        mint: Mint,
    ) -> None:
        self._session = session
        self._settings = settings
        self._can = capabilities
        self._wording = wording
        self._mint = mint
        self.step = Step.NONE
        self.used = 0
        """Continuations since the last real user message."""
        self.continues = False
        """The turn that was cut off last is, or was, to be continued."""
        self._finding: Finding | None = None
        self._effect = EffectId("")
        self._due: float | None = None
        self._next_read: float | None = None
        self._newest_user = MessageId("")
        self._busy_again = False
        self.agent = self.model = self.variant = ""

    @property
    def active(self) -> bool:
        return self.step is not Step.NONE

    def reconfigure(self, settings: GuardSettings, wording: Wording) -> None:
        self._settings, self._wording = settings, wording

    def deadline(self) -> float | None:
        times = [t for t in (self._due, self._next_read) if t is not None]
        return min(times, default=None)

    # --- starting ----------------------------------------------------------------------------

    def start(
        self, finding: Finding, now: float, *, resume: bool, newest_user: MessageId
    ) -> Iterator[Effect]:
        """Cut the turn off. With ``resume`` it is continued if the allowance still holds one."""
        if self.active:
            return
        allowance = self._settings.recovery
        able = self._can.prompt or self._can.respawn
        left = able and allowance.enabled and self.used < allowance.max_continuations
        self.continues = resume and left
        self._finding, self._newest_user, self._busy_again = finding, newest_user, False
        self.step, self._effect = Step.ABORTING, self._mint.effect()
        self._due = now + ABORT_SECONDS
        yield self._note("abort", detail=finding.rule, sync=True)
        yield Abort(session=self._session, effect=self._effect)

    # --- going on ----------------------------------------------------------------------------

    def receive(self, event: Event, now: float) -> Iterator[Effect]:
        if isinstance(event, UserSpoke) and event.origin is Origin.PERSON:
            yield from self._person_spoke(event)
            return
        if not self.active:
            return
        match event:
            case EffectSettled() if event.effect == self._effect:
                yield from self._settled(event, now)
            case SessionRead() if event.effect == self._effect and self.step is Step.VERIFYING:
                yield from self._read(event, now)
            case StatusChanged(status=Status.IDLE) if (
                self.step is Step.VERIFYING and self._next_read is not None
            ):
                yield from self._ask()
            case StatusChanged(status=Status.BUSY) if self.step is not Step.ABORTING:
                self._busy_again = True
            case AgentError(aborted=True) if self._busy_again:
                yield from self._cancel("aborted by hand")
            case SessionGone():
                yield from self._cancel("session ended")
            case AgentExited() if not self._can.respawn:
                yield from self._cancel("agent exited")
            case _:
                pass

    def tick(self, now: float) -> Iterator[Effect]:
        if self._due is not None and now >= self._due:
            step = self.step
            yield from self._fail(f"{step.value} timed out")
        elif self._next_read is not None and now >= self._next_read:
            yield from self._ask()

    def _settled(self, event: EffectSettled, now: float) -> Iterator[Effect]:
        if self.step is Step.ABORTING:
            if not event.ok:
                yield from self._fail(f"abort failed: {event.error}")
                return
            self.step = Step.VERIFYING
            self._due = now + self._settings.recovery.idle_wait_seconds
            yield from self._ask()
        elif self.step is Step.TRIMMING:
            yield self._note("trim", ok=event.ok, detail=event.error)
            yield from self._go_on(now)
        elif self.step is Step.PROMPTING:
            if not event.ok:
                yield from self._fail(f"continuation failed: {event.error}")
                return
            self._reset()
            yield self._note("continued")

    def _ask(self) -> Iterator[Effect]:
        self._effect, self._next_read = self._mint.effect(), None
        yield ReadSession(session=self._session, effect=self._effect)

    def _read(self, event: SessionRead, now: float) -> Iterator[Effect]:
        if (
            event.ok
            and event.newest_user_origin is Origin.PERSON
            and event.newest_user not in ("", self._newest_user)
        ):
            yield from self._cancel("new message")
            return
        if not event.ok or event.status is not Status.IDLE:
            self._next_read = now + READ_EVERY_SECONDS
            return
        yield self._note("idle")
        finding = self._finding
        may_trim = self._settings.recovery.trim and self._can.trim
        if may_trim and finding is not None and finding.part and finding.keep_chars >= 0:
            # Also when nothing is continued: the next message would have the model read its loop again.
            self.step, self._effect = Step.TRIMMING, self._mint.effect()
            self._due = now + ABORT_SECONDS
            yield Trim(
                session=self._session,
                effect=self._effect,
                message=finding.message,
                part=finding.part,
                keep_chars=finding.keep_chars,
                note=self._wording.trimmed(),
            )
        else:
            yield from self._go_on(now)

    def _go_on(self, now: float) -> Iterator[Effect]:
        if self.continues:
            yield from self._prompt(now)
        else:
            self._reset()

    def _prompt(self, now: float) -> Iterator[Effect]:
        assert self._finding is not None
        self.used += 1
        self.step, self._effect = Step.PROMPTING, self._mint.effect()
        self._due = now + PROMPT_SECONDS
        yield self._note("continue", sync=True)
        yield Prompt(
            session=self._session,
            effect=self._effect,
            text=self._wording.continuation(self._finding),
            purpose=Purpose.RECOVERY,
            agent=self.agent,
            model=self.model,
            variant=self.variant,
        )

    # --- ending ------------------------------------------------------------------------------

    def _person_spoke(self, event: UserSpoke) -> Iterator[Effect]:
        self.used = 0
        self.agent, self.model, self.variant = event.agent, event.model, event.variant
        if self.active and event.message != self._newest_user:
            yield from self._cancel("new message")

    def _cancel(self, why: str) -> Iterator[Effect]:
        pending = self._effect if self.step is Step.PROMPTING else EffectId("")
        self._reset()
        if pending:
            yield CancelEffect(session=self._session, effect=pending)
        yield self._note("cancelled", detail=why)

    def _fail(self, why: str) -> Iterator[Effect]:
        self._reset()
        yield self._note("failed", ok=False, detail=why)
        yield Tell(
            session=self._session,
            level=Level.WARNING,
            topic="recovery.failed",
            text=self._wording.recovery_failed(why),
        )

    def _reset(self) -> None:
        self.step, self._finding, self._effect = Step.NONE, None, EffectId("")
        self._due = self._next_read = None

    def _note(self, step: str, *, ok: bool = True, detail: str = "", sync: bool = False) -> Record:
        record = RecoveryStep(session=self._session, step=step, ok=ok, detail=detail, used=self.used)
        return Record(session=self._session, record=record, sync=sync)
