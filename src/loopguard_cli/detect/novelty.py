"""no-novelty: a long stretch in which nothing was new.

Source: eight reported runaways in which the last thirty calls held not one that had not been made
before, whatever their order. Here a call is new when its key or its outcome is; a stretch of
thirty calls with at most one new thing, nothing changed and no waiting is a nudge.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import takewhile

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.keys import digest
from loopguard_cli.detect.rule import Plain, Scene
from loopguard_cli.detect.tools import WAIT

WINDOW = 30
NEW = 1


class NoNovelty(Plain):
    """Counts what is new over a window of calls."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._window: deque[tuple[Call, int, int]] = deque(maxlen=WINDOW)

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        if not call.complete or call.kind is WAIT or call.pending:
            return ()
        journal = self.scene.journal
        self._window.append((call, journal.news, journal.epoch))
        if len(self._window) < WINDOW:
            return ()
        _, news, epoch = self._window[0]
        if journal.news - news > NEW or journal.epoch != epoch:
            return ()
        proof = [one for one, _, _ in self._window]
        keys = sorted({one.key for one in proof})
        self._window.clear()
        finding = self.scene.finding(
            "no-novelty",
            Action.NUDGE,
            call,
            proof,
            now,
            identity=digest("\n".join(keys).encode()),
            limit=Action.ABORT,
            gate=False,
            window=WINDOW,
            distinct=len(keys),
        )
        return (finding,)

    def gauges(self, now: float) -> Iterable[Gauge]:
        """The latest calls that brought at most one new thing, once they are a third of the window."""
        journal = self.scene.journal
        stale = takewhile(
            lambda one: journal.news - one[1] <= NEW and journal.epoch == one[2], reversed(self._window)
        )
        used = sum(1 for _ in stale)
        if used >= WINDOW // 3:
            yield Gauge(rule="no-novelty", used=used, limit=WINDOW)

    def spoke(self) -> None:
        self._window.clear()

    def clear(self) -> None:
        self._window.clear()
