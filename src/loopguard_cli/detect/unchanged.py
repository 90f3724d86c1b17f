"""repeat-call and consecutive-call, outcome-aware (preset ``balanced``).

Source: our own measurement on labelled traces. Three equal calls in a row with the same outcome
practically never happen in honest work; equal calls with other work between do all the time. So
a call is refused when the last two of its kind brought the same outcome (or none yet: a call in
flight counts as unchanged), nothing was changed for the first time since, and

- nothing stood between them: the third is refused;
- or they failed: the fourth is refused, whatever stood between;
- or it is the same edit again: the third is refused whatever the tool says about it;
- or it was refused before and still nothing has changed. What may have changed something (any
  command never run before) earns one more try; a changed file, another outcome or a person's
  message lifts the refusal.

A key whose outcome changed to and fro while nothing else did is a matter of chance, and an outcome that
is a figure is a measurement: whoever repeats such calls wants to know how often or how much, so the
numbers are higher. So they are when a person asked for more runs (`detect.asked`).

Not counted: waiting (`detect.waiting`), calls more than two minutes after the last of their kind,
equal reads sent off together. Outcomes that agree only after masking what changes by itself, and
equal calls whose outcomes differ while the text before them is word for word the same, begin as
nudges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.detect.agreement import EQUAL, Sameness, measures
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.journal import PATIENCE, Line
from loopguard_cli.detect.rule import Plain
from loopguard_cli.detect.tools import DELEGATE, EDIT, MOVE, READ, is_paging
from loopguard_cli.detect.waiting import is_waiting

SAMPLES = 8
"""One task given to several sub-agents at once is a way of working; in turn, see `detect.delegation`."""

MOVES = 6
"""Equal moves through a page with an equal answer: the answer of such tools says little."""

MOVES_SHOWN, SHOWN = 4, 80
"""Fewer, if the answer shows so many characters of the page and they stay the same."""

CHANCE = 10
"""Equal calls in a row whose outcome is known to change by itself: whoever asks again wants a count."""

MEASURED = 12
"""Equal calls in a row that bring another figure each time."""

FLOOD = 6
"""Equal reads sent off together: some double a call without harm, nobody means six."""

ALIKE = 4
"""Equal calls in a row whose outcomes differ in numbers only, or that write, whatever they bring."""

SLOW = 10.0
"""Seconds; a call that works that long and then reports another number gets on."""

REPEATED_TEXT = 4
"""Equal calls in a row with equal text before each, whatever came back."""


class Unchanged(Plain):
    """The same call again, and nothing has changed."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        scene = self.scene
        journal = scene.journal
        line = journal.line(call.key)
        if is_waiting(call, line):
            return ()
        if not line.same and len(journal.row) == len(journal.open) == 1:
            return ()  # no call like it has ended, is open or stood just before
        limit = scene.threshold(call.tool, scene.settings.repeat_threshold)
        if call.kind is MOVE:
            limit = max(limit, self._moves(call, line))
        elif call.kind is DELEGATE:
            limit = max(limit, SAMPLES)
        elif line.swings:
            limit = max(limit, CHANCE)
        limit = scene.allows(limit)
        same, repeats = self._same(call, line)
        in_row = journal.row_length >= limit and self._follows(call)
        if in_row and repeats >= limit - 1:
            return (self._refusal(call, same, repeats + 1, limit, now),)
        if in_row and call.kind is EDIT:
            return (self._refusal(call, self._row(call), journal.row_length, limit, now),)
        if repeats >= limit and all(past.failed for past in same):
            return (self._refusal(call, same, repeats + 1, limit + 1, now),)
        if same and self._still_refused(call):
            return (self._refusal(call, same, repeats + 1, 0, now),)
        return self._alike(call, now)

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        if call.complete and self.scene.journal.line(call.key).unchanged == 1:
            self.scene.standing.lift(call.key)
        return ()

    def gauges(self, now: float) -> Iterable[Gauge]:
        """Of the latest call: equal ones with an equal outcome since something changed."""
        journal = self.scene.journal
        if not journal.row:
            return
        call = journal.row[-1]
        line = journal.lines.get(call.key)
        if line is None or is_waiting(call, line):
            return
        counts = line.last is not None and line.last.left == journal.epoch
        pending = sum(one.key == call.key for one in journal.open.values())
        used = (line.repeats if counts else 0) + pending
        limit = self.scene.threshold(call.tool, self.scene.settings.repeat_threshold)
        if used:
            yield Gauge(rule="repeat-call", used=used, limit=limit, tool=call.tool)

    # --- inside ------------------------------------------------------------------------------

    @staticmethod
    def _moves(call: Call, line: Line) -> int:
        """How many equal moves with equal answers are too many: fewer where the answer shows the page."""
        shows = line.last is not None and line.last.size >= SHOWN and line.degree is EQUAL
        return MOVES_SHOWN if shows and is_paging(call.tool) else MOVES

    def _follows(self, call: Call) -> bool:
        """Equal calls stood just before ``call``."""
        row = self.scene.journal.row
        return len(row) > 1 and call.asked_at - row[-2].ended_at <= PATIENCE

    def _row(self, call: Call) -> list[Call]:
        """These calls, oldest first, as far as no long pause stood between them."""
        return _recent(self.scene.journal.row[:-1], call)

    def _same(self, call: Call, line: Line) -> tuple[list[Call], int]:
        """Earlier calls with this key between which, and since which, nothing changed; how many."""
        journal = self.scene.journal
        past = journal.unchanged(call)
        count = line.repeats if past else 0
        pending = [one for one in journal.open.values() if one.key == call.key and one is not call]
        if call.kind is READ:
            together = sum(one.round == call.round for one in past) + len(pending)
            if together + 1 < FLOOD:
                past, count = past[: len(past) - together + len(pending)], count - together + len(pending)
                pending = []
        return past + pending, count + len(pending)

    def _still_refused(self, call: Call) -> bool:
        standing, journal = self.scene.standing, self.scene.journal
        if standing.mark(call.key) == journal.changes:
            return True
        standing.lift(call.key)
        return False

    def _refusal(self, call: Call, proof: Sequence[Call], count: int, limit: int, now: float) -> Finding:
        """Refuse ``call``; only a hint where outcomes agree no more than nearly, and for the first time."""
        scene = self.scene
        sure = scene.journal.line(call.key).degree is EQUAL or count > limit
        if sure:
            scene.standing.block(call.key, scene.journal.changes)
        calls = [*proof, call]
        window = scene.settings.repeat_window_seconds
        since = calls[-min(limit or count, len(calls))]
        return scene.finding(
            "repeat-call" if now - since.asked_at <= window else "consecutive-call",
            Action.BLOCK if sure else Action.NUDGE,
            call,
            calls,
            now,
            count=count,
            threshold=limit or scene.threshold(call.tool, scene.settings.repeat_threshold),
            window_seconds=window,
        )

    def _alike(self, call: Call, now: float) -> Iterable[Finding]:
        """Equal calls in a row, the outcomes of which are not equal but do not look like progress."""
        scene = self.scene
        if len(scene.journal.row) < 3 or call.kind is MOVE:
            return ()
        row = self._row(call)
        if len(row) < 2:
            return ()
        done = [past for past in row if past.complete]
        alike, count, least = 1, len(done), Sameness.ALIKE
        while alike < count and done[-alike].sameness(done[-alike - 1]) >= least:
            alike += 1
        limit = scene.allows(3 if call.kind is READ else ALIKE)
        slow = done and done[-1].ended_at - done[-1].asked_at > SLOW
        # Equal ones are the matter of the refusals above, whose threshold the user may have raised.
        varied = any(one.raw != done[-1].raw for one in done[-alike:])
        if alike + 1 >= limit and varied and not slow:
            if not measures(done[-2].output, done[-1].output):
                return (self._nudge(call, [*done[-alike:], call], now, limit),)
            if alike + 1 >= scene.allows(MEASURED):
                return (self._nudge(call, [*done[-alike:], call], now, MEASURED),)
            return ()
        if call.writes and len(row) + 1 >= scene.allows(ALIKE):
            # Equal insertions in a row: what they print grows, and says nothing.
            return (self._nudge(call, [*row, call], now, ALIKE),)
        if not call.said:
            return ()
        texts = [past.said for past in row[-REPEATED_TEXT + 1 :]]
        told = len(texts) >= REPEATED_TEXT - 1 and len(row) + 1 >= scene.allows(REPEATED_TEXT)
        if told and set(texts) == {call.said}:
            return (self._nudge(call, [*row[-REPEATED_TEXT + 1 :], call], now, REPEATED_TEXT),)
        return ()

    def _nudge(self, call: Call, proof: Sequence[Call], now: float, limit: int) -> Finding:
        count = len(proof)
        return self.scene.finding(
            "consecutive-call",
            Action.NUDGE,
            call,
            proof,
            now,
            limit=Action.BLOCK if count >= (limit + 2 if call.kind is READ else 2 * limit) else Action.NUDGE,
            threshold=limit,
        )


def _recent(past: list[Call], call: Call) -> list[Call]:
    """Those of ``past`` (oldest first) with no long pause between them and before ``call``."""
    later = call
    for index in range(len(past) - 1, -1, -1):
        if later.asked_at - past[index].ended_at > PATIENCE:
            return past[index + 1 :]
        later = past[index]
    return past
