"""What each command does to a session. Validated first, then applied as a whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from loopguard_cli.core.events import Status
from loopguard_cli.core.ids import MessageId
from loopguard_cli.goal import commands as c
from loopguard_cli.goal import status
from loopguard_cli.goal.desk import Desk
from loopguard_cli.goal.evolve import WAITING
from loopguard_cli.goal.flags import Options
from loopguard_cli.goal.model import (
    MAX_LIVE_GOALS,
    STOPS,
    Book,
    Goal,
    Limits,
    Mode,
    Result,
    StopReason,
    TurnContext,
    shorten,
)
from loopguard_cli.goal.records import Cleared, Edited, Focused, Kind, Payload, Resumed, Set, Stopped


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a command is answered."""

    ok: bool = True
    reply: str = ""
    """Stable kind of answer, ``error:<code>`` for refusals."""
    text: str = ""
    data: dict[str, Any] = {}
    work: bool = False
    """A goal came into force or was changed: there is work to be done now."""

    @property
    def code(self) -> str:
        return "" if self.ok else self.reply.removeprefix("error:")


def refuse(code: str, text: str, **data: Any) -> Answer:
    return Answer(ok=False, reply=f"error:{code}", text=text, data=data)


class Actions:
    """Commands on one desk. ``person`` tells a person's word from the agent's own."""

    def __init__(self, desk: Desk, *, person: bool) -> None:
        self._desk = desk
        self._person = person

    def perform(self, command: c.Command, now: float) -> Answer:
        """Everything but ``Clear``, which is answered only when it is durable."""
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
                return self._create(command, now)
            case c.Edit():
                return self._edit(command, now)
            case c.Focus():
                return self._focus(command.reference, now)
            case c.Sequence():
                return self._sequence(command, now)
        raise TypeError(type(command).__name__)

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
            text, data = status.goal_text(shown, settings, now), status.goal_data(shown, settings, now)
        else:
            text, data = status.result_text(shown), status.result_data(shown)
        return Answer(reply=f"status:{which}", text=text, data=data)

    @property
    def _past(self) -> MessageId:
        """The newest message, unless it is still being written."""
        return self._desk.turn.message if self._desk.status is not Status.BUSY else MessageId("")

    @property
    def _hint(self) -> str:
        return f"Set one: /{self._desk.settings.command_name} <what is to be achieved>"

    def _no_goal(self) -> Answer:
        return refuse("no_goal", f"No active goal. {self._hint}")

    # --- stopping and going on ---------------------------------------------------------------

    def _pause(self, now: float) -> Answer:
        desk, goal = self._desk, self._desk.focused
        if goal is None:
            return self._no_goal()
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
                return self._edit(c.Edit("", options), now)
            return Answer(
                ok=False, reply="already_running", text="The goal is already running; nothing was reset."
            )
        if not self._person and STOPS[goal.stop].limit:
            return refuse("limit_reached", "A limit was reached. Only the user can open a new budget.")
        limits = options.apply(goal.limits)
        if (refused := self._raised(goal.limits, limits)) is not None:
            return refused
        stopped_by = goal.stop
        payload = Resumed(
            at=now, consumed=self._past, limits=limits if limits != goal.limits else None, status="resumed"
        )
        desk.drop()
        desk.handoff_reply_due = ""
        desk.write(Kind.RESUMED, payload, goal.id, f"after {STOPS[stopped_by].title}")
        desk.notice("resumed", "Goal resumed.")
        text = f"Goal resumed with a fresh budget: {_budget(limits)}."
        if stopped_by in (StopReason.MAX_TOKENS, StopReason.BUDGET_WRAPUP):
            text += " The conversation is as large as before: compact it, or it stops again after one turn."
        return Answer(reply="resumed", text=text, work=True)

    # --- setting -----------------------------------------------------------------------------

    def _create(self, command: c.Create, now: float) -> Answer:
        desk, book = self._desk, self._desk.book
        old = book.focused
        limits = command.options.apply(desk.settings.limits)
        if (refused := self._raised(desk.ceiling, limits)) is not None:
            return refused
        if len(book.goals) - (old is not None and not command.add) >= MAX_LIVE_GOALS:
            return refuse("too_many_goals", f"A session holds at most {MAX_LIVE_GOALS} live goals.")
        desk.drop()
        if old is not None and command.add:
            desk.write(Kind.BACKGROUNDED, Payload(at=now), old.id)
        elif old is not None:
            desk.write(Kind.REPLACED, Cleared(at=now), old.id, "by a new goal")
        goal = self._set(
            command.objective, command.options, limits, now, ordered=False if not command.add else None
        )
        if self._person:
            desk.ceiling = limits
        replaced = old is not None and not command.add
        kind = "added" if command.add else "created:replaced" if replaced else "created"
        desk.notice(
            "added-active" if command.add else "replaced-active" if replaced else "active",
            "Goal added and in force." if command.add else "Goal in force.",
        )
        return Answer(
            reply=kind, text=self._created(goal, old, add=command.add), data={"id": goal.id}, work=True
        )

    def _set(
        self, objective: str, options: Options, limits: Limits, now: float, *,
        ordered: bool | None = None, focus: bool = True,
    ) -> Goal:  # fmt: skip
        desk = self._desk
        payload = Set(
            at=now,
            objective=objective,
            success=options.success or "",
            constraints=options.constraints or "",
            mode=options.mode or Mode.NORMAL,
            checks=options.checks,
            limits=limits,
            context=TurnContext(agent=desk.agent, model=desk.model, variant=desk.variant),
            focus=focus,
            consumed=self._past,
            ordered=ordered,
            forget_result=ordered is not None,
        )
        goal = f"g{hashlib.blake2b(desk.mint.effect().encode(), digest_size=5).hexdigest()}"
        desk.write(Kind.SET, payload, goal, "by the user" if self._person else "by the agent")
        made = desk.book.find(goal)
        assert made is not None
        return made

    def _created(self, goal: Goal, old: Goal | None, *, add: bool) -> str:
        name = self._desk.settings.command_name
        lines = []
        if old is not None and not add:
            lines.append(
                f"This replaced the goal: {shorten(old.objective, 160)} (/{name} add keeps it in the background)."
            )
        lines.append(f"Goal set: {goal.objective}")
        lines += [f"Success criteria: {goal.success}"] if goal.success else []
        lines += [f"Constraints: {goal.constraints}"] if goal.constraints else []
        lines += [f"Mode: {goal.mode.value}"] if goal.mode is not Mode.NORMAL else []
        lines += [f"Check: {check.command}" for check in goal.checks]
        lines.append(f"Limits: {_budget(goal.limits)}.")
        if add and old is not None:
            count = len(self._desk.book.goals)
            lines.append(f"In the background: {shorten(old.objective, 160)}. {count} live goals.")
        return "\n".join(lines)

    def _edit(self, command: c.Edit, now: float) -> Answer:
        desk, goal, options = self._desk, self._desk.focused, command.options
        if goal is None:
            return refuse("no_goal_to_edit", "There is no goal to edit.")
        if not command.objective and options == Options():
            return refuse("no_new_objective", "Say what the new objective is.")
        limits = options.apply(goal.limits)
        if (refused := self._raised(goal.limits, limits)) is not None:
            return refused
        payload = Edited(
            at=now,
            objective=command.objective or None,
            success=options.success,
            constraints=options.constraints,
            mode=options.mode,
            checks=options.checks or None,
            limits=limits if limits != goal.limits else None,
            activate=self._person,
            consumed=self._past,
            meters=replace(goal.meters, no_progress=0, no_tool=0, format_failures=0, fruitless=0),
            status="edited",
        )
        desk.drop()
        desk.handoff_reply_due = ""
        detail = "objective" if command.objective else "limits"
        desk.write(
            Kind.EDITED, payload, goal.id, f"{detail}, {'by the user' if self._person else 'by the agent'}"
        )
        if self._person:
            desk.ceiling = limits
        desk.judged = ("", 0, "")
        desk.notice("updated-active" if self._person else "updated", "Goal changed.")
        text = f"Goal changed: {command.objective or goal.objective}\nUsed budget is kept; resume opens a fresh one."
        return Answer(reply="edited", text=text, work=self._person)

    def _raised(self, before: Limits | None, after: Limits) -> Answer | None:
        """The agent may lower budgets, never raise them."""
        if self._person or before is None:
            return None
        if any(_more(name, getattr(before, name), getattr(after, name)) for name in _BUDGETS):
            return refuse("limit_raise_refused", "Only the user can raise the limits of a goal.")
        return None

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
            return refuse("limit_reached", "A limit was reached. Only the user can open a new budget.")
        old = book.focused
        desk.drop()
        if old is not None:
            desk.write(Kind.BACKGROUNDED, Payload(at=now), old.id)
        # A used-up budget is not opened again by looking away and back.
        reason = target.stop if target.stop is not StopReason.BACKGROUNDED else target.beneath
        kept = reason if reason and STOPS[reason].limit else StopReason.NONE
        desk.write(Kind.FOCUSED, Focused(at=now, reason=kept, consumed=self._past), target.id)
        desk.notice("focused-active", "Another goal has the focus.")
        text = f"In focus: {target.objective}"
        text += f"\nIn the background: {shorten(old.objective, 160)}" if old is not None else ""
        text += f"\nIt stays stopped: {STOPS[kept].title}; resume opens a fresh budget." if kept else ""
        return Answer(reply="focused", text=text, work=not kept)

    def _sequence(self, command: c.Sequence, now: float) -> Answer:
        desk = self._desk
        limits = command.options.apply(desk.settings.limits)
        if (refused := self._raised(desk.ceiling, limits)) is not None:
            return refused
        desk.drop()
        for goal in desk.book.goals:
            desk.write(Kind.REPLACED, Cleared(at=now), goal.id, "by a sequence")
        for number, objective in enumerate(command.objectives):
            self._set(objective, command.options, limits, now, ordered=True, focus=number == 0)
        if self._person:
            desk.ceiling = limits
        desk.notice("sequence-active", "Sequence of goals in force.")
        numbered = "\n".join(f"{n}. {text}" for n, text in enumerate(command.objectives, start=1))
        text = f"Ordered sequence of {len(command.objectives)} goals:\n{numbered}\nIn focus: {command.objectives[0]}"
        return Answer(reply="sequence_started", text=text, work=True)

    def clear(self, now: float, answer: Callable[[Answer], None]) -> None:
        """Clear everything live; the answer says whether that is durable."""
        desk = self._desk
        desk.drop()
        desk.interrupt()
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


_BUDGETS = ("turns", "seconds", "context_tokens", "total_tokens", "cost", "talk_turns", "low_output_turns")
_UNLIMITED_AT_ZERO = ("total_tokens", "cost", "talk_turns")


def _more(name: str, before: float, after: float) -> bool:
    endless = float("inf") if name in _UNLIMITED_AT_ZERO else 0.0
    return (after or endless) > (before or endless)


def _referred(book: Book, reference: str) -> Goal | None:
    """A number is a place in the list, never the beginning of an id."""
    if reference.isascii() and reference.isdigit():
        number = int(reference) if len(reference) < 10 else 0
        return book.goals[number - 1] if 1 <= number <= len(book.goals) else None
    found = [goal for goal in book.goals if goal.id.startswith(reference)]
    return found[0] if found else None


def _budget(limits: Limits) -> str:
    parts = [
        f"{limits.turns} continuations",
        f"{limits.seconds / 60:g} min",
        f"{limits.context_tokens:,} context tokens",
    ]
    parts += [f"{limits.total_tokens:,} tokens in total"] if limits.total_tokens else []
    parts += [f"${limits.cost:.2f}"] if limits.cost else []
    return ", ".join(parts)
