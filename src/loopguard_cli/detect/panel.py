"""All detectors of one session behind one face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loopguard_cli.core.events import Event
from loopguard_cli.core.findings import CallView, Finding, Gauge
from loopguard_cli.core.ids import CallId, SessionId
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.detect.base import Detector, Quiet
from loopguard_cli.detect.calls import CallRules
from loopguard_cli.detect.kin import Kin
from loopguard_cli.detect.pace import pace
from loopguard_cli.detect.responses import responses
from loopguard_cli.detect.text import streamed_text


class DetectorPanel:
    """Implements `core.findings.Panel`."""

    def __init__(
        self, session: SessionId, settings: GuardSettings, kin: Kin | None = None, *, mixed: bool = False
    ) -> None:
        """``kin``: what it shares with the other sessions of its run (see `Panels`). ``mixed``: see
        `core.settings.Capabilities`."""
        self._session = session
        self._mixed = mixed
        self._settings = settings
        self._calls = CallRules(session, settings, kin or Kin())
        self._assemble()

    def observe(self, event: Event, seq: int, now: float) -> Sequence[Finding]:
        kind = type(event)
        if (hearing := self._hearing.get(kind)) is None:
            hearing = [one for one in self._detectors if not one.HEARS or kind in one.HEARS]
            self._hearing[kind] = hearing
        found: list[Finding] = []
        for detector in hearing:
            found += detector.observe(event, seq, now)
        return found

    def deadline(self) -> float | None:
        if not self._timed:
            return None
        times = [detector.deadline() for detector in self._timed]
        return min((time for time in times if time is not None), default=None)

    def tick(self, now: float) -> Sequence[Finding]:
        return [finding for detector in self._detectors for finding in detector.tick(now)]

    def call_blocked(self, call: CallId, now: float) -> None:
        self._calls.refused(call)

    def reset(self) -> None:
        for detector in self._detectors:
            detector.reset()

    def resumed(self, now: float) -> None:
        for detector in self._detectors:
            detector.resumed(now)

    def reconfigure(self, settings: GuardSettings) -> None:
        text_changed = (settings.preset, settings.text, settings.pace) != (
            self._settings.preset,
            self._settings.text,
            self._settings.pace,
        )
        self._settings = settings
        self._calls.reconfigure(settings)
        if text_changed:
            self._assemble()

    def calls(self, now: float) -> Sequence[CallView]:
        return self._calls.views(now)

    def gauges(self, now: float) -> Sequence[Gauge]:
        return [gauge for detector in self._detectors for gauge in detector.gauges(now)]

    def view(self, call: CallId, now: float) -> CallView | None:
        return self._calls.view(call, now)

    def check(self, fields: Mapping[str, Any], now: float) -> Mapping[str, Any]:
        return self._calls.check(fields, now)

    def decide(self, fields: Mapping[str, Any], now: float) -> Mapping[str, Any]:
        return self._calls.decide(fields, now)

    # --- inside ------------------------------------------------------------------------------

    def _assemble(self) -> None:
        session, settings = self._session, self._settings
        # Order matters only for findings of the same event: earlier ones come first.
        families = (
            streamed_text(session, settings, mixed=self._mixed),
            responses(session, settings),
            pace(session, settings),
        )
        self._detectors: list[Detector] = [self._calls, *(one for one in families if one is not None)]
        self._hearing: dict[type[Event], list[Detector]] = {}
        """Who is told of an event, by its type."""
        quiet: object = Quiet.deadline
        self._timed = [one for one in self._detectors if type(one).deadline is not quiet]
        """Those with timers; most sessions have none."""


class Panels:
    """Makes the panels of one run's sessions, which learn from each other what their siblings tried."""

    def __init__(self, *, mixed: bool = False) -> None:
        self._kin = Kin()
        self._mixed = mixed

    def __call__(self, session: SessionId, settings: GuardSettings) -> DetectorPanel:
        return DetectorPanel(session, settings, self._kin, mixed=self._mixed)
