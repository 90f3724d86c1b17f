"""What the ledger says about runs, sessions and calls: folds for people to look at.

They count what was recorded, so they also speak for runs that have ended or were killed.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from loopguard_cli.core.records import (
    AgentSeen,
    CallEnded,
    CallSeen,
    Fault,
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
from loopguard_cli.store.lines import Entry

REFUSED = frozenset({"block", "abort", "stop"})
"""Verdicts about a call after which it did not run."""


class SessionSummary(msgspec.Struct, kw_only=True):
    """One session within one run."""

    session: str
    calls: int = 0
    blocks: int = 0
    aborts: int = 0
    nudges: int = 0
    continuations: int = 0
    """Prompts by which a recovery went on."""
    turns: int = 0
    """Messages of a person."""
    tokens: int = 0
    cost: float = 0.0
    last: float = 0.0
    """Unix time of its newest record."""


class RunSummary(msgspec.Struct, kw_only=True):
    """One run."""

    run: str
    agent: str = ""
    agent_version: str = ""
    program: str = ""
    mode: str = ""
    preset: str = ""
    since: float = 0.0
    """Unix time of its first record."""
    last: float = 0.0
    """Unix time of its newest record."""
    ended: float | None = None
    code: int | None = None
    """Exit status; None: it did not end by itself (it runs, or was killed)."""
    reason: str = ""
    connected: bool = False
    """The agent said hello at least once: it was guarded."""
    loops: dict[str, int] = {}
    """Findings by rule."""
    faults: int = 0
    lost: int = 0
    """Records that could not be written."""
    sessions: dict[str, SessionSummary] = {}

    def total(self, name: str) -> float:
        """Sum of one number over the sessions."""
        return float(sum(getattr(session, name) for session in self.sessions.values()))

    def add(self, entry: Entry) -> None:
        record = entry.record
        self.since = self.since or entry.time
        self.last = max(self.last, entry.time)
        match record:
            case RunStarted():
                self.since = entry.time
                self.agent, self.program = record.agent, record.argv0
                self.mode, self.preset = record.mode, record.preset
            case AgentSeen(connected=True):
                self.connected = True
                self.agent, self.agent_version = record.agent or self.agent, record.version
            case RunEnded():
                self.ended, self.code, self.reason = entry.time, record.code, record.reason
            case GuardChanged(operation="guard.mode", accepted=True):
                self.mode = record.detail or self.mode
            case LoopFound():
                self.loops[record.rule] = self.loops.get(record.rule, 0) + 1
            case Fault():
                self.faults += 1
            case RecordsLost():
                self.lost += record.count
            case _:
                pass
        if record.session:
            session = self.sessions.setdefault(record.session, SessionSummary(session=record.session))
            session.last = entry.time
            _count(session, record)


def _count(session: SessionSummary, record: Record) -> None:
    match record:
        case CallSeen():
            session.calls += 1
            session.blocks += record.verdict in REFUSED
        case LoopFound(verdict="nudge"):
            session.nudges += 1
        case LoopFound(verdict="abort" | "stop"):
            session.aborts += 1
        case RecoveryStep(step="continue"):
            session.continuations += 1
        case UserTurn():
            session.turns += 1
        case TurnDone():
            session.tokens += record.tokens
            session.cost += record.cost
        case _:
            pass


def runs(entries: Iterable[Entry]) -> list[RunSummary]:
    """All runs that launched an agent, in the order in which they began."""
    found: dict[str, RunSummary] = {}
    launched: set[str] = set()
    for entry in entries:
        if isinstance(entry.record, RunStarted):
            launched.add(entry.run)
        elif entry.restated:
            continue
        found.setdefault(entry.run, RunSummary(run=entry.run)).add(entry)
    return [summary for run, summary in found.items() if run in launched]


class CallSummary(msgspec.Struct, kw_only=True):
    """All calls with one key in one session."""

    session: str
    tool: str
    key: str
    count: int = 0
    """As the guard counted at the newest call."""
    blocked: bool = False
    """The newest one was refused."""
    last_seen: float = 0.0
    """Unix time."""
    ok: bool | None = None
    """How the newest one that ran ended; None: none has."""
    outcome: str = ""
    """Digest of what it returned last."""


def calls(entries: Iterable[Entry], run: str) -> list[CallSummary]:
    """The calls of one run, the one made last at the end."""
    found: dict[tuple[str, str], CallSummary] = {}
    for entry in entries:
        record = entry.record
        if entry.run != run or entry.restated:
            continue
        if isinstance(record, CallSeen):
            place = (str(record.session), str(record.key))
            new = CallSummary(session=record.session, tool=record.tool, key=record.key)
            call = found[place] = found.pop(place, new)
            call.count, call.last_seen = record.count, entry.time
            call.blocked = record.verdict in REFUSED
        elif isinstance(record, CallEnded) and (ended := found.get((record.session, record.key))):
            ended.ok, ended.outcome = record.ok, record.outcome
            ended.blocked = ended.blocked and not record.leaked
    return list(found.values())
