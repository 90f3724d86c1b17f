"""repeat-error: the same failure again and again.

Sources. Preset ``pi``: the same error three times in a row, whatever was called; digits collapsed,
UUIDs, timestamps and hexadecimal pointers masked; a success clears the row; the run is aborted.
Preset ``balanced``, where the same call failing is `detect.unchanged`'s matter: what failed together
counts once (one cancelled batch gives a row of equal errors), calls that were cancelled not at all;
one round more than the threshold is a nudge; two more, if errors and tool are equal, or three times as
many of one tool, if the errors are equal once masked, abort the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from loopguard_cli.core.findings import Action, Finding, Gauge
from loopguard_cli.detect import masking
from loopguard_cli.detect.call import Call
from loopguard_cli.detect.journal import PATIENCE
from loopguard_cli.detect.keys import digest
from loopguard_cli.detect.rule import Row, Scene
from loopguard_cli.detect.tools import READ

SAYING = 12
"""Letters of an error that says something; shorter ones ("exit code 1") say nothing in common."""

HEAD = 200
"""Characters at the beginning of an error that are looked at for what it says."""

NUDGE_EXTRA, HARD_EXTRA = 1, 2
"""Rounds beyond the threshold at which an error is a nudge, and at which equal errors of one tool
abort the turn."""

SCATTERED_EXTRA = 2
"""Further rounds for reads from ever other servers: each may refuse for itself."""

_HOST = re.compile(r"\s*https?://([^/\s?#]+)", re.IGNORECASE)

VARIED = 3
"""Times the threshold: rounds after which one tool that fails in the same way with varying arguments
aborts the turn."""

LATEST = 6
"""Failures of a row that are compared with each other."""

KEPT = 32


class ExactError(Row):
    """Preset ``pi``."""

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        if call.cancelled:
            return ()
        if not call.reported:
            self._row.clear()
            return ()
        if self._row and self._row[-1].alike() != call.alike():
            self._row.clear()
        self._row.append(call)
        limit = self.scene.settings.error_threshold
        if len(self._row) > limit:
            del self._row[0]
        if len(self._row) < limit:
            return ()
        finding = self.scene.finding(
            "repeat-error",
            Action.ABORT,
            call,
            self._row,
            now,
            identity=digest(call.alike().encode("utf-8", "surrogatepass")),
            gate=False,
            threshold=limit,
        )
        return (finding,)

    def gauges(self, now: float) -> Iterable[Gauge]:
        yield from _gauge(self._row, self.scene.settings.error_threshold)

    def settled(self) -> None:
        self._row.clear()


class RoundError(Row):
    """Preset ``balanced``."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._steady = 0
        """How many of the latest agree but for volatile parts."""
        self._identity = ("", "")
        """The latest complaint, and its digest: of one row all are equal."""

    def ended(self, call: Call, now: float) -> Iterable[Finding]:
        if call.cancelled:
            return ()
        row = self._row
        if not call.failed:
            if not row or call.batch != row[-1].batch:
                row.clear()
            return ()
        if call.pauses or (row and call.waits > row[-1].waits):
            # It takes its time between tries: waiting, which `detect.waiting` looks after.
            return ()
        if row and (row[-1].complaint() != call.complaint() or call.asked_at - row[-1].ended_at > PATIENCE):
            row.clear()
        if row and row[-1].batch == call.batch:
            return ()
        self._steady = self._steady + 1 if row and call.fails_as(row[-1]) else 1
        self._lengthen(call, KEPT)
        limit = self.scene.allows(self.scene.settings.error_threshold)
        if len(row) < limit + NUDGE_EXTRA or not says_something(call):
            return ()
        if call.kind is READ and _scattered(row):
            # Several places were asked, and each refuses.
            limit += SCATTERED_EXTRA
            if len(row) < limit + NUDGE_EXTRA:
                return ()
        first = row[0]
        one_tool = first.tool == call.tool and len({one.tool for one in row}) == 1
        equal = one_tool and first.raw == call.raw and len({one.raw for one in row}) == 1
        enough = limit + HARD_EXTRA
        if not equal:
            # A log's name or a time that differs makes no other error of it; a number may.
            steady = one_tool and len(row) > enough and self._steady > enough
            enough = enough + 1 if steady else VARIED * limit
        # Tools that do not exist are many, and one mistake.
        misnamed = not one_tool and all(one.complaint() != one.alike() for one in row)
        hard = len(row) >= enough and (one_tool or misnamed)
        finding = self.scene.finding(
            "repeat-error",
            Action.ABORT if hard else Action.NUDGE,
            call,
            row,
            now,
            identity=self._identified(call.complaint()),
            limit=Action.STOP if hard else Action.NUDGE,
            gate=False,
            threshold=limit,
        )
        return (finding,)

    def gauges(self, now: float) -> Iterable[Gauge]:
        yield from _gauge(self._row, self.scene.settings.error_threshold + NUDGE_EXTRA)

    def _identified(self, complaint: str) -> str:
        if complaint != self._identity[0]:
            self._identity = complaint, digest(complaint.encode("utf-8", "surrogatepass"))
        return self._identity[1]


def _gauge(row: list[Call], limit: int) -> Iterable[Gauge]:
    if row:
        yield Gauge(rule="repeat-error", used=len(row), limit=limit, tool=row[-1].tool)


def _scattered(row: list[Call]) -> bool:
    """Ever other servers were asked."""
    hosts = [_host(one) for one in row[-LATEST:]]
    return "" not in hosts and len(set(hosts)) == len(hosts)


def _host(call: Call) -> str:
    """The server that an address among the arguments of ``call`` names."""
    given = (_HOST.match(value) for value in call.arguments.values() if isinstance(value, str))
    return next((match[1] for match in given if match is not None), "")


def says_something(call: Call) -> bool:
    """Its error is more than a status."""
    return _letters((call.output or "")[:HEAD]) >= SAYING


@lru_cache(maxsize=64)
def _letters(text: str) -> int:
    return sum(map(len, masking.words(text)))
