"""What each command does to a session. Validated first, then applied as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from loopguard_cli.goal import commands as c
from loopguard_cli.goal import status
from loopguard_cli.goal.answers import Answer, budget, refuse
from loopguard_cli.goal.desk import Desk
from loopguard_cli.goal.evolve import WAITING
from loopguard_cli.goal.flags import Options
from loopguard_cli.goal.model import EXIT_STOPPED, STOPS, Book, Goal, Result, StopReason, shorten
from loopguard_cli.goal.records import Cleared, Focused, Kind, Payload, Resumed, Stopped
from loopguard_cli.goal.setting import LIMIT_REACHED, Setting

STARTING = (c.Create, c.Resume, c.Focus, c.Sequence)
"""What puts a goal into force. An edit does so only as a person's word."""


class Actions:
    """Commands on one desk.

    ``person`` tells a person's word from the agent's own; ``name`` is how goal commands begin where this
    one was given, for hints: ``/goal``, or ``loopguard goal``.
    """

    def __init__(self, desk: Desk, *, person: bool, name: str) -> None:
        self._desk = desk
        self._person = person
        self._name = name
        self._setting = Setting(desk, person=person, name=name)

    def perform(self, command: c.Command, now: float) -> Answer:
        """Everything but ``Clear``, which is answered only when it is durable."""
        if isinstance(command, STARTING):
            if self._person:
                self._desk.barred = False
            elif (refused := self.too_late()) is not None:
                return refused
        match command:
            case c.Refused():
                return refuse(command.code, command.text, errors=[[m.kind, m.flag] for m in command.mistakes])
            case c.Show():
                return self._show(command.what, now)
            case c.Pause():
                return self._pause(now)
            case c.Resume():
                return self._resume(command.options, now)
            case c.Create():
                return self._setting.create(command, now)
            case c.Edit():
                return self._setting.edit(command, now)
            case c.Focus():
                return self._focus(command.reference, now)
            case c.Sequence():
                return self._setting.sequence(command, now)
        raise TypeError(type(command).__name__)

    def too_late(self) -> Answer | None:
        """Why the agent can put no goal into force in the turn that runs now."""
        if self._person or not self._desk.barred:
            return None
        text = "The user said stop while this turn was running. Only the user, or a later turn, can go on."
        return refuse("stopped_by_user", text)

    def used_up(self, goal: Goal) -> Answer | None:
        """Why the agent cannot resume ``goal``."""
        if self._person or not STOPS[goal.stop].limit:
            return None
        return refuse("limit_reached", LIMIT_REACHED)

    # --- looking -----------------------------------------------------------------------------

    def _show(self, what: str, now: float) -> Answer:
        book, settings = self._desk.book, self._desk.settings
        if what == "list":
            if not book.goals and not book.archive:
                return Answer(
                    reply="list:empty", text=f"No goals yet. {self._hint}", data=status.list_data(book)
                )
            return Answer(reply="list", text=status.list_text(book), data=status.list_data(book))
        shown: Goal | Result | None = book.focused or book.last_result
        if shown is None:
            kind = "status:no_goal" if what == "status" else "history:none"
            return Answer(reply=kind, text=f"No active goal. {self._hint}")
        which = "active" if isinstance(shown, Goal) else "last_result"
        if what == "history":
            return Answer(
                reply=f"history:{which}", text=status.history_text(shown), data=status.history_data(shown)
            )
        if isinstance(shown, Goal):
            now = now if self._desk.session != WAITING else shown.since or now
            text = status.goal_text(shown, settings, now, self._name)
            return Answer(reply=f"status:{which}", text=text, data=status.goal_data(shown, settings, now))
        return Answer(reply=f"status:{which}", text=status.result_text(shown), data=status.result_data(shown))

    @property
    def _hint(self) -> str:
        verb = "" if self._name.startswith("/") else " set"
        return f"Set one: {self._name}{verb} <what is to be achieved>"

    def _no_goal(self) -> Answer:
        return refuse("no_goal", f"No active goal. {self._hint}")

    # --- stopping and going on ---------------------------------------------------------------

    def _pause(self, now: float) -> Answer:
        desk, goal = self._desk, self._desk.focused
        if goal is None:
            return self._no_goal()
        if self._person:
            desk.bar()
        desk.drop()
        desk.interrupt()
        if goal.stop is StopReason.USER_PAUSED:
            return Answer(reply="already_paused", text="The goal is already paused.")
        if not goal.active:
            text = f"The goal is already stopped: {STOPS[goal.stop].title}."
            return Answer(reply="already_stopped", text=text, data={"stop_reason": goal.stop.value})
        by = "by the user" if self._person else "by the agent"
        desk.write(Kind.PAUSED, Stopped(at=now, status="paused"), goal.id, by)
        desk.notice("paused", "Goal paused.")
        return Answer(reply="paused", text="Goal paused. Nothing will be sent until it is resumed.")

    def _resume(self, options: Options, now: float) -> Answer:
        desk, goal = self._desk, self._desk.focused
        if goal is None:
            return self._no_goal()
        if goal.active:
            if options.limits and self._person:
                return self._setting.edit(c.Edit("", options), now)
            return Answer(
                ok=False, reply="already_running", text="The goal is already running; nothing was reset."
            )
        if (refused := self.used_up(goal)) is not None:
            return refused
        limits = options.apply(goal.limits)
        if (refused := self._setting.raised(goal.limits, limits)) is not None:
            return refused
        stopped_by = goal.stop
        payload = Resumed(
            at=now,
            consumed=self._setting.past,
            limits=limits if limits != goal.limits else None,
            fresh=self._person,
            status="resumed",
        )
        desk.drop()
        desk.handoff_reply_due = ""
        desk.write(Kind.RESUMED, payload, goal.id, f"after {STOPS[stopped_by].title}")
        desk.notice("resumed", "Goal resumed.")
        if not self._person:
            text = "Goal resumed. What was used of its budget stays used; only the user opens a fresh one."
            return Answer(reply="resumed", text=text, work=True)
        text = f"Goal resumed with a fresh budget: {budget(limits)}."
        if stopped_by in (StopReason.MAX_TOKENS, StopReason.BUDGET_WRAPUP):
            text += " The conversation is as large as before: compact it, or it stops again after one turn."
        return Answer(reply="resumed", text=text, work=True)

    # --- several goals -----------------------------------------------------------------------

    def _focus(self, reference: str, now: float) -> Answer:
        desk, book = self._desk, self._desk.book
        if not book.goals:
            return refuse("no_goals_to_focus", f"There are no goals to focus. {self._hint}")
        if not reference:
            return refuse("focus_needs_reference", f"Which goal?\n{status.list_text(book)}")
        target = _referred(book, reference)
        if target is None:
            return refuse("no_such_goal", f"There is no such goal.\n{status.list_text(book)}")
        if target.id == book.focus:
            return Answer(reply="already_focused", text="This goal has the focus already.")
        if not self._person and STOPS.get(target.beneath, STOPS[StopReason.QUEUED]).limit:
            return refuse("limit_reached", LIMIT_REACHED)
        old = book.focused
        desk.drop()
        if old is not None:
            desk.write(Kind.BACKGROUNDED, Payload(at=now), old.id)
        # A used-up budget is not opened again by looking away and back.
        reason = target.stop if target.stop is not StopReason.BACKGROUNDED else target.beneath
        kept = reason if reason and STOPS[reason].limit else StopReason.NONE
        desk.write(Kind.FOCUSED, Focused(at=now, reason=kept, consumed=self._setting.past), target.id)
        desk.notice("focused-active", "Another goal has the focus.")
        text = f"In focus: {target.objective}"
        text += f"\nIn the background: {shorten(old.objective, 160)}" if old is not None else ""
        text += f"\nIt stays stopped: {STOPS[kept].title}; resume opens a fresh budget." if kept else ""
        return Answer(reply="focused", text=text, work=not kept)

    def clear(self, now: float, answer: Callable[[Answer], None]) -> None:
        """Clear everything live; the answer says whether that is durable."""
        desk = self._desk
        if self._person:
            desk.bar()
        desk.drop()
        desk.interrupt()
        focused = None if self._person else desk.focused
        if focused is not None:
            desk.given_up = replace(focused, elapsed=focused.time_in_force(now), since=0.0)
            desk.outcome = EXIT_STOPPED
        goals = [goal.id for goal in desk.book.goals]
        had = bool(goals) or desk.book.last_result is not None

        def stored(error: str, _: float) -> None:
            if error:
                text = "Cleared, but this could not be stored: the goals may come back after a restart."
                if goals:
                    desk.notice("clear-not-durable", "Goals cleared, but this could not be stored.")
                answer(Answer(reply="cleared:not_durable", text=text))
                return
            if goals:
                desk.notice("cleared", "Goals cleared.")
            answer(Answer(reply="cleared", text="All goals of this session are cleared."))

        if not had:
            answer(Answer(reply="cleared", text="There was nothing to clear."))
            return
        desk.write_now(Kind.CLEARED, Cleared(at=now), goals or [""], stored)


def _referred(book: Book, reference: str) -> Goal | None:
    """A number is a place in the list, never the beginning of an id."""
    if reference.isascii() and reference.isdigit():
        number = int(reference) if len(reference) < 10 else 0
        return book.goals[number - 1] if 1 <= number <= len(book.goals) else None
    found = [goal for goal in book.goals if goal.id.startswith(reference)]
    return found[0] if found else None
