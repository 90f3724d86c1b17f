"""call-frequency: one call making up too much of the latest calls.

Sources. Preset ``pi``: four of the last ten calls have one key, outcomes ignored. Preset
``balanced``: the same, but only calls between which nothing was changed for the first time and
whose outcomes agree; and first as a nudge, because reading something again is not yet a loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.detect.agreement import EQUAL
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.cycles import newest, tail
from loopguard_cli.detect.rule import Plain
from loopguard_cli.detect.tools import IDLE, MOVE, NOTE
from loopguard_cli.detect.waiting import is_waiting

OFTEN = 2
"""Times the window, and calls more than the threshold: so many in a longer stretch count as well."""


_OTHERWISE = (MOVE, NOTE, IDLE)
"""Kinds of calls that say little by coming again."""


class ExactFrequency(Plain):
    """Preset ``pi``: keys only."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        settings = self.scene.settings
        window = tail(self.scene.journal.recent, settings.frequency_window)
        same = [one for one in window if one.key == call.key]
        if len(same) >= settings.frequency_threshold:
            yield self.scene.finding(
                "call-frequency",
                Action.ABORT,
                call,
                same,
                now,
                window=settings.frequency_window,
                threshold=settings.frequency_threshold,
            )

    def gauges(self, now: float) -> Iterable[Gauge]:
        settings = self.scene.settings
        window = tail(self.scene.journal.recent, settings.frequency_window)
        for key, used in Counter(call.key for call in window).most_common(1):
            tool = next(call.tool for call in window if call.key == key)
            yield Gauge(rule="call-frequency", used=used, limit=settings.frequency_threshold, tool=tool)


class OutcomeFrequency(Plain):
    """Preset ``balanced``: keys and outcomes."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        settings = self.scene.settings
        journal = self.scene.journal
        line = journal.line(call.key)
        limit = self.scene.allows(settings.frequency_threshold)
        if line.asked < limit or line.swings or call.kind in _OTHERWISE or is_waiting(call, line):
            return ()
        if journal.row_length >= limit:
            # In a row it is another rule's matter, with another threshold.
            return ()
        if line.degree is not EQUAL:
            # An answer that is all time and numbers (a clock's) says nothing by being alike.
            return ()
        latest = newest(journal.recent, settings.frequency_window)
        key = call.key
        if sum([one.key == key for one in latest]) < limit:
            return ()
        past = journal.unchanged(call)
        since = latest[-1].asked_seq
        same = [one for one in past if one.asked_seq >= since]
        count = _rounds(past) + 1
        if _rounds(same) + 1 < limit and not self._often(past, count, limit):
            return ()
        finding = self.scene.finding(
            "call-frequency",
            Action.NUDGE,
            call,
            [*past, call],
            now,
            count=count,
            limit=Action.BLOCK if count > limit else Action.NUDGE,
            window=settings.frequency_window,
            threshold=limit,
        )
        return (finding,)

    def _often(self, past: list[Call], count: int, limit: int) -> bool:
        """Not that dense, but again and again."""
        reach = tail(self.scene.journal.recent, OFTEN * self.scene.settings.frequency_window)
        return count >= limit + OFTEN and past[0].asked_seq >= reach[0].asked_seq


def _rounds(calls: Iterable[Call]) -> int:
    """What is sent off together counts once."""
    return len({one.round for one in calls})
