"""Setting, changing and queueing goals: who may ask for which limits, and what is written."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from loopguard_cli.core.events import Status
from loopguard_cli.core.ids import MessageId
from loopguard_cli.goal import commands as c
from loopguard_cli.goal.answers import Answer, budget, refuse
from loopguard_cli.goal.desk import Desk
from loopguard_cli.goal.evolve import WAITING
from loopguard_cli.goal.flags import Options
from loopguard_cli.goal.limits import left, raised, reached, tighter
from loopguard_cli.goal.model import (
    MAX_LIVE_GOALS,
    MAX_OBJECTIVE,
    STOPS,
    Check,
    Goal,
    Limits,
    Mode,
    TurnContext,
    shorten,
)
from loopguard_cli.goal.records import Cleared, Edited, Kind, Payload, Set

LIMIT_REACHED = "A limit was reached. Only the user can open a new budget."


class Setting:
    """Brings goals of one desk into being. ``person`` and ``name`` as for `actions.Actions`."""

    def __init__(self, desk: Desk, *, person: bool, name: str) -> None:
        self._desk = desk
        self._person = person
        self._name = name

    @property
    def past(self) -> MessageId:
        """The newest message, unless it is still being written: it is older than the goal."""
        return self._desk.turn.message if self._desk.status is not Status.BUSY else MessageId("")

    def create(self, command: c.Create, now: float) -> Answer:
        desk, book = self._desk, self._desk.book
        old = book.focused
        if command.add and old is not None and (refused := self._beside()) is not None:
            return refused
        granted = self._granted(now)
        if isinstance(granted, Answer):
            return granted
        base, bound, checks = granted
        limits = command.options.apply(base)
        if (refused := self.raised(bound, limits)) is not None:
            return refused
        options = replace(command.options, checks=tuple(dict.fromkeys((*checks, *command.options.checks))))
        if len(book.goals) - (old is not None and not command.add) >= MAX_LIVE_GOALS:
            return refuse("too_many_goals", f"A session holds at most {MAX_LIVE_GOALS} live goals.")
        desk.drop()
        if old is not None and command.add:
            desk.write(Kind.BACKGROUNDED, Payload(at=now), old.id)
        elif old is not None:
            desk.write(Kind.REPLACED, Cleared(at=now), old.id, "by a new goal")
        goal = self._set(command.objective, options, limits, now, ordered=False if not command.add else None)
        desk.given_up = None
        if self._person:
            desk.ceiling = limits
        replaced = old is not None and not command.add
        kind = "added" if command.add else "created:replaced" if replaced else "created"
        if desk.session != WAITING:  # else it is said once its session is known
            desk.notice(
                "added-active" if command.add else "replaced-active" if replaced else "active",
                "Goal added and in force." if command.add else "Goal in force.",
            )
        return Answer(
            reply=kind, text=self._created(goal, old, add=command.add), data={"id": goal.id}, work=True
        )

    def _granted(self, now: float) -> tuple[Limits, Limits | None, tuple[Check, ...]] | Answer:
        """For a new goal: limits where none are given, the most that may be given, checks it must pass.

        The agent's goal in place of another (or of one that it cleared) is that one under another name:
        it gets what is left of the budgets, and has the same to prove.
        """
        desk = self._desk
        if self._person:
            return desk.settings.limits, None, ()
        before = desk.book.focused or desk.given_up
        if before is None:
            usual = desk.settings.limits
            return (usual if desk.ceiling is None else tighter(usual, desk.ceiling)), desk.ceiling, ()
        if (before.stop and STOPS[before.stop].limit) or reached(before, now):
            return refuse("limit_reached", LIMIT_REACHED)
        rest = left(before, now)
        return rest, rest, before.checks

    def _beside(self) -> Answer | None:
        """Why the agent cannot queue goals or put one beside another."""
        if self._person:
            return None
        text = "Only the user can add goals to those there are: each has a budget of its own."
        return refuse("limit_raise_refused", text)

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
            consumed=self.past,
            ordered=ordered,
            forget_result=ordered is not None,
        )
        goal = f"g{hashlib.blake2b(desk.mint.effect().encode(), digest_size=5).hexdigest()}"
        desk.write(Kind.SET, payload, goal, "by the user" if self._person else "by the agent")
        made = desk.book.find(goal)
        assert made is not None
        return made

    def _created(self, goal: Goal, old: Goal | None, *, add: bool) -> str:
        lines = []
        if old is not None and not add:
            lines.append(
                f"This replaced the goal: {shorten(old.objective, 160)} "
                f"({self._name} add keeps it in the background)."
            )
        lines.append(f"Goal set: {goal.objective}")
        lines += [f"Success criteria: {goal.success}"] if goal.success else []
        lines += [f"Constraints: {goal.constraints}"] if goal.constraints else []
        lines += [f"Mode: {goal.mode.value}"] if goal.mode is not Mode.NORMAL else []
        lines += [f"Check: {check.command}" for check in goal.checks]
        lines.append(f"Limits: {budget(goal.limits)}.")
        if add and old is not None:
            count = len(self._desk.book.goals)
            lines.append(f"In the background: {shorten(old.objective, 160)}. {count} live goals.")
        return "\n".join(lines)

    def edit(self, command: c.Edit, now: float) -> Answer:
        desk, goal, options = self._desk, self._desk.focused, command.options
        if goal is None:
            return refuse("no_goal_to_edit", "There is no goal to edit.")
        if not command.objective and options == Options():
            return refuse("no_new_objective", "Say what the new objective is.")
        if len(command.objective) > MAX_OBJECTIVE:
            return refuse("objective_too_long", c.TOO_LONG)
        limits = options.apply(goal.limits)
        if (refused := self.raised(goal.limits, limits)) is not None:
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
            consumed=self.past,
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
        text = f"Goal changed: {command.objective or goal.objective}\n"
        text += "Used budget is kept; resume opens a fresh one."
        return Answer(reply="edited", text=text, work=self._person)

    def raised(self, before: Limits | None, after: Limits) -> Answer | None:
        """The agent may lower budgets, never raise them."""
        if self._person or before is None or not raised(before, after):
            return None
        return refuse("limit_raise_refused", "Only the user can raise the limits of a goal.")

    def sequence(self, command: c.Sequence, now: float) -> Answer:
        desk = self._desk
        if (desk.book.goals or desk.given_up) and (refused := self._beside()) is not None:
            return refused
        granted = self._granted(now)
        if isinstance(granted, Answer):
            return granted
        base, bound, _ = granted
        limits = command.options.apply(base)
        if (refused := self.raised(bound, limits)) is not None:
            return refused
        desk.drop()
        for goal in desk.book.goals:
            desk.write(Kind.REPLACED, Cleared(at=now), goal.id, "by a sequence")
        for number, objective in enumerate(command.objectives):
            self._set(objective, command.options, limits, now, ordered=True, focus=number == 0)
        desk.given_up = None
        if self._person:
            desk.ceiling = limits
        desk.notice("sequence-active", "Sequence of goals in force.")
        numbered = "\n".join(f"{n}. {text}" for n, text in enumerate(command.objectives, start=1))
        text = f"Ordered sequence of {len(command.objectives)} goals:\n{numbered}\n"
        text += f"In focus: {command.objectives[0]}"
        return Answer(reply="sequence_started", text=text, work=True)
