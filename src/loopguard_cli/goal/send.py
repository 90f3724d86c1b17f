"""Claims and prompts: the last steps before something is sent, and what came of it.

A claim (or the stop that a handoff means) is on disk before its prompt goes out, so that one message
is never answered by two prompts, whatever happens in between.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from loopguard_cli.core.effects import Level, Prompt, Purpose
from loopguard_cli.core.events import EffectSettled, Event
from loopguard_cli.core.ids import EffectId, MessageId
from loopguard_cli.goal import pacing, prompts
from loopguard_cli.goal.desk import Desk, Step
from loopguard_cli.goal.model import STOPS, Goal, StopReason, shorten
from loopguard_cli.goal.prompts import Missing
from loopguard_cli.goal.records import Claimed, Continued, Failed, Kind, Stopped

NO_MESSAGE = MessageId("none")
"""Stands for the newest message when there is none yet: the loop starts once and then waits."""


class Refusal(msgspec.Struct, frozen=True):
    """What is held against the newest claim."""

    missing: Missing = Missing.NOTHING
    proof: str = ""
    """What a failed check printed."""


class Sender:
    """Sends the prompts of one desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def still(self, step: Step) -> Goal | None:
        """The step's goal, if the step may go on; else the step is given up."""
        desk, goal = self._desk, self._desk.active
        if desk.step is not step:
            return None
        if goal is None or (goal.id, goal.run) != (step.goal, step.run) or desk.held:
            desk.drop()
            return None
        return goal

    def carry_on(self, step: Step, message: MessageId, refusal: Refusal, now: float) -> None:
        """Claim ``message`` and send the continuation."""
        desk, goal = self._desk, self.still(step)
        if goal is None or self._planning(now):
            return
        step.stage = "claiming"

        def stored(error: str, at: float) -> None:
            present = self.still(step)
            if present is None:
                self._give_back(step, message or NO_MESSAGE, at)
            elif error:
                desk.stop(StopReason.CLAIM_PERSIST_FAILED, at, error)
            else:
                text = prompts.continuation(
                    present, desk.settings, at,
                    missing=refusal.missing, proof=refusal.proof, starting=step.starting,
                )  # fmt: skip
                self._send(step, present, text, Purpose.CONTINUATION, at)

        claim = Claimed(at=now, claim=message or NO_MESSAGE)
        desk.write_first(Kind.CLAIMED, claim, goal.id, "", stored)

    def _give_back(self, step: Step, claim: str, now: float) -> None:
        """Nothing was sent for the claimed message: it may be answered later."""
        goal = self._desk.book.find(step.goal)
        if goal is not None and goal.active and goal.pending and goal.claim == claim:
            self._desk.write(Kind.CLAIMED, Claimed(at=now), goal.id)

    def hand_off(self, step: Step, reason: StopReason, message: MessageId, now: float) -> None:
        """Stop the goal for ``reason`` and send the one last prompt."""
        desk, goal = self._desk, self.still(step)
        if goal is None or self._planning(now):
            return
        step.stage = "claiming"
        title = STOPS[reason].title

        def stored(error: str, at: float) -> None:
            if error:
                if self.still(step) is not None:
                    desk.stop(StopReason.CLAIM_PERSIST_FAILED, at, error)
                return
            present = desk.book.find(step.goal)
            if desk.step is not step or present is None or present.stop is not reason or desk.held:
                return
            desk.handoff_reply_due = present.id
            self._send(step, present, prompts.handoff(present, at), Purpose.HANDOFF, at)
            desk.notice(f"limit:{reason.value}", f"Goal stopped: {title}.", Level.WARNING)

        kind = Kind.WRAPUP if reason is StopReason.BUDGET_WRAPUP else Kind.LIMIT
        payload = Stopped(at=now, reason=reason, handoff=True, claim=message or NO_MESSAGE, status=title)
        desk.write_first(kind, payload, goal.id, title, stored)

    def failed(self, step: Step, text: str, now: float) -> None:
        """Something on the way to a prompt failed; it counts like a prompt that failed."""
        goal = self.still(step)
        self._desk.drop()
        if goal is not None:
            self._count_failure(goal, text, now, release=False)

    def _planning(self, now: float) -> bool:
        return self._desk.planning and self._desk.stop(StopReason.PLAN_AGENT, now)

    def _send(self, step: Step, goal: Goal, text: str, purpose: Purpose, now: float) -> None:
        desk, context = self._desk, goal.context
        step.stage = "sending"
        effect = desk.mint.effect()
        desk.live, desk.live_settled = effect, False
        desk.attempted, desk.sent = now, True
        desk.expect(effect, lambda event, at: self._sent(step, effect, purpose, event, at))
        prompt = Prompt(
            session=desk.session,
            effect=effect,
            text=text,
            purpose=purpose,
            agent=context.agent or desk.agent,
            model=context.model or desk.model,
            variant=context.variant or desk.variant,
        )
        desk.out.append(prompt)

    def _sent(self, step: Step, effect: EffectId, purpose: Purpose, event: Event, now: float) -> None:
        desk = self._desk
        assert isinstance(event, EffectSettled)
        if desk.step is step:
            desk.step = None
        if desk.live == effect:
            desk.live_settled = True
            desk.live = effect if event.ok else None
        goal = desk.book.find(step.goal)
        if goal is None or goal.run != step.run:
            return
        if not event.ok:
            if purpose is Purpose.HANDOFF:
                desk.handoff_reply_due = ""
            text = f"the prompt failed: {event.error or 'no reason given'}"
            self._count_failure(goal, text, now, release=True)
        elif purpose is Purpose.CONTINUATION:
            failures = max(0, goal.meters.prompt_failures - 1)
            desk.meter(goal.id, replace(goal.meters, prompt_failures=failures))
            number = goal.turns + (0 if step.starting else 1)
            detail = "started" if step.starting else f"continuation {number}/{goal.limits.turns}"
            payload = Continued(at=now, counted=not step.starting, status=detail)
            desk.write(Kind.CONTINUED, payload, goal.id, detail)

    def _count_failure(self, goal: Goal, text: str, now: float, *, release: bool) -> None:
        desk, text = self._desk, shorten(text, 240)
        if not goal.active:
            desk.write(Kind.ERROR, Failed(at=now, status=text), goal.id, text)
            return
        failures = goal.meters.prompt_failures + 1
        desk.meter(goal.id, replace(goal.meters, prompt_failures=failures))
        desk.write(Kind.ERROR, Failed(at=now, status=text, release=release), goal.id, text)
        if failures >= desk.settings.max_prompt_failures:
            desk.stop(StopReason.PROMPT_FAILURES, now, text)
        else:
            desk.retry_at = now + pacing.retry_delay(failures, desk.settings.max_cooldown_seconds)
