"""What status, list and history answer to a program. Times are Unix times in seconds."""

from __future__ import annotations

from typing import TypedDict


class Budget(TypedDict):
    """What was used of what may be used at most (0: no limit)."""

    used: float | None
    limit: float


class UsageData(TypedDict):
    """Tokens, and their price in US dollars where the agent says it."""

    input: int
    output: int
    reasoning: int
    cache_read: int
    cache_write: int
    cost: float | None


class Counters(TypedDict):
    """How often in a row something did not go well."""

    no_progress: int
    no_tool: int
    format_failures: int
    check_failures: int
    prompt_failures: int


class CheckpointData(TypedDict):
    at: float
    text: str


class GoalData(TypedDict):
    """A goal that has not been achieved yet."""

    id: str
    objective: str
    state: str
    stop_reason: str
    stop_title: str
    suggestion: str
    blocker: str
    audit: str
    success: str
    constraints: str
    mode: str
    checks: list[str]
    turns: Budget
    context_tokens: Budget
    total_tokens: Budget
    seconds: Budget
    cost: Budget
    usage: UsageData
    last_progress: float | None
    counters: Counters
    checkpoint: CheckpointData | None
    status: str
    created: float


class ResultData(TypedDict):
    """A goal that was achieved."""

    id: str
    objective: str
    state: str
    evidence: str
    finished: float
    turns: Budget
    context_tokens: Budget
    usage: UsageData
    seconds: Budget
    checkpoint: CheckpointData | None
    status: str


class ListedGoal(TypedDict):
    number: int
    id: str
    objective: str
    place: str
    state: str
    stop_reason: str
    reason: str


class ListedResult(TypedDict):
    id: str
    objective: str
    state: str
    finished: float


class ListData(TypedDict):
    """The goals of a session, and those that were achieved."""

    ordered: bool
    goals: list[ListedGoal]
    archive: list[ListedResult]


class HappenedData(TypedDict):
    at: float
    kind: str
    detail: str


class HistoryData(TypedDict):
    """What happened to one goal, oldest first."""

    id: str
    objective: str
    checkpoint: CheckpointData | None
    events: list[HappenedData]
