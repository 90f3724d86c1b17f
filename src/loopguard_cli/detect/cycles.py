"""call-cycle: the same few calls going round.

Sources. Preset ``pi``: the last calls are three full copies of a block of 2 or 3 calls, outcomes
ignored; fires before the last one runs. Preset ``balanced``: blocks of up to 8 calls whose known
outcomes agree too, compared up to rotation (the same round entered elsewhere is the same loop),
waiting left out. A second, softer form starts as a nudge: it takes a failing call for its error
instead of its arguments (read, failing edit, read, the same failure with another edit), without
what only echoes the arguments, and any call for the question it puts (`detect.shapes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.core.settings import CallSettings
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.keys import digest
from loopguard_cli.detect.resemblance import is_variation
from loopguard_cli.detect.rule import Plain
from loopguard_cli.detect.tools import Kind

STRETCH = 48
"""Calls among which a round with noise is looked for."""

MOVING_ROUNDS = 6

AFTER_NUDGE = 2
"""Calls that a soft round goes on after it was first seen before more than a nudge is justified."""

Same = Callable[[Call, Call], bool]


def period(calls: Sequence[Call], longest: int, repeats: int, same: Same) -> tuple[int, int]:
    """Length and extent of the shortest round, of 2 calls or more, that ends ``calls``.

    The extent is the number of calls that go round, at least ``repeats`` rounds; (0, 0) if none do.
    """
    count = len(calls)
    backwards = calls[-2::-1]
    # Calls that are the same are of one tool: names, compared at once, rule most lengths out.
    tools = [one.tool for one in calls]
    for length in range(2, longest + 1):
        if length * repeats > count:
            break
        if tools[-length * repeats : -length] != tools[-length * (repeats - 1) :]:
            continue
        # The pair with the latest call comes last: its end is open, and it costs most to compare.
        extent = length + 1
        for later, earlier in zip(backwards, backwards[length:], strict=False):
            if not same(earlier, later):
                break
            extent += 1
        if extent >= length * repeats and same(calls[-length - 1], calls[-1]):
            block = calls[-length:]
            if len({one.key for one in block}) == 1 or all(same(block[0], other) for other in block[1:]):
                # One call, whatever it answers, is no round.
                break
            return length, extent
    return 0, 0


def rotation(names: Sequence[str]) -> str:
    """Identity of a round, wherever one enters it."""
    least = min(names)
    turned = min([*names[at:], *names[:at]] for at, name in enumerate(names) if name == least)
    return digest("\n".join(turned).encode())


def tail(calls: Iterable[Call], count: int) -> list[Call]:
    """The latest ``count`` calls, oldest first."""
    latest = list(islice(reversed(calls), count))  # type: ignore[call-overload]
    latest.reverse()
    return latest


class ExactCycle(Plain):
    """Preset ``pi``: keys only."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        settings = self.scene.settings
        calls = tail(self.scene.journal.recent, settings.max_cycle_length * settings.cycle_repeats)
        length, _ = period(calls, settings.max_cycle_length, settings.cycle_repeats, _same_key)
        if length:
            proof = calls[-length * settings.cycle_repeats :]
            yield self.scene.finding(
                "call-cycle",
                Action.ABORT,
                call,
                proof,
                now,
                identity=rotation([one.key for one in proof[-length:]]),
                count=settings.cycle_repeats,
                length=length,
                threshold=settings.cycle_repeats,
            )

    def gauges(self, now: float) -> Iterable[Gauge]:
        settings = self.scene.settings
        calls = tail(self.scene.journal.recent, settings.max_cycle_length * settings.cycle_repeats)
        yield from _rounds_gone(calls, settings, _same_key)


