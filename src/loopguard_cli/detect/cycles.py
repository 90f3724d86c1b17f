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
from collections.abc import Callable, Iterable, Reversible, Sequence
from itertools import islice

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.core.settings import CallSettings
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.keys import digest
from loopguard_cli.detect.resemblance import is_variation
from loopguard_cli.detect.rule import Plain
from loopguard_cli.detect.tools import DELEGATE, EDIT, MOVE, NOTE, WAIT

STRETCH = 48
"""Calls among which a round with noise is looked for."""

MOVING_ROUNDS = 6

AFTER_NUDGE = 2
"""Calls that a soft round goes on after it was first seen before more than a nudge is justified."""

Same = Callable[[Call, Call], bool]


def period(calls: Sequence[Call], longest: int, repeats: int, same: Same) -> tuple[int, int]:
    """Length and extent of the shortest round, of 2 calls or more, that ends with the first of ``calls``.

    ``calls`` has the newest first. The extent is the number of calls that go round, at least ``repeats``
    rounds; (0, 0) if none do.
    """
    count = len(calls)
    if count < 2 * repeats:
        return 0, 0
    # The pair with the latest call comes last: its end is open, and it costs most to compare.
    before = calls[1]
    tool = before.tool
    names: list[str] = []
    for length in range(2, min(longest, count // repeats) + 1):
        earlier = calls[1 + length]
        # Calls that are the same are of one tool.
        if earlier.tool != tool or not same(earlier, before):
            continue
        # Mostly their names say so; where they do not, it is looked closely.
        names = names or [one.token or one.key for one in calls]
        extent = count if names[1 + length :] == names[1:-length] else length + 2
        while extent < count and (
            names[extent] == names[extent - length] or same(calls[extent], calls[extent - length])
        ):
            extent += 1
        if extent >= length * repeats and same(calls[length], calls[0]):
            first = calls[length - 1]
            if all(one.key == first.key for one in calls[:length]) or all(
                same(first, other) for other in calls[: length - 1]
            ):
                # One call, whatever it answers, is no round.
                break
            return length, extent
    return 0, 0


def rotation(names: Sequence[str]) -> str:
    """Identity of a round, wherever one enters it."""
    least = min(names)
    turned = min([*names[at:], *names[:at]] for at, name in enumerate(names) if name == least)
    return digest("\n".join(turned).encode())


def newest(calls: Reversible[Call], count: int) -> list[Call]:
    """The latest ``count`` calls, newest first."""
    return list(islice(reversed(calls), count))


def tail(calls: Reversible[Call], count: int) -> list[Call]:
    """The latest ``count`` calls, oldest first."""
    latest = newest(calls, count)
    latest.reverse()
    return latest


class ExactCycle(Plain):
    """Preset ``pi``: keys only."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        settings = self.scene.settings
        calls = newest(self.scene.journal.recent, settings.max_cycle_length * settings.cycle_repeats)
        length, _ = period(calls, settings.max_cycle_length, settings.cycle_repeats, _same_key)
        if not length:
            return ()
        proof = calls[length * settings.cycle_repeats - 1 :: -1]
        finding = self.scene.finding(
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
        return (finding,)

    def gauges(self, now: float) -> Iterable[Gauge]:
        settings = self.scene.settings
        calls = newest(self.scene.journal.recent, settings.max_cycle_length * settings.cycle_repeats)
        yield from _rounds_gone(calls, settings, _same_key)


class OutcomeCycle(Plain):
    """Preset ``balanced``: keys and outcomes, or keys and errors."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        scene = self.scene
        journal, settings = scene.journal, scene.settings
        longest = settings.max_cycle_length
        if call.kind is WAIT or journal.row_length >= longest:
            return ()
        repeats = scene.allows(settings.cycle_repeats)
        turn, considered = call.turn, newest(journal.recent, longest * (repeats + 1))
        # After a recovery the old rounds count again once one was gone through anew.
        fresh = journal.since_resume
        if journal.line(call.key).asked >= repeats:
            calls = [one for one in considered if one.proves and one.turn == turn]
            length, extent = period(calls, longest, repeats, _same_outcome)
            if length:
                scene.going_round = call
                if fresh >= length and extent >= length * _rounds(calls[:length], repeats):
                    return (self._found(call, calls[extent - 1 :: -1], length, now, exact=True),)
                return ()
        if call.kind is NOTE:
            return ()
        # Thoughts differ in their words as text does; they are no part of a round.
        calls = [one for one in considered if one.proves and one.turn == turn and one.kind is not NOTE]
        if len(calls) < 2 * repeats or _one_thing(calls):
            return ()
        length, extent = period(calls, longest, repeats, _nearly_same)
        if length and fresh >= length:
            return (self._found(call, calls[extent - 1 :: -1], length, now, exact=False),)
        return ()

    def gauges(self, now: float) -> Iterable[Gauge]:
        journal, settings = self.scene.journal, self.scene.settings
        calls = [
            one
            for one in newest(journal.recent, settings.max_cycle_length * (settings.cycle_repeats + 1))
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
        scene = self.scene
        journal, settings = scene.journal, scene.settings
        repeats = scene.allows(settings.cycle_repeats)
        if len(journal.line(call.key).same) < repeats - 1 or call.kind is WAIT:
            return ()
        if scene.going_round is call or journal.row_length >= settings.max_cycle_length:
            return ()
        if len(journal.unchanged(call)) < repeats - 1:
            return ()
        turn, epoch = call.turn, call.epoch
        stretch = [one for one in newest(journal.recent, STRETCH) if one.turn == turn and one.epoch == epoch]
        counts = Counter(one.key for one in stretch)
        again = [one for one in stretch if counts[one.key] >= repeats and (one is call or one.proves)]
        length, extent = period(again, settings.max_cycle_length, repeats, _same_outcome)
        if not length or journal.since_resume < length:
            return ()
        proof = again[extent - 1 :: -1]
        span = sum(one.asked_seq >= proof[0].asked_seq for one in stretch)
        if span == len(proof) or span > 2 * len(proof):
            return ()
        finding = scene.finding(
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
        return (finding,)


def _rounds_gone(calls: Sequence[Call], settings: CallSettings, same: Same) -> Iterable[Gauge]:
    """Rounds that ``calls`` (newest first) have gone by now, from the second on."""
    length, extent = period(calls, settings.max_cycle_length, 2, same)
    if length:
        used, tool = extent // length, calls[0].tool
        yield Gauge(rule="call-cycle", used=used, limit=settings.cycle_repeats, tool=tool)


def _one_thing(calls: Sequence[Call]) -> bool:
    """The latest three are variations of one call, which is `detect.variations`' matter."""
    latest, before, earlier = calls[:3]
    if not latest.tool == before.tool == earlier.tool:
        return False
    return _nearly_same(earlier, before) and _nearly_same(before, latest)


def _same_key(one: Call, other: Call) -> bool:
    return one.key == other.key


def _same_outcome(one: Call, other: Call) -> bool:
    """Equal calls with equal outcomes; an outcome not known yet counts as unchanged."""
    if (token := one.token) and (another := other.token):
        return token == another
    return one.key == other.key


def _rounds(block: Sequence[Call], repeats: int) -> int:
    """How many rounds prove it: the answers of what moves through a page say little."""
    return max(repeats, MOVING_ROUNDS) if any(one.kind is MOVE for one in block) else repeats


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
    if not known and (one if one.complete else other).failed and one.kind is EDIT:
        # A failing edit that is tried again with other arguments, its end still open.
        return True
    if (one.kind is DELEGATE or not known or one.raw == other.raw) and one.question == other.question:
        return True
    return not known and (one if one.complete else other).failed and is_variation(one, other)


def _fail_alike(one: Call, other: Call) -> bool:
    return one.alike() == other.alike() != "" or one.gist() == other.gist() != ""


def _name(call: Call) -> str:
    return f"{call.tool}:{call.gist() if call.failed else call.question}"
