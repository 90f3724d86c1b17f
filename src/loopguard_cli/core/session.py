"""What the hub knows about one session besides its detectors: identity, turn, usage."""

from __future__ import annotations

from collections import OrderedDict

from loopguard_cli.core.events import (
    AgentSwitched,
    Event,
    Origin,
    ReplyStarted,
    SessionSeen,
    Status,
    StatusChanged,
    ToolAsked,
    ToolStarted,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import NO_SESSION, CallId, MessageId, SessionId

REMEMBERED_MESSAGES = 64
"""Messages whose usage figures may still grow."""

REMEMBERED_CALLS = 256
"""Calls that may still be asked, started or answered."""


class Usage:
    """Sums over messages whose figures are reported as totals so far."""

    def __init__(self) -> None:
        self.tokens = 0
        self.cost = 0.0
        self._seen: OrderedDict[MessageId, tuple[int, float]] = OrderedDict()

    def add(self, event: UsageReported) -> None:
        total = event.total or (
            event.input + event.output + event.reasoning + event.cache_read + event.cache_write
        )
        tokens, cost = self._seen.get(event.message, (0, 0.0))
        now_cost = event.cost or 0.0
        self.tokens += max(0, total - tokens)
        self.cost += max(0.0, now_cost - cost)
        self._seen[event.message] = (max(total, tokens), max(now_cost, cost))
        self._seen.move_to_end(event.message)
        while len(self._seen) > REMEMBERED_MESSAGES:
            self._seen.popitem(last=False)


class SessionState:
    """The fold of one session's events, without any judgement."""

    def __init__(self, session: SessionId) -> None:
        self.id = session
        self.parent = NO_SESSION
        self.status = Status.IDLE
        self.agent = ""
        self.model = ""
        self.variant = ""
        self.newest_user = MessageId("")
        self.turns = 0
        """Real user messages."""
        self.calls = 0
        self.usage = Usage()
        self.muted = False
        self.stopped = False
        """Cut off for good; a real user message opens it again."""
        self._calls: OrderedDict[CallId, None] = OrderedDict()

    def evolve(self, event: Event) -> None:
        match event:  # what comes most often first
            case ToolAsked() | ToolStarted():
                if event.call not in self._calls:
                    self.calls += 1
                    self._calls[event.call] = None
                    while len(self._calls) > REMEMBERED_CALLS:
                        self._calls.popitem(last=False)
            case UsageReported():
                self.usage.add(event)
            case SessionSeen():
                self.parent = event.parent or self.parent
            case UserSpoke():
                self.newest_user = event.message
                if event.origin is Origin.PERSON:
                    self.turns += 1
                    self.stopped = False
                self._runs_under(event.agent, event.model, event.variant)
            case ReplyStarted() if not event.summary:
                self._runs_under(event.agent, event.model, event.variant)
            case AgentSwitched():
                self.agent = event.agent
            case StatusChanged():
                self.status = event.status
            case _:
                pass

    def totals(self) -> dict[str, float]:
        """Calls, turns, tokens and cost so far."""
        return {
            "calls": self.calls,
            "turns": self.turns,
            "tokens": self.usage.tokens,
            "cost": self.usage.cost,
        }

    def _runs_under(self, agent: str, model: str, variant: str) -> None:
        self.agent = agent or self.agent
        self.model = model or self.model
        self.variant = variant or self.variant
