"""repeated-delegation: the same task given to a sub-agent again and again.

Source: reported loops between a parent and its children, in which no child repeats itself and the
children's reports always differ in words. What counts is the task: three rounds in a row with the
same task, or one that only varies it, are a nudge; the fourth equal one is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.cycles import tail
from loopguard_cli.detect.resemblance import is_variation
from loopguard_cli.detect.rule import Plain
from loopguard_cli.detect.tools import Kind

NUDGE, BLOCK = 3, 4
CONSIDERED = 24


class RepeatedDelegation(Plain):
    """Counts rounds in which one task was delegated."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        if call.kind is not Kind.DELEGATE:
            return
        proof = self._rounds(call)
        equal = all(one.key == call.key for one in proof)
        if len(proof) >= BLOCK and equal:
            self.scene.standing.block(call.key, self.scene.journal.changes)
            yield self._found(call, proof, now, Action.BLOCK)
        elif len(proof) >= NUDGE:
            yield self._found(call, proof, now, Action.NUDGE)

    def gauges(self, now: float) -> Iterable[Gauge]:
        """Rounds in which the task of the latest delegation was given, from the second on."""
        recent = self.scene.journal.recent
        call = recent[-1] if recent else None
        if call is None or call.kind is not Kind.DELEGATE:
            return
        if (used := len(self._rounds(call))) > 1:
            yield Gauge(rule="repeated-delegation", used=used, limit=NUDGE, tool=call.tool)

    def _rounds(self, call: Call) -> list[Call]:
        """One delegation of the same task for each of the latest rounds, oldest first."""
        given: dict[int, Call] = {}
        for one in reversed(tail(self.scene.journal.recent, CONSIDERED)):
            if one.turn != call.turn or one.kind is not Kind.DELEGATE:
                break
            if one.key != call.key and not is_variation(one, call):
                if one.round == call.round:
                    # A fan-out of several tasks; the others of this round prove nothing.
                    continue
                break
            given[one.round] = one
        return list(reversed(given.values()))

    def _found(self, call: Call, proof: list[Call], now: float, action: Action) -> Finding:
        return self.scene.finding(
            "repeated-delegation",
            action,
            call,
            proof,
            now,
            identity=f"{call.tool}:{call.turn}",
            limit=Action.ABORT if action is Action.BLOCK or len(proof) >= 2 * NUDGE else Action.NUDGE,
            threshold=NUDGE,
        )
