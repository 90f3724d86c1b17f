"""same-outcome: calls that vary and bring the same; growing-call: calls that grow by themselves.

Sources: reported loops whose arguments never repeat (a counter in the arguments, the words of a
command shuffled, a limit raised, a question put in other words, a command glued to itself). All of
it starts as a nudge. Uninterrupted calls of one tool with the same outcome are

- variations: the same question (`detect.shapes`) with other counters, times, ranges or another
  order of its words: five in a row. Where no number varies, outcomes may differ in their numbers.
  Numbers that may name what the call is about (the next order, the next repository) are no variation.
- returning: the same few calls, again and again: six in a row.
- reworded: six in a row, the latest of which say hardly anything that was not said before.

Commands that do nothing, or only say something, are variations of each other. A call that is the
one before with a copy of itself added is a growing one: four in a row.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, takewhile

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.detect.agreement import ALIKE, STEADY
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.keys import digest
from loopguard_cli.detect.resemblance import counted_on, is_variation
from loopguard_cli.detect.rule import Plain, Scene
from loopguard_cli.detect.shapes import Shape
from loopguard_cli.detect.tools import ACT, DELEGATE, EDIT, IDLE, MOVE, NOTE, WAIT

VARIATIONS = 5
RETURNING = 6
REWORDED = 6
GROWN = 4
CONSIDERED = 14

SAID = 3
"""Of the latest calls, how many must say hardly anything new."""

AFTER_NUDGE = 2
"""More of the same after the first nudge before more than a nudge is justified."""

STUBBORN, BEGUN = 10, 3
"""So many calls say nothing new if those after the first few, taken together, do not."""

KNOWN_SHARE = 0.6
"""Of the words of a call that were said before, from which on it says hardly anything new."""

KNOWN = 8
"""Pairs of different outcomes that are known again: as many as the longest round has."""

FOUND = 60
"""Characters of what a search found, if it found something."""
_QUERIES = frozenset(
    ["query", "queries", "q", "search", "search_query", "searchQuery", "keywords", "pattern"]
)

TELLING = 40
"""Characters of an outcome that is more than a word about success."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_NOT_ASKING = (EDIT, NOTE, WAIT, MOVE, DELEGATE)


class SameOutcome(Plain):
    """Varying calls, one outcome."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._different: deque[tuple[str, str]] = deque(maxlen=KNOWN)
        """Pairs of outcomes that do not agree."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        journal = self.scene.journal
        if call.kind in _NOT_ASKING or journal.since_resume < 2 or journal.row_length >= VARIATIONS:
            # Equal calls in a row are `detect.unchanged`'s matter.
            return ()
        past = (
            one
            for one in islice(reversed(journal.recent), 1, CONSIDERED)
            if one.kind is not NOTE and one.turn == call.turn
        )
        if call.kind is IDLE:
            return self._idle(call, past, now)
        if len(journal.recent) < VARIATIONS or (
            (before := journal.recent[-2]).tool != call.tool and before.kind is not NOTE
        ):
            return ()
        run = self._run(past, call)
        if len(run) < VARIATIONS - 1 or run[-1].pending or self.scene.licensed > len(run):
            return ()
        return self._look(call, run, now)

    def _look(self, call: Call, run: Sequence[Call], now: float) -> Iterator[Finding]:
        """The calls of ``run`` and ``call`` are of one tool, and their outcomes agree."""
        # What writes and says no more than "ok" tells by its arguments alone whether it goes on.
        terse = call.writes and run[-1].size < TELLING
        varied = [*_while(run, call, _asks_the_same if terse else is_variation), call]
        if len(varied) >= VARIATIONS and len({one.key for one in varied}) > 1:
            yield self._found(call, varied, now, VARIATIONS)
            return
        steady = [*_steady(run), call]
        distinct = len({one.key for one in steady})
        if len(steady) < RETURNING or distinct < 2:
            return
        acts = any(one.kind is ACT for one in steady)
        if acts and run[-1].size < TELLING:
            # "ok" is what most acts bring.
            return
        if not acts and distinct <= len(steady) - 2:
            yield self._found(call, steady, now, RETURNING)
        elif _search_the_same(steady) or _says_nothing_new(steady):
            yield self._found(call, steady, now, REWORDED)

    def gauges(self, now: float) -> Iterable[Gauge]:
        """Variations of the latest call with the same outcome, from the second on."""
        journal = self.scene.journal
        call = journal.recent[-1] if journal.recent else None
        if call is None or call.kind in (*_NOT_ASKING, IDLE) or call.turn != journal.turn:
            return
        past = (one for one in islice(reversed(journal.recent), 1, CONSIDERED) if one.turn == call.turn)
        run = self._run((one for one in past if one.kind is not NOTE), call)
        varied = [*_while(run, call, is_variation), call]
        if len(varied) > 1 and len({one.key for one in varied}) > 1:
            yield Gauge(rule="same-outcome", used=len(varied), limit=VARIATIONS, tool=call.tool)

    def _run(self, past: Iterable[Call], call: Call) -> list[Call]:
        """The latest calls, without interruption, of one tool, whose outcomes agree.

        ``past`` has the newest first, the answer the oldest.
        """
        found: list[Call] = []
        for one in past:
            if not one.complete or one.tool != call.tool or one.kind in _NOT_ASKING:
                break
            if found and one.raw != found[-1].raw and not self._agree(found[-1], one):
                break
            found.append(one)
        found.reverse()
        return found

    def _agree(self, one: Call, other: Call) -> bool:
        """Their outcomes differ in numbers at most. In a round the same pairs come again and again."""
        outcomes = (one.raw, other.raw)
        if outcomes in self._different:
            return False
        if one.sameness(other) >= ALIKE or one.echoes_as(other):
            return True
        self._different.append(outcomes)
        return False

    def _idle(self, call: Call, past: Iterable[Call], now: float) -> Iterable[Finding]:
        idle = [*takewhile(lambda one: one.kind is IDLE, past)]
        idle = [*reversed(idle), call]
        if len(idle) >= VARIATIONS and len({one.key for one in idle}) > 1:
            yield self._found(call, idle, now, VARIATIONS)

    def _found(self, call: Call, proof: Sequence[Call], now: float, limit: int) -> Finding:
        count = len(proof)
        idle = call.kind is IDLE
        equal = idle or all(one.raw == proof[0].raw for one in proof[:-1])
        outcome = "" if idle else proof[-2].alike()
        return self.scene.finding(
            "same-outcome",
            Action.NUDGE,
            call,
            proof,
            now,
            identity=digest(f"{call.tool}:{outcome}".encode("utf-8", "replace")),
            limit=Action.ABORT if count >= (limit + AFTER_NUDGE if equal else 2 * limit) else Action.NUDGE,
            threshold=limit,
        )


