"""From a substantiated claim to a durable end.

    claim -> checks run by us, one after the other -> auditor -> ledger -> archive, next goal

A verdict is only applied to the goal it was asked for, as it was then. A check that passed before
files changed proves nothing. The outcome counts once it is on disk, and is announced after that.
"""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from loopguard_cli.core.effects import CancelEffect, Level, RunAudit, RunCheck
from loopguard_cli.core.events import AuditFinished, CheckFinished, EffectSettled, Event
from loopguard_cli.core.ids import EffectId, MessageId
from loopguard_cli.goal import prompts, verdicts
from loopguard_cli.goal.desk import Desk
from loopguard_cli.goal.ending import Ending, Outcome, Reply
from loopguard_cli.goal.model import Check, Goal, StopReason, shorten
from loopguard_cli.goal.prompts import Missing
from loopguard_cli.goal.records import Kind, Payload, Stopped
from loopguard_cli.goal.send import Refusal
from loopguard_cli.goal.settings import Audit
from loopguard_cli.goal.verdicts import Verdict

GRACE = 5.0
"""Seconds beyond an auditor's own timeout until we stop waiting for its answer."""
MAX_TAIL = 4000
"""Characters of a failed check's output that the agent gets back."""


class After(Protocol):
    """Goes on with the session. ``refusal``: a check refuted the claim; ``starting``: a goal was promoted."""

    def __call__(self, now: float, refusal: Refusal | None, *, starting: bool = False) -> None: ...


class Proof:
    """One claim of completion on its way."""

    def __init__(self, goal: Goal, evidence: str, message: MessageId, reply: Reply | None) -> None:
        self.goal = goal
        """As it was when the claim was made."""
        self.evidence = evidence
        self.message = message
        self.reply = reply
        self.waiting: list[Check] = list(goal.checks)
        self.files = -1
        """State of the files when the checks began."""
        self.audit: EffectId | None = None
        self.deadline: float | None = None


