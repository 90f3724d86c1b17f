"""Waiting as a state of its own, and the rule for waiting in vain (``poll-unchanged``).

A call waits when its tool or command lets time pass or asks how something is getting on, when time
was let pass since its last time, or when the answer itself says that something is still under way.
Waiting is not a loop: growing pauses never are, and unchanged answers only become one late, the
later the slower the polling. Anything new that another call brings starts the count afresh.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.core.ids import CallKey
from loopguard_cli.detect.agreement import EQUAL
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.journal import Line
from loopguard_cli.detect.outcomes import says_dead
from loopguard_cli.detect.rule import Plain, Scene
from loopguard_cli.detect.tools import EDIT, WAIT

QUICK, SLOW = 10.0, 60.0
"""Seconds between polls: below the first it hurries, above the second it takes its time."""

HURRIED = 5.0
"""Seconds: whoever asks again within them, after an answer that promises nothing, does not wait."""

POLLS_QUICK, POLLS_PACED, POLLS_SLOW = 10, 20, 60
"""Unchanged polls at such a pace before the agent is asked whether it makes sense."""

POLLS_HOURS, HOUR = 16, 3_600.0
"""Slow ones over more than an hour, if the answer does not say that something is under way."""

SURE_DEAD, SURE_QUICK, SURE_HOURS = 5, 10, 8
"""Polls after the first nudge before more is justified: of what is dead by its own answer, at such paces."""

KEPT = 128


def is_waiting(call: Call, line: Line) -> bool:
    """``call`` is part of waiting, as far as it and the earlier answers of its kind tell."""
    last = line.last
    if last is None:
        return call.kind is WAIT
    if call.kind is WAIT:
        return not (
            line.repeats > 1
            and line.degree is EQUAL
            and not last.pending
            and not call.pauses
            and call.waits == last.waits
            and call.asked_at - last.asked_at < HURRIED
        )
    if call.kind is EDIT:
        return False
    # It was slept in between (a retry that takes its time), or something is still under way.
    return call.waits > last.waits or (last.pending and line.degree is EQUAL)


class PollUnchanged(Plain):
    """Polls that bring nothing, for long."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._polls: list[Call] = []
        self._news = 0

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        journal = self.scene.journal
        line = journal.line(call.key)
        if not is_waiting(call, line):
            return ()
        if journal.news != self._news:
            self._news = journal.news
            self._polls.clear()
        self._polls.append(call)
        if len(self._polls) > KEPT:
            del self._polls[0]
        mine = self._like(call)
        limit = _limit(mine)
        if limit == POLLS_SLOW and _for_hours(mine, line):
            limit = POLLS_HOURS
        if len(mine) < limit:
            return ()
        hard = len(mine) >= limit + _patience(limit, line)
        if (len(mine) % limit and not hard) or _slows_down(mine):
            return ()
        finding = self.scene.finding(
            "poll-unchanged",
            Action.BLOCK if hard else Action.NUDGE,
            call,
            mine,
            now,
            limit=Action.ABORT if hard else Action.NUDGE,
            threshold=limit,
            pause_seconds=round(_pause(mine), 1),
        )
        return (finding,)

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        if self._polls and self._polls[-1] is call and self.scene.journal.news != self._news:
            # Its own answer is the news: the wait for the next begins with it.
            self._news = self.scene.journal.news
            self._polls = [call]
        return ()

    def gauges(self, now: float) -> Iterable[Gauge]:
        """Polls like the latest that brought nothing, from the second on."""
        if len(self._polls) > 1:
            mine = self._like(self._polls[-1])
            yield Gauge(rule="poll-unchanged", used=len(mine), limit=_limit(mine), tool=mine[-1].tool)

    def _like(self, call: Call) -> list[Call]:
        return [poll for poll in self._polls if poll.key == call.key or _asks_the_same(poll, call)]

    def forget(self, key: CallKey) -> None:
        self._polls = [poll for poll in self._polls if poll.key != key]

    def spoke(self) -> None:
        self._polls.clear()

    def clear(self) -> None:
        self._polls.clear()


def _asks_the_same(poll: Call, call: Call) -> bool:
    return poll.tool == call.tool and poll.question == call.question


def _for_hours(polls: list[Call], line: Line) -> bool:
    """They have been going on for more than an hour, and nothing is said to be under way."""
    waited = polls[-1].asked_at - polls[0].asked_at
    return waited >= HOUR and len(polls) >= POLLS_HOURS and (line.last is None or not line.last.pending)


def _patience(limit: int, line: Line) -> int:
    """Polls after the first nudge before more is justified; at other paces, that is never."""
    last = line.last
    if limit != POLLS_SLOW and last is not None and not last.pending:
        if limit == POLLS_HOURS:
            return SURE_HOURS
        if says_dead(last.output or ""):
            return SURE_DEAD if limit == POLLS_QUICK else SURE_QUICK
    return SURE_QUICK if limit == POLLS_QUICK else KEPT


def _pause(polls: list[Call]) -> float:
    """Seconds between the latest polls, on average."""
    latest = polls[-5:]
    if len(latest) < 2:
        return 0.0
    return (latest[-1].asked_at - latest[0].asked_at) / (len(latest) - 1)


def _limit(polls: list[Call]) -> int:
    pause = _pause(polls)
    if pause < QUICK:
        return POLLS_QUICK
    return POLLS_PACED if pause < SLOW else POLLS_SLOW


def _slows_down(polls: list[Call]) -> bool:
    """Each of the last pauses was clearly longer than the one before."""
    times = [poll.asked_at for poll in polls[-4:]]
    pauses = [later - earlier for earlier, later in pairwise(times)]
    return len(pauses) == 3 and all(b > 1.15 * a for a, b in pairwise(pauses))
