"""A run as the ledger remembers it, as a report: names, digests and verdicts, never content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from loopguard_cli.cli.render.budgets import BUDGETS
from loopguard_cli.cli.render.history import describe, explanation
from loopguard_cli.core.records import (
    AgentSeen,
    CallEnded,
    CallSeen,
    Fault,
    GoalRecord,
    LoopFound,
    Record,
    RecoveryStep,
    RunEnded,
    RunStarted,
    TurnDone,
    UserTurn,
)
from loopguard_cli.goal.evolve import fold
from loopguard_cli.goal.records import BOOKKEEPING, Continued, unpack
from loopguard_cli.goal.records import Kind as GoalEvent
from loopguard_cli.goal.settings import GoalSettings
from loopguard_cli.goal.status import goal_data, result_data
from loopguard_cli.history import NAMES
from loopguard_cli.report import HINTS, Alarm, Budget, Curve, Goal, Item, Kind, Report, Turn
from loopguard_cli.store.lines import Entry
from loopguard_cli.store.summary import REFUSED

_STEPS = {"abort": Kind.ABORT, "continue": Kind.CONTINUATION}


def report_of_run(
    entries: Iterable[Entry], run: str, *, project: str = "", settings: GoalSettings | None = None
) -> Report:
    """The report of one run, out of ``entries`` of its folder: a goal may have been set before it."""
    return _Run(run, project, settings or GoalSettings()).of(entries)


class _Run:
    def __init__(self, run: str, project: str, settings: GoalSettings) -> None:
        self._settings = settings
        self._report = Report(title=f"Run {run}", project=project, source=f"run {run}")
        self._turns: dict[str, Turn] = {}
        self._open: dict[tuple[str, str], list[Item]] = {}
        """Calls without an end, by session and key."""
        self._alarms: dict[tuple[str, str, str], Alarm] = {}
        self._run = run
        self._goals: list[GoalRecord] = []
        """Up to the end of the run, its own and those of before."""
        self._pursued: set[str] = set()
        """Goals that the run itself has told of."""
        self._sessions: set[str] = {""}
        self._tokens = Curve(name="Tokens", unit="tokens")
        self._cost = Curve(name="Cost", unit="$")

    def of(self, entries: Iterable[Entry]) -> Report:
        report = self._report
        others: list[GoalRecord] = []
        for entry in entries:
            if isinstance(entry.record, GoalRecord):
                others.append(entry.record)
            if entry.run != self._run:
                continue
            self._goals += others
            others.clear()
            self._sessions.add(entry.record.session)
            if entry.restated:
                continue
            if isinstance(entry.record, GoalRecord):
                self._pursued.add(entry.record.goal)
            report.started = report.started or entry.time
            report.ended = max(report.ended, entry.time)
            self._record(entry.time, entry.record)
        report.goals = list(self._told_goals())
        report.curves = [curve for curve in (self._tokens, self._cost) if _tells(curve)]
        for number, turn in enumerate(report.turns, 1):
            turn.number = number
        return report

    def _record(self, time: float, record: Record) -> None:
        report = self._report
        if record.session and record.session not in report.sessions:
            report.sessions.append(record.session)
        match record:
            case RunStarted():
                name = NAMES.get(record.agent, record.argv0)
                folder = f" in {Path(report.project).name}" if report.project else ""
                report.title = f"{name} run{folder}"
                report.source += f", mode {record.mode}, rules {record.preset}"
            case AgentSeen(connected=True):
                report.agent, report.version = record.agent, record.version
            case UserTurn():
                self._begin(time, record.session, "person")
            case CallSeen():
                self._called(time, record)
            case CallEnded():
                self._ended(time, record)
            case LoopFound() if record.verdict != "note":
                self._found(time, record)
            case RecoveryStep():
                self._step(time, record)
            case TurnDone():
                report.tokens += record.tokens
                report.cost = (report.cost or 0.0) + record.cost if record.cost else report.cost
                self._tokens.points.append((time, float(report.tokens)))
                self._cost.points += [(time, report.cost)] if report.cost else []
            case GoalRecord(event=GoalEvent.CONTINUED):
                self._pursue(time, record)
            case GoalRecord() if record.event not in BOOKKEEPING:
                self._item(time, record, Kind.GOAL)
            case Fault():
                self._item(time, record, Kind.ERROR)
            case AgentSeen() if (
                record.reason != "closed"
            ):  # as it does at its end, and before each invocation
                self._item(time, record, Kind.NOTE, title="the connection to the agent ended")
            case RunEnded():
                self._item(time, record, Kind.ERROR if record.code else Kind.NOTE)
            case _:
                pass
        if record.session in self._turns:
            self._turns[record.session].ended = time

    def _called(self, time: float, record: CallSeen) -> None:
        self._report.calls += 1
        detail = f"call {record.count} of this kind" if record.count > 1 else ""
        title = f"{record.tool} {record.key[:8]}"
        item = self._item(time, record, Kind.CALL, title=title, detail=detail, event=record.event)
        if record.verdict in REFUSED:
            self._report.blocked += 1
            title = f"{record.tool} was not run"
            self._item(time, record, Kind.BLOCK, title=title, event=record.event)
        else:
            self._open.setdefault((record.session, record.key), []).append(item)

    def _ended(self, time: float, record: CallEnded) -> None:
        if record.leaked:
            self._report.blocked -= 1
            self._item(time, record, Kind.ERROR, title=f"{record.tool} ran although it was refused")
        waiting = self._open.get((record.session, record.key))
        if waiting:
            item = waiting.pop(0)
            item.ok, item.seconds = record.ok, record.seconds

    def _found(self, time: float, record: LoopFound) -> None:
        said = explanation(record)
        known = (record.session, record.key, record.rule)
        alarm = self._alarms.get(known)
        if alarm is None:
            alarm = self._alarms[known] = Alarm(
                number=len(self._report.alarms) + 1,
                rule=record.rule,
                action=record.verdict,
                time=time,
                event=record.events[-1] if record.events else -1,
                explanation=said,
                evidence=record.events,
                facts={name.replace("_", " "): str(value) for name, value in record.facts.items()},
                session=record.session,
            )
            self._report.alarms.append(alarm)
        else:
            alarm.repeats += 1
        turn = self._turns.get(record.session)
        for item in turn.items if turn else ():
            if item.event in record.events:
                item.alarm = item.alarm or alarm.number
        kind = Kind.NUDGE if record.verdict in HINTS else Kind.ALARM
        self._item(time, record, kind, title=record.rule, detail=said, alarm=alarm.number)

    def _pursue(self, time: float, record: GoalRecord) -> None:
        _, payload = unpack(record)
        self._report.pursued += isinstance(payload, Continued) and payload.counted
        self._begin(time, record.session, "loopguard")
        self._item(time, record, Kind.CONTINUATION)

    def _step(self, time: float, record: RecoveryStep) -> None:
        kind = _STEPS.get(record.step, Kind.NOTE) if record.ok else Kind.ERROR
        self._report.aborted += kind is Kind.ABORT
        if kind is Kind.CONTINUATION:
            self._report.continued += 1
            self._begin(time, record.session, "loopguard")
        self._item(time, record, kind)

    # --- turns and items ---------------------------------------------------------------------

    def _begin(self, time: float, session: str, who: str) -> Turn:
        turn = self._turns[session] = Turn(number=0, time=time, ended=time, who=who, session=session)
        self._report.turns.append(turn)
        return turn

    def _item(
        self, time: float, record: Record, kind: Kind, *, title: str = "", event: int = -1, **more: Any
    ) -> Item:
        title = title or describe(record)[0]
        item = Item(event=event, time=time, kind=kind, title=title, session=record.session, **more)
        session = record.session or next(reversed(self._turns), "")
        turn = self._turns.get(session) or self._begin(time, session, "")
        turn.items.append(item)
        return item

    # --- goals -------------------------------------------------------------------------------

    def _told_goals(self) -> Iterable[Goal]:
        books, _ = fold({}, self._goals)
        for session, book in books.items():
            for result in book.archive:
                if result.id in self._pursued:
                    yield _goal(result_data(result))
            for goal in book.goals:
                if goal.id in self._pursued or session in self._sessions:
                    yield _goal(goal_data(goal, self._settings, self._report.ended))


def _tells(curve: Curve) -> bool:
    return len(curve.points) > 1 and any(value for _, value in curve.points)


def _goal(data: Mapping[str, Any]) -> Goal:
    reason = "; ".join(filter(None, [data.get("stop_title"), data.get("blocker"), data.get("suggestion")]))
    return Goal(
        objective=data["objective"],
        state=data["state"],
        reason=reason,
        checks=tuple(data.get("checks") or ()),
        budgets=[
            Budget(name=name, used=data[key]["used"], limit=data[key]["limit"] or 0, unit=unit)
            for key, (name, unit) in BUDGETS.items()
            if key in data and (data[key]["used"] or data[key]["limit"])
        ],
    )