class Prover:
    """Proves the completions of one desk."""

    def __init__(self, desk: Desk, ending: Ending, after: After) -> None:
        self._desk = desk
        self._ending = ending
        self._after = after
        self._running: list[Proof] = []

    def deadline(self) -> float | None:
        return min((p.deadline for p in self._running if p.deadline is not None), default=None)

    def tick(self, now: float) -> None:
        for proof in list(self._running):
            if proof.deadline is not None and now >= proof.deadline:
                effect, proof.deadline, proof.audit = proof.audit, None, None
                if effect is not None:
                    self._desk.out.append(CancelEffect(session=self._desk.session, effect=effect))
                    self._audited(proof, AuditFinished(effect=effect, error="no answer in time"), now)

    # --- completion --------------------------------------------------------------------------

    def complete(
        self, goal: Goal, evidence: str, message: MessageId, now: float, *,
        reply: Reply | None = None, person: bool = False,
    ) -> None:  # fmt: skip
        """Prove ``goal`` and archive it. ``person``: a person says so, which needs no proof."""
        proof = Proof(goal, evidence, message, reply)
        self._running.append(proof)
        self._desk.proving.add(goal.id)
        if person:
            self._store(proof, now)
            return
        self._desk.audit_message("complete-start", "Verifying the completion of the goal.")
        proof.files = self._desk.files.state
        self._next_check(proof, now)

    def _next_check(self, proof: Proof, now: float) -> None:
        desk = self._desk
        if not proof.waiting:
            if proof.goal.checks and not desk.files.same(proof.files):
                self._refute(proof, "Files were changed after the checks had passed, or while they ran.", now)
            else:
                self._ask_auditor(proof, now)
            return
        check, effect = proof.waiting.pop(0), desk.mint.effect()
        desk.expect(effect, lambda event, at: self._checked(proof, check, event, at))
        desk.out.append(
            RunCheck(
                session=desk.session,
                effect=effect,
                command=check.command,
                timeout=check.timeout,
                directory=check.directory,
            )
        )

    def _checked(self, proof: Proof, check: Check, event: Event, now: float) -> None:
        if not self._same(proof):
            self._lost(proof, now, announce=False)
            return
        if isinstance(event, CheckFinished) and event.exit_code == 0:
            detail = f"{check.command} passed in {event.seconds:.0f} s"
            self._desk.write(Kind.CHECK_PASSED, Payload(at=now), proof.goal.id, detail)
            self._next_check(proof, now)
            return
        code, error, tail = None, "not run", ""
        if isinstance(event, CheckFinished):
            code, error, tail = event.exit_code, event.error, event.tail
        ended = f"exit status {code}" if code is not None else error or "could not be run"
        self._refute(proof, f"$ {check.command}\n{tail[-MAX_TAIL:].strip()}\n[{ended}]", now)

    def _refute(self, proof: Proof, output: str, now: float) -> None:
        """A check speaks against the claim: the goal goes on, with the output to work on."""
        desk, goal = self._desk, self._desk.book.find(proof.goal.id)
        self._done(proof)
        if goal is None:
            return
        failures = goal.meters.check_failures + 1
        desk.meter(goal.id, replace(goal.meters, check_failures=failures))
        first = output.partition("\n")[0]
        text = f"completion refuted by a check: {first}"
        desk.write(Kind.CHECK_FAILED, Payload(at=now, status=shorten(text, 240)), goal.id, text)
        desk.audit_message("check-failed", "Completion refused: a check failed.", Level.WARNING)
        if goal.active and failures >= desk.settings.max_check_failures:
            desk.stop(StopReason.CHECK_FAILURES, now)
        if proof.reply is not None:
            proof.reply(False, "completion_rejected", f"a check speaks against it:\n{output}")
        elif goal.active:
            self._after(now, Refusal(Missing.CHECK, output))

    # --- the auditor -------------------------------------------------------------------------

    def _ask_auditor(self, proof: Proof, now: float) -> None:
        desk, settings = self._desk, self._desk.settings
        if not self._same(proof):
            self._lost(proof, now, announce=False)
            return
        if settings.audit is Audit.NONE:
            self._store(proof, now)
            return
        effect = desk.mint.effect()
        proof.audit, proof.deadline = effect, now + settings.audit_timeout + GRACE
        desk.expect(effect, lambda event, at: self._audit_answered(proof, effect, event, at))
        text = desk.turn.text if proof.reply is None else ""
        desk.out.append(
            RunAudit(
                session=desk.session,
                effect=effect,
                prompt=prompts.audit(proof.goal, proof.evidence, text),
                timeout=settings.audit_timeout,
                command=settings.audit_command if settings.audit is Audit.COMMAND else "",
                payload={
                    "version": 1,
                    "session": desk.session,
                    "goal": {
                        "id": proof.goal.id,
                        "objective": proof.goal.objective,
                        "success": proof.goal.success,
                        "constraints": proof.goal.constraints,
                    },
                    "evidence": proof.evidence,
                    "message": text,
                },
            )
        )

    def _audit_answered(self, proof: Proof, effect: EffectId, event: Event, now: float) -> None:
        if proof.audit != effect:
            return  # too late: it counts as failed already
        proof.audit = proof.deadline = None
        if not isinstance(event, AuditFinished):
            error = event.error if isinstance(event, EffectSettled) else ""
            event = AuditFinished(effect=effect, error=error or "no verdict")
        self._audited(proof, event, now)

    def _audited(self, proof: Proof, event: AuditFinished, now: float) -> None:
        desk = self._desk
        verdict = verdicts.judge(event, desk.settings.audit_on_failure)
        if not self._same(proof):
            self._lost(proof, now, announce=verdict.approved)
        elif verdict.approved:
            desk.write(Kind.AUDIT_APPROVED, Payload(at=now), proof.goal.id, verdict.reason)
            self._store(proof, now)
        else:
            self._reject(proof, verdict, now)

    def _reject(self, proof: Proof, verdict: Verdict, now: float) -> None:
        desk = self._desk
        self._done(proof)
        desk.drop()
        status = f"audit rejected: {verdict.reason}"
        payload = Stopped(at=now, reason=StopReason.AUDIT_REJECTED, status=status)
        desk.write(Kind.AUDIT_REJECTED, payload, proof.goal.id, verdict.reason)
        desk.audit_message(
            "rejected", "Completion rejected by the auditor; the goal is paused.", Level.WARNING
        )
        if not desk.settings.audit_messages:
            desk.notice("paused:audit_rejected", "Goal paused: audit rejected.", Level.WARNING)
        if proof.reply is not None:
            proof.reply(False, "completion_rejected", status)

    def _store(self, proof: Proof, now: float) -> None:
        def ended(outcome: Outcome, text: str, at: float) -> None:
            self._done(proof)
            if outcome is Outcome.CHANGED:
                self._lost(proof, at, announce=not text)
                return
            if proof.reply is not None:
                stored = outcome is Outcome.STORED
                proof.reply(stored, "" if stored else "completion_rejected", text)
            if outcome is Outcome.STORED:
                self._after(at, None, starting=True)

        self._ending.complete(proof.goal.id, proof.evidence, proof.message, now, ended)

    # --- the world behind a wait -------------------------------------------------------------

    def _same(self, proof: Proof) -> bool:
        """The goal is still what the claim was about."""
        goal, then = self._desk.book.find(proof.goal.id), proof.goal
        return goal is not None and (goal.run, goal.stop, goal.objective) == (
            then.run,
            then.stop,
            then.objective,
        )

    def _lost(self, proof: Proof, now: float, *, announce: bool) -> None:
        self._done(proof)
        if announce:
            text = "The completion was approved, but the goal was changed meanwhile."
            self._desk.audit_message("approved-but-changed", text, Level.WARNING)
        if proof.reply is not None:
            proof.reply(False, "goal_changed", "the goal was changed meanwhile")
        self._after(now, None)

    def _done(self, proof: Proof) -> None:
        if proof in self._running:
            self._running.remove(proof)
        self._desk.proving.discard(proof.goal.id)
