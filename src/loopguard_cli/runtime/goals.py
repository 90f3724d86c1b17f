"""The goals of one run: the pure loop, tied to the ledger that it starts from and to the leases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loopguard_cli.core.effects import TakeLease
from loopguard_cli.core.events import Event, LeaseSettled
from loopguard_cli.core.ids import EffectId, SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.errors import StoreError
from loopguard_cli.goal.loop import Goals
from loopguard_cli.goal.settings import GoalSettings
from loopguard_cli.store.goals import settle_lease, stored_goals
from loopguard_cli.store.lease import Leases

LOST = "another loopguard has taken this session over"


class GoalKeeper:
    """Answers what the goal loop asks of the store, and gives its leases back at the end."""

    def __init__(
        self, path: Path, *, run: str, settings: GoalSettings, capabilities: Capabilities, salt: str
    ) -> None:
        """``path``: the state folder."""
        self.goals = Goals(settings, capabilities=capabilities, salt=salt, leases=True)
        self._path = path
        self._leases = Leases(path, run=run)

    def restore(self) -> int:
        """Start from what the ledger has; how many records of it nobody can make out.

        Raises StoreError.
        """
        return self.goals.restore(stored_goals(self._path).records)

    def restated(self, now: float) -> Sequence[GoalRecord]:
        """What a new ledger must begin with, should the old one be deleted during the run."""
        return self.goals.restated(now)

    def take(self, wish: TakeLease, now: float) -> LeaseSettled:
        """Perform `TakeLease`."""
        return settle_lease(self._path, self._leases, wish, now)

    def lost(self, session: SessionId) -> LeaseSettled | None:
        """None while this run may prompt ``session``.

        Read back from disk: while this process was suspended, somebody else may have taken over. The
        answer takes the place of the prompt's own.
        """
        return None if self._leases.holds(session) else _lost(session)

    def beat(self) -> list[Event]:
        """Say that this run lives; every `store.lease.HEARTBEAT_SECONDS`."""
        try:
            return [_lost(SessionId(session)) for session in self._leases.beat()]
        except StoreError:
            return []  # a lease is kept by the process that holds it, not by its heartbeat alone

    def close(self) -> None:
        """The run is over."""
        self.goals.close()
        self._leases.close()


def _lost(session: SessionId) -> LeaseSettled:
    return LeaseSettled(session=session, effect=EffectId(""), ok=False, error=LOST)
