"""Lines of ``loopguard history`` and rows of ``loopguard inspect``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from loopguard_cli.cli.render.page import Block, Cell, Line, Table, Tone, line
from loopguard_cli.cli.render.texts import ago, cut, stamp
from loopguard_cli.core.findings import Action, Finding
from loopguard_cli.core.ids import CallKey
from loopguard_cli.core.measures import counted, duration, money, number
from loopguard_cli.core.records import (
    AgentSeen,
    CallEnded,
    CallSeen,
    Fault,
    Generation,
    GoalRecord,
    GuardChanged,
    LoopFound,
    Record,
    RecordsLost,
    RecoveryStep,
    RunEnded,
    RunStarted,
    TurnDone,
    UserTurn,
)
from loopguard_cli.core.settings import Locale
from loopguard_cli.core.wording import explain
from loopguard_cli.store.lines import Entry
from loopguard_cli.store.summary import REFUSED, CallSummary


class InspectView(msgspec.Struct, kw_only=True):
    """Everything ``loopguard inspect`` tells."""

    run: str
    live: bool
    """Asked of the run itself; else read from the ledger."""
    calls: list[CallSummary]
    """The one made last at the end."""


RUN_CHARS = 8
"""As long as the id of a run; that of a command which was typed beside one is longer."""
_QUIET_GOAL_EVENTS = frozenset({"claimed", "checkpoint", "attached", "snapshot"})
_VERDICT_TONES = {"note": Tone.QUIET, "warn": Tone.WARN, "nudge": Tone.WARN}
_RECOVERY_STEPS = {
    "abort": "turn cut off",
    "idle": "agent confirmed idle",
    "trim": "looped text removed",
    "continue": "told to go on",
    "continued": "goes on",
    "cancelled": "recovery given up",
    "failed": "recovery failed",
}


def notable(record: Record) -> bool:
    """Worth a line without ``--all``: no single allowed calls, no bookkeeping."""
    match record:
        case CallSeen() | CallEnded() | TurnDone() | Generation():
            return False
        case RecoveryStep(step="idle" | "continued", ok=True):
            return False
        case GoalRecord():
            return record.event not in _QUIET_GOAL_EVENTS
        case _:
            return True


def history_line(entry: Entry, now: float) -> Line:
    text, tone = describe(entry.record)
    session = f"  {entry.record.session}" if entry.record.session else ""
    return line(
        Cell(stamp(entry.time, now), Tone.QUIET),
        Cell(f"  {entry.run[:RUN_CHARS]}", Tone.QUIET),
        Cell(session, Tone.QUIET),
        "  ",
        Cell(cut(text, 400), tone),
    )


def history_json(entry: Entry) -> str:
    """One object on one line: the ledger's own names, with the record's fields beside them."""
    record = msgspec.to_builtins(entry.record)
    kind = record.pop("type")
    data: dict[str, Any] = {"seq": entry.seq, "time": entry.time, "run": entry.run, "type": kind, **record}
    return msgspec.json.encode(data).decode()


def describe(record: Record) -> tuple[str, Tone]:
    """A record in words."""
    match record:
        case RunStarted():
            return f"run of {record.argv0} started, mode {record.mode}, preset {record.preset}", Tone.STRONG
        case RunEnded():
            why = f": {record.reason}" if record.reason else ""
            return f"run ended with status {record.code}{why}", Tone.WARN if record.code else Tone.STRONG
        case AgentSeen(connected=True):
            return f"{record.agent} {record.version}".rstrip() + " is guarded", Tone.GOOD
        case AgentSeen(reason="closed"):  # as it does at its end, and before each new invocation
            return f"{record.agent or 'agent'} closed its connection", Tone.QUIET
        case AgentSeen():
            return f"agent not guarded: {record.reason or 'connection lost'}", Tone.BAD
        case LoopFound():
            return _loop(record), _VERDICT_TONES.get(record.verdict, Tone.BAD)
        case CallSeen():
            refused = record.verdict in REFUSED
            text = f"{record.tool} {record.key[:8]} call {record.count}{' refused' if refused else ''}"
            return text, Tone.BAD if refused else Tone.PLAIN
        case CallEnded():
            how = "ok" if record.ok else "failed"
            text = f"{record.tool} {record.key[:8]} {how} after {duration(record.seconds)}"
            return (f"{text}; it ran although refused", Tone.BAD) if record.leaked else (text, Tone.PLAIN)
        case RecoveryStep():
            step = _RECOVERY_STEPS.get(record.step, record.step)
            return (
                f"{step}{f': {record.detail}' if record.detail else ''}",
                Tone.PLAIN if record.ok else Tone.BAD,
            )
        case _:
            return _describe_rest(record)


def _describe_rest(record: Record) -> tuple[str, Tone]:
    match record:
        case UserTurn():
            return "message from a person", Tone.PLAIN
        case TurnDone():
            spent = [counted(record.calls, "call"), counted(record.tokens, "token")]
            return (
                f"turn ended: {', '.join(spent)}{f', {money(record.cost)}' if record.cost else ''}",
                Tone.PLAIN,
            )
        case GuardChanged():
            what = f"{record.operation} {record.detail}".strip()
            said = "" if record.accepted else " refused"
            return f"{what} ({record.surface}){said}", Tone.PLAIN if record.accepted else Tone.WARN
        case Fault():
            return f"{record.component} failed with {record.error} and was switched off", Tone.BAD
        case GoalRecord():
            return (
                f"goal {record.goal[:8]} {record.event}{f': {record.detail}' if record.detail else ''}",
                Tone.PLAIN,
            )
        case RecordsLost():
            return f"{counted(record.count, 'record')} could not be written", Tone.BAD
        case _:
            return type(record).__name__, Tone.QUIET


def explanation(record: LoopFound) -> str:
    """Why it was a loop, in a sentence."""
    finding = Finding(
        rule=record.rule,
        proposes=Action.NOTE,
        identity=record.key,
        count=record.count,
        events=record.events,
        facts=record.facts,
        tool=record.tool,
        key=CallKey(record.key),
    )
    return explain(finding, Locale.EN)


def _loop(record: LoopFound) -> str:
    explained = explanation(record)
    # The verdict comes first: a narrow window cuts the end.
    return f"{record.rule} -> {record.verdict}: {explained.rstrip('.')}"


def calls_page(calls: Sequence[CallSummary], now: float, *, title: str) -> list[Block]:
    """Calls, the one made last at the end."""
    rows = []
    several = len({call.session for call in calls}) > 1
    for call in calls:
        row = [
            Cell(ago(call.last_seen, now), Tone.QUIET),
            Cell(call.tool),
            Cell(call.key[:8], Tone.QUIET),
            Cell(number(call.count), Tone.WARN if call.count > 1 else Tone.PLAIN),
            _outcome(call),
        ]
        rows.append([*row, Cell(call.session, Tone.QUIET)] if several else row)
    if not rows:
        return [line(f"{title}: no calls yet.")]
    columns = ("last", "tool", "key", ">count", "outcome", *(("session",) if several else ()))
    return [line(Cell(title, Tone.STRONG)), Table(columns, rows)]


def _outcome(call: CallSummary) -> Cell:
    """What came of a call, and whether another one like it would be refused."""
    if call.ok is None:
        return Cell("blocked", Tone.BAD) if call.blocked else Cell("no answer yet", Tone.QUIET)
    outcome = "ok" if call.ok else "error"
    if call.blocked:
        return Cell(f"{outcome}, blocked now", Tone.BAD)
    return Cell(outcome, Tone.GOOD if call.ok else Tone.WARN)
