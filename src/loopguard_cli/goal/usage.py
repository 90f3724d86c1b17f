"""Token accounting: the largest context and the sums of one budget window.

A message's figures arrive many times while it streams, each time as totals so far. Only growth is
added, except when the cost grew from a known one: then another request was finished inside the same
message, and its figures are added in full. A message that belongs to an earlier window (before a
resume, a replacement, a compaction) never refills the present one.
"""

from __future__ import annotations

from collections import OrderedDict

from msgspec.structs import replace

from loopguard_cli.core.events import UsageReported
from loopguard_cli.core.ids import MessageId
from loopguard_cli.goal.model import Meters, Usage

WINDOW_MESSAGES = 2000
KNOWN_MESSAGES = 20_000

_FIELDS = ("input", "output", "reasoning", "cache_read", "cache_write")


class Window:
    """The messages of one budget window of one session's focused goal."""

    def __init__(self) -> None:
        self.owner = ("", 0)
        """Goal and run whose window this is."""
        self._figures: OrderedDict[MessageId, UsageReported] = OrderedDict()
        self._known: OrderedDict[MessageId, None] = OrderedDict()

    def open(self, goal: str, run: int) -> None:
        """Begin a new window unless it is open already."""
        if self.owner != (goal, run):
            self.owner = (goal, run)
            self.forget()

    def forget(self) -> None:
        """The messages so far belong to the past (a compaction came between)."""
        self._figures.clear()

    def saw(self, message: MessageId) -> None:
        """Remember that ``message`` exists, whether or not a goal counts it."""
        self._known[message] = None
        if len(self._known) > KNOWN_MESSAGES:
            self._known.popitem(last=False)

    def add(self, meters: Meters, event: UsageReported, now: float, *, progress: bool) -> Meters:
        """``meters`` after one report."""
        before = self._figures.get(event.message)
        if before is None and event.message in self._known:
            return meters
        self.saw(event.message)
        report = _sane(event)
        self._figures[event.message] = report if before is None else _larger(before, report)
        self._figures.move_to_end(event.message)
        if len(self._figures) > WINDOW_MESSAGES:
            self._figures.popitem(last=False)
        grown = report.output > (before.output if before else 0)
        return replace(
            meters,
            context_tokens=max(meters.context_tokens, context_size(report)),
            usage=_sum(meters.usage, before, report) if event.assistant else meters.usage,
            last_progress=now if progress and event.assistant and grown else meters.last_progress,
        )


def context_size(event: UsageReported) -> int:
    """Tokens of one message: what the agent calls the total, else all parts, cache included."""
    return event.total if event.total > 0 else sum(getattr(event, name) for name in _FIELDS)


def _sane(event: UsageReported) -> UsageReported:
    names = (*_FIELDS, "total")
    cost = event.cost if event.cost is not None and 0 <= event.cost < 1e9 else None
    return replace(event, cost=cost, **{name: max(0, getattr(event, name)) for name in names})


def _larger(before: UsageReported, report: UsageReported) -> UsageReported:
    if _next_request(before, report):
        return report
    best = {name: max(getattr(before, name), getattr(report, name)) for name in _FIELDS}
    costs = [c for c in (before.cost, report.cost) if c is not None]
    return replace(report, cost=max(costs, default=None), **best)


def _next_request(before: UsageReported, report: UsageReported) -> bool:
    return bool(before.cost) and report.cost is not None and report.cost > (before.cost or 0.0)


def _sum(usage: Usage, before: UsageReported | None, report: UsageReported) -> Usage:
    whole = before is None or _next_request(before, report)
    sums: dict[str, int] = {}
    for name in _FIELDS:
        value = getattr(report, name)
        sums[name] = getattr(usage, name) + (value if whole else max(0, value - getattr(before, name)))
    cost = usage.cost
    if report.cost is not None:
        known = (before.cost if before else None) or 0.0
        cost = round((cost or 0.0) + max(0.0, report.cost - known), 10)
    return Usage(**sums, cost=cost)


def whole(value: object) -> int:
    """A number of tokens as an agent reports it; what is none counts as 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
