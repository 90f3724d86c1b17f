"""From an idle session to the decision to prompt it.

    idle -> read the session -> judge the turn -> wait for the pace -> read again -> claim -> prompt

Every arrow may take time, so behind each one the world is checked again: another goal, another run,
a stop, a new message or a busy session, and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from loopguard_cli.core.effects import ReadSession
from loopguard_cli.core.events import EffectSettled, Event, Origin, SessionRead, Status
from loopguard_cli.core.ids import MessageId
from loopguard_cli.goal import limits, markers, pacing, stalls
from loopguard_cli.goal.desk import Desk, Step, remember
from loopguard_cli.goal.markers import Claim, Signal
from loopguard_cli.goal.model import Goal, StopReason
from loopguard_cli.goal.prompts import Missing
from loopguard_cli.goal.records import Kind, Marked, Payload
from loopguard_cli.goal.send import NO_MESSAGE, Refusal, Sender

End = Callable[[Goal, Claim, MessageId, float], None]
"""Called with a goal, the substantiated claim of its end, the message that makes it, and the time."""
Then = Callable[[SessionRead, float], None]

NO_REFUSAL = Refusal()
ANSWER_WITHIN = 30.0
"""Seconds in which an agent must say how its session stands."""
AGAIN = 0.25
"""Seconds until an agent is asked again that told of its idleness and then, when asked, was not idle yet."""
TRIES = 40
"""How often it is asked again before the session is left alone: for ten seconds, as after an abort."""


class Driver:
    """Drives the focused goal of one desk."""

    def __init__(self, desk: Desk, end: End) -> None:
        self._desk = desk
        self._end = end
        self._sender = Sender(desk)

    def begin(self, now: float, *, starting: bool = False, refusal: Refusal = NO_REFUSAL) -> None:
        """Look whether the session is to be continued.

        ``starting``: a goal came into force just now. ``refusal``: a check refuted the newest claim.
        """
        desk, goal = self._desk, self._desk.focused
        if desk.step is not None and desk.step.stage == "again":
            desk.drop()
        if goal is None or desk.held or desk.step is not None or goal.id in desk.proving:
            return
        if not goal.active:
            self._handoff_reply(goal, now)
            return
        desk.retry_at = None
        desk.step = Step(goal, "reading", starting=starting)
        self._read(desk.step, now, partial(self._judge, desk.step, refusal))

    def _handoff_reply(self, goal: Goal, now: float) -> None:
        """The answer to the last prompt may still prove the goal or name a blocker. Looked at once."""
        desk, turn = self._desk, self._desk.turn
        if desk.handoff_reply_due != goal.id or turn.message in ("", goal.claim):
            return
        desk.handoff_reply_due = ""
        claim = markers.read(turn.text)
        if claim.accepted and not turn.control:
            self._end(goal, claim, turn.message, now)

    # --- reading -----------------------------------------------------------------------------

    def _read(self, step: Step, now: float, then: Then, tries: int = TRIES) -> None:
        desk = self._desk
        effect = desk.mint.effect()

        def arrived(event: Event, at: float) -> None:
            if desk.step is not step or step.stage != "reading":
                return
            step.wake = None
            if not isinstance(event, SessionRead) or not event.ok:
                error = event.error if isinstance(event, SessionRead | EffectSettled) else ""
                self._sender.failed(step, f"the session could not be read: {error}", at)
            elif event.status is not Status.IDLE and desk.status is Status.IDLE and tries:
                # It said that it is idle before it was: nothing else may follow that would wake us.
                step.stage, step.wake = "again", at + AGAIN
                step.resume = lambda later: self._read(step, later, then, tries - 1)
            elif event.status is not Status.IDLE:
                desk.drop()
            else:
                desk.agent = event.agent or desk.agent
                then(event, at)

        step.stage = "reading"
        if desk.capabilities.read_session:
            step.wake = now + ANSWER_WITHIN
            step.resume = lambda at: self._sender.failed(step, "the session could not be read: no answer", at)
            desk.expect(effect, arrived)
            desk.out.append(ReadSession(session=desk.session, effect=effect))
            return
        status = desk.status or Status.IDLE
        known = SessionRead(
            session=desk.session, effect=effect, ok=True, status=status, newest_assistant=desk.turn.message
        )
        arrived(known, now)

    def _intervened(self, read: SessionRead, *, waited: bool, now: float) -> bool:
        """A person spoke since our last prompt, as the transcript shows."""
        desk, user = self._desk, read.newest_user
        known = (desk.heard, desk.ours, desk.controls)
        if not user or read.newest_user_origin is not Origin.PERSON or any(user in ids for ids in known):
            return False
        remember(desk.heard, user)
        if not desk.sent:
            return False
        if desk.settings.pause_on_message:
            return desk.stop(StopReason.USER_INTERVENTION, now)
        if waited:
            desk.drop()
        return waited

    # --- judging the turn --------------------------------------------------------------------

    def _judge(self, step: Step, refusal: Refusal, read: SessionRead, now: float) -> None:
        desk, turn = self._desk, self._desk.turn
        goal = self._sender.still(step)
        if goal is None:
            return
        message = read.newest_assistant or turn.message
        ours = message == turn.message
        boundary = (ours and turn.control) or (bool(message) and message == goal.consumed)
        repeated, changed = message == goal.last_message, ours and turn.digest != goal.last_text
        if ours and not boundary and turn.text and (changed or not repeated):
            self._mark(goal, message, now)
        if self._intervened(read, waited=False, now=now):
            return
        if not refusal.missing:
            if goal.claim == (message or NO_MESSAGE):
                desk.drop()
                return
            claim = markers.read(turn.text) if ours and not boundary else Claim()
            if claim.accepted:
                desk.drop()
                self._end(goal, claim, message, now)
                return
            if claim.signal is not Signal.NONE:
                missing = Missing.EVIDENCE if claim.signal is Signal.COMPLETE else Missing.BLOCKER
                refusal = Refusal(missing)
        fresh = desk.judged != (goal.id, goal.run, message)
        if fresh:
            self._note_refusal(goal.id, refusal.missing, now)
        reason = limits.reached(self._present(goal), now)
        if reason:
            if goal.handoff_sent:
                desk.stop(reason, now)
            else:
                self._sender.hand_off(step, reason, message, now)
            return
        if fresh and not boundary and self._stalled(goal, refusal, repeated, changed, now):
            return
        wrapup = limits.handoff_due(self._present(goal), desk.settings.wrapup_ratio)
        if fresh and not wrapup and self._misused(goal, refusal.missing, now):
            return
        desk.judged = (goal.id, goal.run, message)
        if wrapup:
            send = partial(self._sender.hand_off, step, StopReason.BUDGET_WRAPUP, message)
        else:
            send = partial(self._sender.carry_on, step, message, refusal)
        self._pace(step, message, send, now)

    def _present(self, goal: Goal) -> Goal:
        return self._desk.book.find(goal.id) or goal

    def _pace(self, step: Step, message: MessageId, send: Callable[[float], None], now: float) -> None:
        desk, goal = self._desk, self._desk.focused
        assert goal is not None
        due = pacing.earliest(goal, desk.attempted, desk.settings.max_cooldown_seconds)
        if now >= due:
            send(now)
            return
        step.stage, step.wake = "waiting", due
        step.resume = lambda at: self._read(step, at, partial(self._recheck, step, message, send))

    def _recheck(
        self, step: Step, message: MessageId, send: Callable[[float], None], read: SessionRead, now: float
    ) -> None:
        """After the wait: go on only if the session is as it was."""
        if self._sender.still(step) is None or self._intervened(read, waited=True, now=now):
            return
        if (read.newest_assistant or self._desk.turn.message) != message:
            self._desk.drop()
            return
        send(now)

    def _mark(self, goal: Goal, message: MessageId, now: float) -> None:
        turn = self._desk.turn
        newest = goal.checkpoints[-1].text if goal.checkpoints else ""
        text = turn.summary if turn.summary != newest else ""
        self._desk.write(
            Kind.CHECKPOINT, Marked(at=now, text=text, message=message, digest=turn.digest), goal.id
        )

    def _note_refusal(self, goal: str, missing: Missing, now: float) -> None:
        if missing is Missing.EVIDENCE:
            text = "completion claimed without evidence directly above it"
            self._desk.write(Kind.UNVERIFIED, Payload(at=now, status=text), goal, text)
        elif missing is Missing.BLOCKER:
            text = "blocked claimed without a reason directly above it"
            self._desk.write(Kind.UNSTATED, Payload(at=now, status=text), goal, text)

    def _stalled(self, goal: Goal, refusal: Refusal, repeated: bool, changed: bool, now: float) -> bool:
        desk = self._desk
        stall = stalls.judge(
            self._present(goal), desk.turn, repeated=repeated, changed=changed, refused=bool(refusal.missing)
        )
        desk.meter(goal.id, stall.meters)
        if stall.warning:
            desk.write(Kind.WARNING, Payload(at=now, status=stall.warning), goal.id, stall.warning)
        return bool(stall.stop) and desk.stop(stall.stop, now)

    def _misused(self, goal: Goal, missing: Missing, now: float) -> bool:
        """Count claims without proof; too many of them stop the goal."""
        desk, meters = self._desk, self._present(goal).meters
        refused = missing in (Missing.EVIDENCE, Missing.BLOCKER)
        failures = meters.format_failures + 1 if refused else max(0, meters.format_failures - 1)
        desk.meter(goal.id, replace(meters, format_failures=failures))
        if not refused or failures < desk.settings.max_prompt_failures:
            return False
        return desk.stop(StopReason.FORMAT_FAILURES, now)
