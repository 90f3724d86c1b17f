"""sibling-error: what sub-agents of one parent try in vain, one after the other.

Source: reported runs in which a parent starts one sub-agent after another with ever new words, and
each of them makes the same failing call; no session by itself repeats anything. A call that failed
in the same way in three sub-agents of one parent, nothing having been changed in that family since,
is a nudge when a further one asks for it, and refused when five have failed with it.
"""

from __future__ import annotations

from collections.abc import Iterable

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.rule import Plain, Scene

NUDGE, BLOCK = 3, 5


class SiblingError(Plain):
    """A sub-agent is about to fail as its siblings did."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._changes = 0

    def asked(self, call: Call, now: float) -> Iterable[Finding]:
        before = self.scene.kin.failures(self.scene.session, call.key) if call.fresh else ()
        if len(before) < NUDGE:
            return ()
        finding = self.scene.finding(
            "sibling-error",
            Action.BLOCK if len(before) >= BLOCK else Action.NUDGE,
            call,
            [call],
            now,
            earlier=before,
            count=len(before),
            limit=Action.ABORT if len(before) >= BLOCK else Action.NUDGE,
            threshold=NUDGE,
        )
        return (finding,)

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        kin, session, changes = self.scene.kin, self.scene.session, self.scene.journal.changes
        if changes != self._changes:
            self._changes = changes
            kin.changed(session)
        if call.failed and call.complete:
            kin.failed(session, call)
        elif call.complete:
            kin.worked(session, call.key)
        return ()

    def gauges(self, now: float) -> Iterable[Gauge]:
        """Other sub-agents in which the latest call failed in the same way."""
        recent = self.scene.journal.recent
        if not recent:
            return
        if used := len(self.scene.kin.failures(self.scene.session, recent[-1].key)):
            yield Gauge(rule="sibling-error", used=used, limit=NUDGE, tool=recent[-1].tool)

    def spoke(self) -> None:
        self.scene.kin.changed(self.scene.session)
