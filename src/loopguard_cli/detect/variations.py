"""same-outcome: calls that vary and bring the same; growing-call: calls that grow by themselves.

Sources: reported loops whose arguments never repeat (a counter in the arguments, the words of a
command shuffled, a limit raised, a command glued to itself). All of it starts as a nudge.

- Variations (equal words, other numbers or another order) of one call with the same outcome:
  five in a row. Where no number varies, outcomes may differ in their numbers.
- One tool, the same outcome, and calls that come back again and again: six in a row.
- A call that is the one before with a copy of itself added: four in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from loopguard_cli.core.findings import Action, Finding
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.cycles import tail
from loopguard_cli.detect.keys import digest
from loopguard_cli.detect.outcomes import Sameness
from loopguard_cli.detect.rule import Plain
from loopguard_cli.detect.shapes import Shape
from loopguard_cli.detect.tools import Kind

VARIATIONS = 5
RETURNING = 6
GROWN = 4
CONSIDERED = 24

AFTER_NUDGE = 2
"""More of the same after the first nudge before more than a nudge is justified."""

LEAST_SHARE = 0.75
"""Of the words of the longer variation that the shorter one must have."""


class SameOutcome(Plain):
    """Varying calls, one outcome."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        if call.kind in (Kind.EDIT, Kind.NOTE, Kind.WAIT, Kind.MOVE, Kind.DELEGATE):
            return
        journal = self.scene.journal
        past = [
            one
            for one in tail(journal.recent, CONSIDERED)[:-1]
            if one.kind is not Kind.NOTE and one.turn == call.turn
        ]
        if (
            journal.since_resume < 2
            or not past
            or not past[-1].complete
            or past[-1].tool != call.tool
            or past[-1].pending()
        ):
            return
        varied = [*_run(past, call, is_variation), call]
        if len(varied) >= VARIATIONS and len({one.key for one in varied}) > 1:
            yield self._found(call, varied, now, VARIATIONS)
        elif call.kind is not Kind.ACT:
            returning = [*_run(past, call, _same_tool), call]
            distinct = len({one.key for one in returning})
            if len(returning) >= RETURNING and 1 < distinct <= len(returning) - 2:
                yield self._found(call, returning, now, RETURNING)

    def _found(self, call: Call, proof: Sequence[Call], now: float, limit: int) -> Finding:
        count = len(proof)
        equal = all(one.raw == proof[0].raw for one in proof[:-1])
        return self.scene.finding(
            "same-outcome",
            Action.NUDGE,
            call,
            proof,
            now,
            identity=digest(f"{call.tool}:{proof[-2].alike()}".encode("utf-8", "replace")),
            limit=Action.ABORT if count >= (limit + AFTER_NUDGE if equal else 2 * limit) else Action.NUDGE,
            threshold=limit,
        )


class GrowingCall(Plain):
    """A call that is repeated inside itself."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        past = tail(self.scene.journal.recent, CONSIDERED)
        grown = [call]
        for one in reversed(past[:-1]):
            if one.turn != call.turn or one.tool != call.tool or not _may_grow(one, grown[0]):
                break
            if not _grew(one.shape, grown[0].shape):
                break
            grown.insert(0, one)
        if len(grown) >= GROWN:
            yield self.scene.finding(
                "growing-call",
                Action.NUDGE,
                call,
                grown,
                now,
                identity=digest(f"{call.tool}:{sorted(set(call.shape.words))}".encode("utf-8", "replace")),
                limit=Action.ABORT if len(grown) >= GROWN + AFTER_NUDGE else Action.NUDGE,
                threshold=GROWN,
            )


def _run(past: Sequence[Call], call: Call, same: Callable[[Call, Call], bool]) -> list[Call]:
    """The latest calls, without interruption, that have one outcome and resemble ``call``."""
    found: list[Call] = []
    for one in reversed(past):
        if not one.complete or not same(one, call):
            break
        if found:
            least = (
                Sameness.ALIKE if same is is_variation and not counted_on(one, found[-1]) else Sameness.STEADY
            )
            if found[-1].sameness(one, least) < least:
                break
        found.append(one)
    found.reverse()
    return found


def is_variation(one: Call, other: Call) -> bool:
    """The arguments of ``one`` are those of ``other``, varied."""
    if one.tool != other.tool or one.kind is not other.kind:
        return False
    return one.shape.words == other.shape.words or _says_the_same(one.shape, other.shape)


def counted_on(one: Call, other: Call) -> bool:
    """They differ in numbers, which may well be the point of the call."""
    return set(one.shape.numbers) != set(other.shape.numbers)


def _says_the_same(one: Shape, other: Shape) -> bool:
    """Equal numbers, and no word in the one that adds anything to what the other says."""
    small, large = (one, other) if len(one.said) <= len(other.said) else (other, one)
    return (
        len(small.said) >= LEAST_SHARE * len(large.said)
        and set(one.numbers) == set(other.numbers)
        and small.said <= large.said
    )


def _same_tool(one: Call, other: Call) -> bool:
    return one.tool == other.tool and one.kind is not Kind.ACT


def _may_grow(one: Call, later: Call) -> bool:
    return one.width < later.width <= 2 * one.width + 16


def _grew(small: Shape, large: Shape) -> bool:
    """``large`` says what ``small`` says and one more copy of a part of it."""
    return len(small.words) >= 3 and small.said == large.said and len(large.words) > len(small.words)