class GrowingCall(Plain):
    """A call that is repeated inside itself."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        recent = self.scene.journal.recent
        if len(recent) < GROWN or (before := recent[-2]).tool != call.tool or not _may_grow(before, call):
            return ()
        grown = self._chain(call)
        if len(grown) < GROWN:
            return ()
        finding = self.scene.finding(
            "growing-call",
            Action.NUDGE,
            call,
            grown,
            now,
            identity=digest(f"{call.tool}:{sorted(set(call.shape.words))}".encode("utf-8", "replace")),
            limit=Action.ABORT if len(grown) >= GROWN + AFTER_NUDGE else Action.NUDGE,
            threshold=GROWN,
        )
        return (finding,)

    def gauges(self, now: float) -> Iterable[Gauge]:
        """Calls up to the latest that grow, from the second on."""
        recent = self.scene.journal.recent
        grown = self._chain(recent[-1]) if recent else []
        if len(grown) > 1:
            yield Gauge(rule="growing-call", used=len(grown), limit=GROWN, tool=grown[-1].tool)

    def _chain(self, call: Call) -> list[Call]:
        """The latest calls up to ``call``, each the one before with a part of it repeated."""
        grown = [call]
        for one in islice(reversed(self.scene.journal.recent), 1, CONSIDERED):
            if one.turn != call.turn or one.tool != call.tool or not _may_grow(one, grown[0]):
                break
            if not _grew(one.shape, grown[0].shape):
                break
            grown.insert(0, one)
        return grown


def _asks_the_same(one: Call, other: Call) -> bool:
    return one.tool == other.tool and one.question == other.question


def _while(run: Sequence[Call], call: Call, same: Callable[[Call, Call], bool]) -> list[Call]:
    """The end of ``run`` that resembles ``call``; where numbers vary, with steady outcomes."""
    found: list[Call] = []
    for one in reversed(run):
        if not same(one, call):
            break
        if (
            found
            and one.raw != found[-1].raw
            and counted_on(one, found[-1])
            and found[-1].sameness(one, STEADY) < STEADY
        ):
            break
        found.append(one)
    found.reverse()
    return found


def _steady(run: Sequence[Call]) -> list[Call]:
    """The end of ``run`` whose outcomes differ in volatile parts only."""
    at = len(run) - 1
    while at > 0 and (run[at].sameness(run[at - 1], STEADY) >= STEADY or run[at].echoes_as(run[at - 1])):
        at -= 1
    return list(run[at:])


def _search_the_same(calls: Sequence[Call]) -> bool:
    """Searches with a word in common, in whatever other words, that find the same, and something."""
    found = calls[-2]
    if found.size < FOUND or found.failed or any(one.raw != found.raw for one in calls[:-1]):
        return False
    if any(_QUERIES.isdisjoint(one.arguments) for one in calls):
        return False
    common = frozenset.intersection(*(one.shape.said for one in calls))
    return not common <= calls[-1].arguments.keys()


def _says_nothing_new(calls: Sequence[Call]) -> bool:
    """The latest of ``calls`` put in other words what the ones before asked."""
    return _hardly_new([one.shape.said | one.named for one in calls]) or _hardly_new(
        [_parts(one) for one in calls]
    )


def _hardly_new(told: Sequence[frozenset[str]]) -> bool:
    common = frozenset.intersection(*told[:-1])  # the latest may be about something else
    known: set[str] = set()
    shares: list[float] = []
    for words in (all_words - common for all_words in told):
        shares.append(len(words & known) / len(words) if words else 1.0)
        known |= words
    if all(share >= KNOWN_SHARE for share in shares[-SAID:]):
        return True
    later = shares[BEGUN:]
    return len(told) >= STUBBORN and sum(later) >= KNOWN_SHARE * len(later)


def _parts(call: Call) -> frozenset[str]:
    """The words of a call in small letters, those that are joined by a line one by one."""
    words = (part for word in call.shape.said for part in _CAMEL.sub("_", word).casefold().split("_"))
    said = (part for part in words if len(part) > 1)
    return frozenset(said) | call.named


def _may_grow(one: Call, later: Call) -> bool:
    return one.width < later.width <= 2 * one.width + 16


def _grew(small: Shape, large: Shape) -> bool:
    """``large`` says what ``small`` says and one more copy of a part of it."""
    return len(small.words) >= 3 and small.said == large.said and len(large.words) > len(small.words)
