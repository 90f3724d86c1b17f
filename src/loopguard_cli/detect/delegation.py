"""repeated-delegation: the same task given to a sub-agent again and again.

Source: reported loops between a parent and its children, in which no child repeats itself and the
children's reports always differ in words. What counts is the task: three rounds in a row with the
same task, or one that only varies it, are a nudge; the fourth equal one is refused. Where tasks differ more
than that, reports do not, word for word, though no task names anything new: four are a nudge, and what
comes after six may end the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.cycles import tail
from loopguard_cli.detect.resemblance import is_variation
from loopguard_cli.detect.rule import Plain
from loopguard_cli.detect.tools import DELEGATE

NUDGE, BLOCK = 3, 4
REPORTS, REPORTS_HARD = 4, 6
TELLING = 40
"""Characters of a report that is more than a word about success."""
ITEM = 2
"""Words by which tasks differ that name the next thing to be looked after in the same way."""
CONSIDERED = 24

_NAME = re.compile(r"_|[a-z][A-Z]")


class RepeatedDelegation(Plain):
    """Counts rounds in which one task was delegated."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        return self._given(call, now) if call.kind is DELEGATE else ()

    def _given(self, call: Call, now: float) -> Iterator[Finding]:
        proof = self._rounds(call)
        equal = all(one.key == call.key for one in proof)
        if len(proof) >= BLOCK and equal:
            self.scene.standing.block(call.key, self.scene.journal.changes)
            yield self._found(call, proof, now, Action.BLOCK)
        elif len(proof) >= NUDGE:
            yield self._found(call, proof, now, Action.NUDGE)
        else:
            yield from self._equal_reports(call, now)

    def gauges(self, now: float) -> Iterable[Gauge]:
        """Rounds in which the task of the latest delegation was given, from the second on."""
        recent = self.scene.journal.recent
        call = recent[-1] if recent else None
        if call is None or call.kind is not DELEGATE:
            return
        if (used := len(self._rounds(call))) > 1:
            yield Gauge(rule="repeated-delegation", used=used, limit=NUDGE, tool=call.tool)

    def _rounds(self, call: Call) -> list[Call]:
        """One delegation of the same task for each of the latest rounds, oldest first."""
        given: dict[int, Call] = {}
        for one in reversed(tail(self.scene.journal.recent, CONSIDERED)):
            if one.turn != call.turn or one.kind is not DELEGATE:
                break
            if one.key != call.key and not is_variation(one, call):
                if one.round == call.round:
                    # A fan-out of several tasks; the others of this round prove nothing.
                    continue
                break
            given[one.round] = one
        return list(reversed(given.values()))

    def _equal_reports(self, call: Call, now: float) -> Iterable[Finding]:
        proof: list[Call] = []
        for one in reversed(tail(self.scene.journal.recent, CONSIDERED)[:-1]):
            if one.turn != call.turn or one.kind is not DELEGATE or not one.complete:
                break
            if proof and one.raw != proof[-1].raw:
                break
            if not proof or one.round != proof[-1].round:
                proof.append(one)
        if len(proof) < REPORTS or proof[0].size < TELLING:
            return
        tasks = [call, *proof]
        items = sum(_another_item(one, other) for one, other in pairwise(tasks))
        if 2 * items < len(proof) and all(_named(one) <= _named(tasks[-1]) for one in tasks):
            limit = Action.ABORT if len(proof) >= REPORTS_HARD else Action.NUDGE
            action = Action.BLOCK if len(proof) >= REPORTS_HARD else Action.NUDGE
            yield self._found(call, [*reversed(proof), call], now, action, limit)

    def _found(
        self, call: Call, proof: list[Call], now: float, action: Action, limit: Action | None = None
    ) -> Finding:
        return self.scene.finding(
            "repeated-delegation",
            action,
            call,
            proof,
            now,
            identity=f"{call.tool}:{call.turn}",
            limit=limit
            or (Action.ABORT if action is Action.BLOCK or len(proof) >= 2 * NUDGE else Action.NUDGE),
            threshold=NUDGE,
        )


def _another_item(one: Call, other: Call) -> bool:
    """The tasks are one, for two things: they differ in a word or two."""
    return all(
        0 < len(words) <= ITEM
        for words in (one.shape.said - other.shape.said, other.shape.said - one.shape.said)
    )


def _named(call: Call) -> frozenset[str]:
    """What a task names: numbers, and words that no language has."""
    return call.shape.numbers | frozenset(filter(_NAME.search, call.shape.said))
