"""What a goal is: its state, its limits, and the one table of reasons for which it can stand still.

Everything here is frozen. State changes only by folding records (`goal.evolve`); the diagram and
the table in docs/goals.md are generated from `STOPS` and `MOVES` (`goal.diagram`).

Times are seconds since the epoch, durations are seconds, costs are US dollars.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from loopguard_cli.core.ids import MessageId

MAX_OBJECTIVE = 4000
MAX_CRITERIA = 2000
MAX_BLOCKER = 2000
MAX_EVIDENCE = 8000
MAX_ARGUMENTS = 32_768
MAX_LIVE_GOALS = 100
MAX_ARCHIVE = 10
MAX_HISTORY = 20
MAX_DETAIL = 400
MAX_CHECKPOINTS = 5
MAX_CHECKPOINT = 280


class State(StrEnum):
    """What a person sees. Derived from the stop reason, never stored."""

    ACTIVE = "active"
    PAUSED = "paused"
    BLOCKED = "blocked"
    NONE = "none"
    ACHIEVED = "achieved"


class Mode(StrEnum):
    NORMAL = "normal"
    ORDERED = "ordered"
    """One goal whose steps are to be finished one before the next. Not a sequence of goals."""


class StopReason(StrEnum):
    """Why a goal stands still; empty while it is in force."""

    NONE = ""
    MAX_TURNS = "max_turns"
    MAX_DURATION = "max_duration"
    MAX_TOKENS = "max_tokens"
    MAX_TOTAL_TOKENS = "max_total_tokens"
    MAX_COST = "max_cost"
    BUDGET_WRAPUP = "budget_wrapup"
    NO_PROGRESS = "no_progress"
    NO_TOOL_CALLS = "no_tool_calls"
    FORMAT_FAILURES = "format_failures"
    CHECK_FAILURES = "check_failures"
    PROMPT_FAILURES = "prompt_failures"
    USER_PAUSED = "user_paused"
    USER_INTERVENTION = "user_intervention"
    USER_INTERRUPTED = "user_interrupted"
    PERMISSION_REJECTED = "permission_rejected"
    PLAN_AGENT = "plan_agent"
    PROVIDER_ERROR = "provider_error"
    ATTACHMENT_ERROR = "attachment_error"
    BLOCKED = "blocked"
    AUDIT_REJECTED = "audit_rejected"
    CLAIM_PERSIST_FAILED = "claim_persist_failed"
    TERMINAL_PERSIST_FAILED = "terminal_persist_failed"
    RECOVERED = "recovered_after_restart"
    BACKGROUNDED = "backgrounded"
    QUEUED = "queued"


class Stop(msgspec.Struct, frozen=True):
    """One row of the table of stop reasons."""

    title: str
    """For a person, in lower case."""
    cause: str
    action: str
    """What the person can do."""
    limit: bool = False
    """A budget is used up: only a person opens a new one, and focus does not."""


_RESUME = "resume for a fresh budget, or clear"
_COMPACT = f"compact the conversation, then {_RESUME}"
_REPAIR = "look at the status, then resume"
_GO_ON = "resume or clear"

STOPS: dict[StopReason, Stop] = {
    StopReason.MAX_TURNS: Stop("max turns reached", "continuations used up", _RESUME, limit=True),
    StopReason.MAX_DURATION: Stop("max duration reached", "time in force used up", _RESUME, limit=True),
    StopReason.MAX_TOKENS: Stop("max context tokens reached", "one request too large", _COMPACT, limit=True),
    StopReason.MAX_TOTAL_TOKENS: Stop("max total tokens reached", "tokens used up", _RESUME, limit=True),
    StopReason.MAX_COST: Stop("max cost reached", "money used up", _RESUME, limit=True),
    StopReason.BUDGET_WRAPUP: Stop(
        "budget wrap-up requested", "requests grow too large", _COMPACT, limit=True
    ),
    StopReason.NO_PROGRESS: Stop("no progress", "short replies without anything new", _REPAIR),
    StopReason.NO_TOOL_CALLS: Stop("no tool calls", "turns of talk without any tool", _REPAIR),
    StopReason.FORMAT_FAILURES: Stop("format validation failures", "claims without proof", _REPAIR),
    StopReason.CHECK_FAILURES: Stop("completion checks keep failing", "claims refuted", _REPAIR),
    StopReason.PROMPT_FAILURES: Stop("auto-continue failures", "prompts not delivered", _REPAIR),
    StopReason.USER_PAUSED: Stop("paused", "a person or the agent paused it", _GO_ON),
    StopReason.USER_INTERVENTION: Stop("user intervention", "a person wrote a message", _GO_ON),
    StopReason.USER_INTERRUPTED: Stop("user interrupted", "a turn was aborted", _GO_ON),
    StopReason.PERMISSION_REJECTED: Stop("permission rejected", "a permission was denied", _GO_ON),
    StopReason.PLAN_AGENT: Stop("plan agent active", "a read-only mode", "switch the agent, then resume"),
    StopReason.PROVIDER_ERROR: Stop("provider error", "the agent reported an error", _REPAIR),
    StopReason.ATTACHMENT_ERROR: Stop("attachment resolution error", "a file could not be read", _REPAIR),
    StopReason.BLOCKED: Stop("blocked", "the agent lacks something", "remove the blocker, then resume"),
    StopReason.AUDIT_REJECTED: Stop("audit rejected", "the auditor refused the claim", _REPAIR),
    StopReason.CLAIM_PERSIST_FAILED: Stop(
        "continuation claim persistence failed", "the ledger could not be written", _REPAIR
    ),
    StopReason.TERMINAL_PERSIST_FAILED: Stop(
        "terminal persistence failed", "the outcome could not be written", _REPAIR
    ),
    StopReason.RECOVERED: Stop("recovered after restart", "loopguard was started anew", _GO_ON),
    StopReason.BACKGROUNDED: Stop("backgrounded", "another goal has the focus", "focus it"),
    StopReason.QUEUED: Stop("queued", "waits for its turn in the sequence", "focus it, or wait"),
}


EXIT_ACHIEVED, EXIT_BLOCKED, EXIT_STOPPED, EXIT_REJECTED = 0, 81, 82, 83


def exit_code(reason: StopReason) -> int:
    """How a run says that its goal ended with ``reason``; unfinished goals count as stopped."""
    match reason:
        case StopReason.BLOCKED:
            return EXIT_BLOCKED
        case StopReason.FORMAT_FAILURES | StopReason.CHECK_FAILURES | StopReason.AUDIT_REJECTED:
            return EXIT_REJECTED
        case _:
            return EXIT_STOPPED


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Budgets and patience of one goal. Defaults: the replaced plugin's."""

    turns: int = 10
    """Continuations."""
    seconds: float = 900.0
    """Time in force; the clock stops while the goal is stopped."""
    context_tokens: int = 200_000
    """Largest single request."""
    total_tokens: int = 0
    """Sum over all requests; 0 = no limit."""
    cost: float = 0.0
    """0 = no limit."""
    cooldown: float = 1.5
    """Least time between two continuations."""
    low_output: int = 50
    """Output tokens strictly below this are a low turn."""
    low_output_turns: int = 2
    talk_turns: int = 2
    """0 = turns without tools are fine."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Sums since the budget window opened."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float | None = None

    @property
    def total(self) -> int:
        return self.input + self.output + self.reasoning + self.cache_read + self.cache_write


class Meters(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is counted within one budget window."""

    context_tokens: int = 0
    """Largest message so far, not a sum."""
    usage: Usage = Usage()
    last_progress: float = 0.0
    no_progress: int = 0
    no_tool: int = 0
    format_failures: int = 0
    check_failures: int = 0
    prompt_failures: int = 0
    fruitless: int = 0
    """Turns in a row that brought nothing; the pace slows with them."""


