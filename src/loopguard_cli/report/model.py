"""What a report shows, as plain data. Times are Unix times in seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What an item of the timeline is; the value is its word on the page and its class."""

    CALL = "call"
    TEXT = "text"
    REASONING = "reasoning"
    ALARM = "alarm"
    """A loop was found."""
    BLOCK = "block"
    ABORT = "abort"
    CONTINUATION = "continuation"
    NUDGE = "nudge"
    ERROR = "error"
    GOAL = "goal"
    NOTE = "note"


MARKED = frozenset([Kind.ALARM, Kind.BLOCK, Kind.ABORT, Kind.CONTINUATION, Kind.NUDGE, Kind.ERROR, Kind.GOAL])
"""Kinds a reader looks for."""


HINTS = frozenset(["nudge", "warn"])
"""Actions (`Alarm.action`) that stop nothing."""


class Item(msgspec.Struct, kw_only=True):
    """One thing that happened."""

    event: int
    """Its number, by which alarms name their evidence; negative: it has none."""
    time: float
    kind: Kind
    title: str
    detail: str = ""
    """Plain words below the title; never content."""
    session: str = ""
    ok: bool | None = None
    """Calls: how they ended; None: they did not."""
    seconds: float | None = None
    alarm: int = 0
    """Number of the alarm it set off or proves (`Alarm.number`), 0: none."""
    content: tuple[tuple[str, str], ...] = ()
    """Name and text of what was written, called or returned; only when asked for, and redacted."""


class Turn(msgspec.Struct, kw_only=True):
    """From a message to the agent being idle again."""

    number: int
    time: float
    ended: float
    who: str
    """``person``, ``loopguard``, ``parent``, ``host``."""
    session: str = ""
    text: str = ""
    """Content; only when asked for, and redacted."""
    items: list[Item] = []


class Alarm(msgspec.Struct, kw_only=True):
    """A loop, or what may become one: why, and what was done."""

    number: int
    rule: str
    action: str
    time: float
    event: int
    explanation: str
    evidence: tuple[int, ...] = ()
    """Events that prove it."""
    facts: dict[str, str] = {}
    """Thresholds and measured values by name."""
    repeats: int = 1
    """How often it was raised about the same thing."""
    session: str = ""
    note: str = ""
    """That the verdict was weaker than it should be, or escalated; in words."""


class Curve(msgspec.Struct, kw_only=True):
    """A sum over time. Points are (Unix time, sum), both rising."""

    name: str
    unit: str
    """``tokens`` or ``$``."""
    points: list[tuple[float, float]] = []


class Budget(msgspec.Struct, kw_only=True):
    """How much of one of a goal's budgets is used."""

    name: str
    used: float
    limit: float
    """0: no limit."""
    unit: str = ""
    """Empty, ``s``, ``tokens`` or ``$``."""


class Goal(msgspec.Struct, kw_only=True):
    """A goal and how far it got."""

    objective: str
    state: str
    reason: str = ""
    budgets: list[Budget] = []
    checks: tuple[str, ...] = ()


class Report(msgspec.Struct, kw_only=True):
    """One session, run or trace."""

    title: str
    agent: str = ""
    version: str = ""
    """The agent's."""
    project: str = ""
    source: str = ""
    """Where it was read."""
    started: float = 0.0
    ended: float = 0.0
    hypothetical: bool = False
    """It ran without a guard: alarms say what a guard would have done."""
    has_content: bool = False
    redacted: int = 0
    """Pieces of content that were blanked."""
    sessions: list[str] = []
    calls: int = 0
    tokens: int = 0
    cost: float | None = None
    """US dollars; None: the agent did not say."""
    alarms: list[Alarm] = []
    blocked: int = 0
    aborted: int = 0
    continued: int = 0
    """Times that the agent was told to go on after a loop."""
    pursued: int = 0
    """Times that it was told to go on with a goal."""
    goals: list[Goal] = []
    curves: list[Curve] = []
    turns: list[Turn] = []
    left_out: int = 0
    """Items beyond what a page can hold."""
    notes: list[str] = []
    """What a reader has to know about the source."""


def names(alarms: Iterable[Alarm]) -> dict[int, str]:
    """What a reader calls each alarm, by its number: those of one kind are counted by themselves."""
    counts: Counter[str] = Counter()
    named = {}
    for alarm in alarms:
        kind = {"nudge": "hint", "warn": "warning"}.get(alarm.action, "loop")
        counts[kind] += 1
        named[alarm.number] = f"{kind} {counts[kind]}"
    return named
