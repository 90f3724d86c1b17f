"""no-novelty, the shorter form: calls that put nothing new and bring nothing new (preset ``balanced``).

Ours, as a net below the rules that know what a loop looks like. A result brings news if one of its lines
was not seen before; a call asks something new if it holds a number or many words that the ones before
did not. Eight calls in a row, of whatever tools, without either, with no file changed meanwhile, are a
nudge; fourteen may be cut off. Results alone prove nothing: ten checks that say "ok" are work.

Lines are compared as they are, without a number before them. It is looked every other call, closely only
when a line of the latest result stood in an earlier one, and at what was asked only when eight results
brought nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.cycles import tail
from loopguard_cli.detect.journal import READABLE
from loopguard_cli.detect.keys import digest
from loopguard_cli.detect.rule import Plain, Scene
from loopguard_cli.detect.shapes import CONSIDERED
from loopguard_cli.detect.tools import DELEGATE, EDIT, IDLE, MOVE, NOTE, WAIT

CALLS, CALLS_HARD = 8, 14
MAX_NEW = 0.3
"""Share of the words of these calls, on average, that none before them had."""
EARLIER = 16
"""Calls before them whose words are known."""
TELLING = 120
"""Characters of a result that is more than a word about having found nothing, or about success."""
SHORT = 2_000
"""Characters of a result whose lines are compared; longer ones are compared whole."""
EVERY = 2
"""Calls after which it is looked again."""

_NOT_ASKING = (WAIT, MOVE, NOTE, DELEGATE, IDLE)
_FILE = re.compile(r"\w\.[A-Za-z]")
_NUMBERED = re.compile(r"\s*\d+\s*[|:\u2192\t]")
_LINE_NUMBER = re.compile(r"^\s*\d+\s*[|:\u2192\t] ?", re.MULTILINE)


class Stagnation(Plain):
    """Looks at the latest calls now and then: whether they brought a line that was new."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._count = 0
        """Calls that may bring something, since a file was changed."""
        self._changes = 0
        self._due = CALLS
        """How many there must be before it is looked again."""

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        if call.kind in _NOT_ASKING or call.kind is EDIT or not call.complete or call.pending:
            return ()
        if (changes := self.scene.journal.changes) != self._changes:
            self._changes, self._count, self._due = changes, 0, CALLS
        self._count += 1
        if self._count < self._due or self.scene.going_round is call:
            return ()
        return self._look(call, now)

    def _look(self, call: Call, now: float) -> list[Finding]:
        self._due = self._count + EVERY
        latest = tail(self.scene.journal.recent, READABLE)
        if call.size > SHORT and [one.raw for one in latest].count(call.raw) < 2:
            return []  # as mostly
        calls = _asking(latest, call.turn)
        if len(calls) < CALLS or not _may_be_known(call, calls[:-1]):
            return []
        stale = _without_news(calls)
        limit = self.scene.allows(CALLS)
        self._due = self._count + max(CALLS // 2, CALLS - len(stale))
        if len(stale) < limit or len({one.key for one in stale[-CALLS:]}) < 2:
            return []
        if not self._asks_nothing_new(stale[-CALLS:]):
            return []
        sure = len(stale) >= max(limit, CALLS_HARD)
        finding = self.scene.finding(
            "no-novelty",
            Action.NUDGE,
            call,
            stale,
            now,
            identity=digest(f"{call.turn}:{self._changes}".encode()),
            limit=Action.ABORT if sure else Action.NUDGE,
            gate=False,
            window=CALLS,
            distinct=len({one.key for one in stale}),
        )
        return [finding]

    def gauges(self, now: float) -> Iterable[Gauge]:
        """The latest calls that put nothing new and brought nothing new, from the second on."""
        calls = _asking(tail(self.scene.journal.recent, READABLE), self.scene.journal.turn)
        stale = _without_news(calls[-self._count :] if self._count else [])
        if len({one.key for one in stale[-CALLS:]}) > 1 and self._asks_nothing_new(stale[-CALLS:]):
            limit = self.scene.allows(CALLS)
            yield Gauge(rule="no-novelty", used=len(stale), limit=limit, tool=stale[-1].tool)

    def spoke(self) -> None:
        self._count, self._due = 0, CALLS

    def clear(self) -> None:
        self.spoke()

    def _asks_nothing_new(self, calls: Sequence[Call]) -> bool:
        """``calls`` have hardly a word that was not there before, or are about nothing else."""
        first = calls[0]
        before = [
            one
            for one in list(self.scene.journal.recent)[-EARLIER - len(calls) :]
            if one.asked_seq < first.asked_seq and one.turn == first.turn and one.arguments
        ]
        # What all of them have in common says nothing about what each of them is about.
        common = frozenset.intersection(*(one.shape.said for one in calls))
        known = {word for one in before for word in one.shape.said}
        # Numbers name things, and so do two that were never put together.
        named = frozenset.intersection(*(one.named for one in calls))
        questions = {one.question for one in before}
        things = {thing for one in before for thing in _things(one)}
        shares: list[float] = []
        told = True
        for at, one in enumerate(calls):
            said, about = one.shape.said - common, _things(one)
            if at or before:
                if not one.named <= named and one.question not in questions:
                    return False
                shares.append(len(said - known) / len(said) if said else 0.0)
                told = told and bool(about) and about <= things and one.size >= TELLING
            known |= said
            questions.add(one.question)
            things |= about
        return told or sum(shares) <= MAX_NEW * len(shares)


def _asking(calls: Iterable[Call], turn: int) -> list[Call]:
    """Those of ``calls`` that may bring something, while they can be read."""
    return [
        one
        for one in calls
        if one.output is not None
        and one.turn == turn
        and one.complete
        and one.kind is not EDIT
        and one.kind not in _NOT_ASKING
    ]


def _may_be_known(call: Call, before: Sequence[Call]) -> bool:
    """A line from its middle stands in an earlier result. Mostly it does not, and nothing is left to do."""
    if any(one.raw == call.raw for one in before):
        return True
    if call.size > SHORT:
        return False
    text = call.output or ""
    begin = text.find("\n", len(text) // 2) + 1
    line = text[begin : text.find("\n", begin)] if begin and "\n" in text[begin:] else text[begin:]
    line = _NUMBERED.sub("", line, count=1).strip()
    return any(line in (one.output or "") for one in before if one.size <= SHORT)


def _without_news(calls: Sequence[Call]) -> list[Call]:
    """The end of ``calls`` that brought no line which those before had not."""
    known: set[str] = set()
    results: set[str] = set()
    stale: list[Call] = []
    for one in calls:
        if one.raw in results:
            stale.append(one)
            continue
        results.add(one.raw)
        lines = _lines(one.output or "") if one.size <= SHORT else frozenset[str]()
        if lines and lines <= known:
            stale.append(one)
        else:
            stale.clear()
            known |= lines
    return stale


def _lines(text: str) -> frozenset[str]:
    return frozenset((_LINE_NUMBER.sub("", text) if _NUMBERED.match(text) else text).split("\n"))


def _things(call: Call) -> frozenset[str]:
    """The files and addresses that its arguments name."""
    values = (value for value in call.arguments.values() if isinstance(value, str))
    words = (word.strip(",;:()'\"") for value in values for word in value[:CONSIDERED].split())
    return frozenset(word for word in words if "/" in word or _FILE.search(word))