class TurnContext(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Agent, model and variant under which the goal was set; every prompt keeps them."""

    agent: str = ""
    model: str = ""
    variant: str = ""


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A command that must succeed before a completion is accepted."""

    command: str
    timeout: float = 600.0
    directory: str = ""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One line of history."""

    at: float
    kind: str
    detail: str


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    at: float
    text: str


class Goal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One live goal."""

    id: str
    objective: str
    success: str = ""
    constraints: str = ""
    mode: Mode = Mode.NORMAL
    checks: tuple[Check, ...] = ()
    limits: Limits = Limits()
    context: TurnContext = TurnContext()
    run: int = 1
    """Grows with every resume; what was begun under another run is dropped."""
    revision: int = 0
    """Grows with every record; tells whether anything happened meanwhile."""
    stop: StopReason = StopReason.NONE
    beneath: StopReason = StopReason.NONE
    """Why it stood still before it was put in the background."""
    blocker: str = ""
    turns: int = 0
    handoff_sent: bool = False
    meters: Meters = Meters()
    status: str = ""
    """Newest remark about the goal, for the status."""
    created: float = 0.0
    elapsed: float = 0.0
    """Time in force, up to ``since``."""
    since: float = 0.0
    """In force since; 0 while stopped."""
    seen: float = 0.0
    """Time of the newest record; after a crash the clock is stopped there."""
    continued: float = 0.0
    """When the newest continuation was sent; 0: none in this window."""
    claim: str = ""
    """Message for which a prompt was claimed; one prompt for each, ever."""
    pending: bool = False
    """A claimed prompt whose delivery is not known yet."""
    consumed: MessageId = MessageId("")
    """The message that completed the predecessor; it says nothing about this goal."""
    last_message: MessageId = MessageId("")
    last_text: str = ""
    """Digest of the summary of the newest text, to tell whether it changed."""
    checkpoints: tuple[Checkpoint, ...] = ()
    history: tuple[Entry, ...] = ()

    @property
    def active(self) -> bool:
        return self.stop is StopReason.NONE

    @property
    def state(self) -> State:
        if self.stop is StopReason.NONE:
            return State.ACTIVE
        return State.BLOCKED if self.stop is StopReason.BLOCKED else State.PAUSED

    def time_in_force(self, now: float) -> float:
        """Seconds the goal has been in force in this window."""
        return self.elapsed + (max(0.0, now - self.since) if self.since else 0.0)


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finished goal."""

    id: str
    objective: str
    evidence: str = ""
    finished: float = 0.0
    turns: int = 0
    limits: Limits = Limits()
    meters: Meters = Meters()
    elapsed: float = 0.0
    status: str = ""
    checkpoints: tuple[Checkpoint, ...] = ()
    history: tuple[Entry, ...] = ()


class Book(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All goals of one session, in the order of their creation."""

    goals: tuple[Goal, ...] = ()
    focus: str = ""
    ordered: bool = False
    archive: tuple[Result, ...] = ()
    last_result: Result | None = None

    @property
    def focused(self) -> Goal | None:
        return self.find(self.focus) if self.focus else None

    def find(self, goal: str) -> Goal | None:
        return next((g for g in self.goals if g.id == goal), None)

    def __iter__(self) -> Iterator[Goal]:
        return iter(self.goals)


def shorten(text: str, limit: int) -> str:
    """``text`` on one line, cut to ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