class OutcomeCycle(Plain):
    """Preset ``balanced``: keys and outcomes, or keys and errors."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        if call.kind is Kind.WAIT:
            return
        settings = self.scene.settings
        longest, repeats = settings.max_cycle_length, self.scene.allows(settings.cycle_repeats)
        if self.scene.journal.row_length >= longest:
            return
        turn, considered = call.turn, islice(reversed(self.scene.journal.recent), longest * (repeats + 1))
        calls = [one for one in considered if one.turn == turn and (one.proves or one is call)]
        calls.reverse()
        # After a recovery the old rounds count again once one was gone through anew.
        fresh = self.scene.journal.since_resume
        again = self.scene.journal.line(call.key).asked >= repeats
        length, extent = period(calls, longest, repeats, _same_outcome) if again else (0, 0)
        if length:
            self.scene.going_round = call
            if fresh >= length and extent >= length * _rounds(calls[-length:], repeats):
                yield self._found(call, calls[-extent:], length, now, exact=True)
            return
        if call.kind is Kind.NOTE:
            return
        # Thoughts differ in their words as text does; they are no part of a round.
        calls = [one for one in calls if one.kind is not Kind.NOTE]
        if len(calls) > 2 and _nearly_same(calls[-2], call) and _nearly_same(calls[-3], calls[-2]):
            # Variations of one call are `detect.variations`' matter.
            return
        length, extent = period(calls, longest, repeats, _nearly_same)
        if length and fresh >= length:
            yield self._found(call, calls[-extent:], length, now, exact=False)

    def gauges(self, now: float) -> Iterable[Gauge]:
        journal, settings = self.scene.journal, self.scene.settings
        calls = [
            one
            for one in tail(journal.recent, settings.max_cycle_length * (settings.cycle_repeats + 1))
            if one.turn == journal.turn and one.proves
        ]
        yield from _rounds_gone(calls, settings, _same_outcome)

    def _found(self, call: Call, proof: Sequence[Call], length: int, now: float, *, exact: bool) -> Finding:
        repeats = self.scene.allows(self.scene.settings.cycle_repeats)
        hard = exact or len(proof) >= length * repeats + AFTER_NUDGE
        if exact:
            self.scene.standing.block(call.key, self.scene.journal.changes)
        return self.scene.finding(
            "call-cycle",
            Action.BLOCK if exact else Action.NUDGE,
            call,
            proof,
            now,
            identity=rotation([one.key if exact else _name(one) for one in proof[-2 * length : -length]]),
            count=len(proof) // length,
            limit=Action.STOP if hard else Action.NUDGE,
            length=length,
            threshold=repeats,
        )


class NoisyCycle(Plain):
    """Preset ``balanced``: a round with other calls strewn in, as a nudge.

    Only calls that came three times with the same outcome, nothing having changed, are looked at;
    the others are noise and may make up half of the stretch.
    """

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        journal, settings = self.scene.journal, self.scene.settings
        repeats = self.scene.allows(settings.cycle_repeats)
        if call.kind is Kind.WAIT or journal.row_length >= settings.max_cycle_length:
            return
        if self.scene.going_round is call:
            return
        if len(journal.unchanged(call)) < repeats - 1:
            return
        stretch = [
            one for one in tail(journal.recent, STRETCH) if one.turn == call.turn and one.epoch == call.epoch
        ]
        counts = Counter(one.key for one in stretch)
        again = [one for one in stretch if counts[one.key] >= repeats and (one is call or one.proves)]
        length, extent = period(again, settings.max_cycle_length, repeats, _same_outcome)
        if not length or journal.since_resume < length:
            return
        proof = again[-extent:]
        span = sum(one.asked_seq >= proof[0].asked_seq for one in stretch)
        if span == len(proof) or span > 2 * len(proof):
            return
        yield self.scene.finding(
            "call-cycle",
            Action.NUDGE,
            call,
            proof,
            now,
            identity=rotation([one.key for one in proof[-length:]]),
            count=extent // length,
            limit=Action.BLOCK if extent >= length * (repeats + 1) else Action.NUDGE,
            length=length,
            threshold=repeats,
            noise=span - len(proof),
        )


def _rounds_gone(calls: Sequence[Call], settings: CallSettings, same: Same) -> Iterable[Gauge]:
    """Rounds that ``calls`` have gone up to their end, from the second on."""
    length, extent = period(calls, settings.max_cycle_length, 2, same)
    if length:
        used, tool = extent // length, calls[-1].tool
        yield Gauge(rule="call-cycle", used=used, limit=settings.cycle_repeats, tool=tool)


def _same_key(one: Call, other: Call) -> bool:
    return one.key == other.key


def _same_outcome(one: Call, other: Call) -> bool:
    """Equal calls with equal outcomes; an outcome not known yet counts as unchanged."""
    if (token := one.token) and (another := other.token):
        return token == another
    return one.key == other.key


def _rounds(block: Sequence[Call], repeats: int) -> int:
    """How many rounds prove it: the answers of what moves through a page say little."""
    return max(repeats, MOVING_ROUNDS) if any(one.kind is Kind.MOVE for one in block) else repeats


def _nearly_same(one: Call, other: Call) -> bool:
    """As `_same_outcome`, but calls of one tool are the same, too, that fail in the same way, or
    that put the same question and get the same answer (of sub-agents: any answer)."""
    if _same_outcome(one, other):
        return True
    if one.tool != other.tool or one.kind is not other.kind:
        return False
    known = one.complete and other.complete
    if known and one.failed and other.failed and _fail_alike(one, other):
        return True
    if not known and (one if one.complete else other).failed and one.kind is Kind.EDIT:
        # A failing edit that is tried again with other arguments, its end still open.
        return True
    if (one.kind is Kind.DELEGATE or not known or one.raw == other.raw) and one.question == other.question:
        return True
    return not known and (one if one.complete else other).failed and is_variation(one, other)


def _fail_alike(one: Call, other: Call) -> bool:
    return one.alike() == other.alike() != "" or one.gist() == other.gist() != ""


def _name(call: Call) -> str:
    return f"{call.tool}:{call.gist() if call.failed else call.question}"
