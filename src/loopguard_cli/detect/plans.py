"""same-outcome for lists: a plan is written again and again, and nothing is done.

Source: reported loops in which the same steps are put in ever other words and none is begun. A call
that writes a whole list (a plan, to-dos) says how far its items are; five such calls of one tool in a
row, with no other call between and none of their items further, are a nudge; after eight the turn may
be cut off. Lists that grow item by item, and thoughts, are another matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.keys import digest
from loopguard_cli.detect.rule import Row, Scene
from loopguard_cli.detect.tools import NOTE

NUDGE, HARD = 5, 8
KEPT = 16
ITEMS = 64
"""Items of a list that are looked at."""

_STATES = ("status", "state", "done", "completed", "checked", "progress")
_BOX = re.compile(r"^\s*(?:[-*+]|\d+[.)])?\s*\[(.)\]", re.MULTILINE)

States = tuple[str, ...]


class PlanAgain(Row):
    """Counts lists that are written anew and have not got on."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._states: States = ()

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        row = self._row
        states = states_of(call.arguments) if call.kind is NOTE else ()
        if len(states) < 2:
            row.clear()
            return ()
        if row and not (_together(row[-1], call) and _alike(states, self._states)):
            row.clear()
        self._states = states
        self._lengthen(call, KEPT)
        if len(row) < self.scene.allows(NUDGE) or len({one.key for one in row}) < 2:
            return ()
        finding = self.scene.finding(
            "same-outcome",
            Action.NUDGE,
            call,
            row,
            now,
            identity=digest(f"{call.tool}:{call.turn}".encode()),
            limit=Action.ABORT if len(row) >= HARD else Action.NUDGE,
            threshold=NUDGE,
        )
        return (finding,)

    def gauges(self, now: float) -> Iterable[Gauge]:
        row = self._row
        if len({one.key for one in row}) > 1:
            yield Gauge(rule="same-outcome", used=len(row), limit=self.scene.allows(NUDGE), tool=row[-1].tool)


def states_of(args: Mapping[str, Any]) -> States:
    """How far the items of the list are that ``args`` hold; empty if they hold none."""
    for value in args.values():
        if isinstance(value, str) and len(boxes := _BOX.findall(value)) > 1:
            return tuple(boxes[:ITEMS])
        if isinstance(value, Sequence) and not isinstance(value, str):
            items = [item for item in value[:ITEMS] if isinstance(item, Mapping)]
            states = [next((str(item[name]) for name in _STATES if name in item), "") for item in items]
            if len(items) > 1 and any(states):
                return tuple(states)
    return ()


def _together(one: Call, other: Call) -> bool:
    return one.tool == other.tool and one.turn == other.turn


def _alike(one: States, other: States) -> bool:
    """No item is further: the same states in the same order; of lists that differ in length, the same
    states at all."""
    if len(one) == len(other):
        return one == other
    short, long = sorted((len(one), len(other)))
    return long <= 2 * short and one[0] == other[0] and set(one) == set(other)
