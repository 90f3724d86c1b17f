"""How a goal ends or is given up as blocked: on disk first, announced after that."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from loopguard_cli.core.effects import Level
from loopguard_cli.core.ids import MessageId
from loopguard_cli.goal.desk import Desk
from loopguard_cli.goal.model import EXIT_ACHIEVED, MAX_BLOCKER, Goal, Result, State, StopReason, shorten
from loopguard_cli.goal.records import Completed, Kind, Stopped

Reply = Callable[[bool, str, str], None]
"""Answers whoever claims: ok, stable error code, text."""


class Outcome(Enum):
    STORED = "stored"
    CHANGED = "changed"
    """The goal was replaced or cleared while its end was being stored."""
    UNSTORED = "unstored"
    """It did not happen: no disk knows of it."""


Ended = Callable[[Outcome, str, float], None]
"""Called with the outcome, a text for whoever claimed, and the time."""


class Ending:
    """Ends the goals of one desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def complete(self, goal_id: str, evidence: str, message: MessageId, now: float, then: Ended) -> None:
        """Archive a goal as achieved; in a sequence the next one comes into force with the same record."""
        desk = self._desk
        goal = desk.book.find(goal_id)
        if goal is None:
            then(Outcome.CHANGED, "", now)
            return
        queue = [g.id for g in desk.book.goals if g.id != goal_id]
        promotes = queue[0] if queue and desk.book.ordered and desk.book.focus == goal_id else ""
        payload = Completed(at=now, result=_result(goal, evidence, now), promotes=promotes, message=message)

        def stored(error: str, at: float) -> None:
            if not error and any(result.id == goal_id for result in desk.book.archive):
                then(Outcome.STORED, self._announce(promoted=bool(promotes)), at)
                return
            present = desk.book.find(goal_id)
            if present is None or not error:
                then(Outcome.CHANGED, error, at)
                return
            if present.revision == goal.revision:
                self._give_up(present, error, at)
            then(Outcome.UNSTORED, f"the outcome could not be stored: {error}", at)

        desk.write_first(Kind.COMPLETED, payload, goal_id, shorten(evidence, 200), stored)

    def block(self, goal_id: str, blocker: str, now: float, reply: Reply | None = None) -> None:
        """Stop a goal as blocked."""
        desk = self._desk
        goal = desk.book.find(goal_id)
        if goal is None:
            return
        desk.audit_message("block-start", "The agent states a blocker.")
        desk.proving.add(goal_id)

        def answer(ok: bool, code: str, text: str) -> None:
            if reply is not None:
                reply(ok, code, text)

        def stored(error: str, at: float) -> None:
            desk.proving.discard(goal_id)
            present = desk.book.find(goal_id)
            if not error and present is not None and present.stop is StopReason.BLOCKED:
                desk.drop()
                text = "Goal stopped: the agent is blocked."
                self._say("blocked", "blocked", text, Level.WARNING)
                answer(True, "", text)
            elif error and present is not None and present.revision == goal.revision:
                self._give_up(present, error, at)
                answer(False, "block_rejected", f"the blocker could not be stored: {error}")
            else:
                answer(False, "goal_changed", "the goal was changed while the blocker was being stored")

        blocker = blocker.strip()[:MAX_BLOCKER]
        payload = Stopped(at=now, reason=StopReason.BLOCKED, blocker=blocker, status="blocked")
        desk.write_first(Kind.BLOCKED, payload, goal_id, blocker, stored)

    def _announce(self, *, promoted: bool) -> str:
        desk = self._desk
        desk.drop()
        desk.outcome = EXIT_ACHIEVED
        text = "Goal achieved." + (" The next one of the sequence begins." if promoted else "")
        kind = "accepted-promoted" if promoted else "accepted"
        self._say(kind, State.ACHIEVED.value, text, Level.SUCCESS)
        return text

    def _say(self, audit: str, notice: str, text: str, level: Level) -> None:
        """One message: the audit's if those are on, else the notice."""
        if self._desk.settings.audit_messages:
            self._desk.audit_message(audit, text, level)
        else:
            self._desk.notice(notice, text, level)

    def _give_up(self, goal: Goal, error: str, now: float) -> None:
        """The outcome is on no disk: it did not happen, and nothing is tried again without a person."""
        desk = self._desk
        desk.drop()
        payload = Stopped(at=now, reason=StopReason.TERMINAL_PERSIST_FAILED, status=error)
        desk.write(Kind.PAUSED, payload, goal.id, error)
        text = "Goal paused: its outcome could not be stored."
        desk.notice("paused:terminal_persist_failed", text, Level.ERROR)


def _result(goal: Goal, evidence: str, now: float) -> Result:
    return Result(
        id=goal.id,
        objective=goal.objective,
        evidence=evidence,
        finished=now,
        turns=goal.turns,
        limits=goal.limits,
        meters=goal.meters,
        elapsed=goal.time_in_force(now),
        status="achieved",
        checkpoints=goal.checkpoints,
    )
