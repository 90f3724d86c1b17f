"""fruitless-edits: edit, run, edit, run, and always the same failure.

Source: reported false alarms on edit-test work, and the runaways among them. A change makes the
next run of an equal call new, so the rules about repetition are silent; this one counts how often
a call failed with the same outcome although something was changed each time. Eight are a nudge. The
same error of other commands counts as well, as long as no command of that tool works.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.core.ids import CallKey
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.errors import says_something
from loopguard_cli.detect.rule import Plain, Scene
from loopguard_cli.detect.tools import ACT

KEYS = 64
KEPT = 64


class FruitlessEdits(Plain):
    """Counts equal failures per key, whatever was changed in between."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._failures: OrderedDict[CallKey, list[Call]] = OrderedDict()
        self._alike: list[Call] = []
        """Failures of one tool with one error."""

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        if not call.complete:
            return ()
        if not call.failed:
            self._failures.pop(call.key, None)
            if self._alike and call.tool == self._alike[-1].tool and call.kind is ACT and not call.writes:
                self._alike.clear()
            return ()
        row = self._longer(self._row(call), call)
        limit = self.scene.settings.fruitless_edit_cycles
        # Mostly nothing has changed since the first.
        changes = 1 if row[0].epoch == call.epoch else len({one.epoch for one in row})
        if changes < limit or changes % limit:
            return ()
        finding = self.scene.finding(
            "fruitless-edits",
            Action.NUDGE,
            call,
            row,
            now,
            count=changes,
            limit=Action.ABORT if changes > 2 * limit else Action.NUDGE,
            gate=False,
            threshold=limit,
        )
        return (finding,)

    def gauges(self, now: float) -> Iterable[Gauge]:
        """Changes after which the call that failed last failed in the same way, from the second on."""
        row = next(reversed(self._failures.values()), [])
        if (used := len({one.epoch for one in row})) > 1:
            limit = self.scene.settings.fruitless_edit_cycles
            yield Gauge(rule="fruitless-edits", used=used, limit=limit, tool=row[-1].tool)

    def _longer(self, row: list[Call], call: Call) -> list[Call]:
        """``row``, or the failures of other calls that are like it, if there are more."""
        alike = self._alike
        if alike and (alike[-1].tool != call.tool or not call.fails_as(alike[-1])):
            alike.clear()
        alike.append(call)
        if len(alike) > KEPT:
            del alike[1]
        return alike if len(alike) > len(row) and says_something(call) else row

    def forget(self, key: CallKey) -> None:
        self._failures.pop(key, None)

    def spoke(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._failures.clear()
        self._alike.clear()

    def _row(self, call: Call) -> list[Call]:
        row = self._failures.setdefault(call.key, [])
        self._failures.move_to_end(call.key)
        while len(self._failures) > KEYS:
            self._failures.popitem(last=False)
        if row and call.token != row[-1].token:
            row.clear()
        row.append(call)
        if len(row) > KEPT:
            del row[1]
        return row
