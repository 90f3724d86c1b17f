"""consecutive-call as the pi guard has it.

Source: the pi guard: the same call three times in a row, outcomes ignored, with a threshold of its
own per tool; the call is refused and the run aborted.
"""

from __future__ import annotations

from collections.abc import Iterable

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.core.ids import CallKey
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.rule import Row


class ConsecutiveCall(Row):
    """Counts how often the latest call came in a row."""

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        if self._row and self._row[-1].key != call.key:
            self._row.clear()
        self._row.append(call)
        limit = self.scene.threshold(call.tool, self.scene.settings.consecutive_threshold)
        if len(self._row) > limit:
            del self._row[0]
        if len(self._row) >= limit:
            yield self.scene.finding("consecutive-call", Action.ABORT, call, self._row, now, threshold=limit)

    def gauges(self, now: float) -> Iterable[Gauge]:
        if self._row:
            tool = self._row[-1].tool
            limit = self.scene.threshold(tool, self.scene.settings.consecutive_threshold)
            yield Gauge(rule="consecutive-call", used=len(self._row), limit=limit, tool=tool)

    def forget(self, key: CallKey) -> None:
        if self._row and self._row[-1].key == key:
            self._row.clear()

    def settled(self) -> None:
        self._row.clear()
