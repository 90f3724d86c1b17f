"""Goals and the ledger: what a run, or ``loopguard goal`` without one, starts from.

Writing needs nothing of its own: the goal loop asks for it with `core.effects.Record`. Goals that
were set while no run was live wait under `goal.evolve.WAITING`; a run may take them up only while
it holds the lease of that name, so that of two runs in one folder only one does.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from loopguard_cli.core.effects import TakeLease
from loopguard_cli.core.events import LeaseSettled
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.errors import StoreError
from loopguard_cli.goal.evolve import Books, fold
from loopguard_cli.goal.model import Book
from loopguard_cli.goal.records import Kind, Snapshot, pack
from loopguard_cli.store.lines import Damage
from loopguard_cli.store.reading import read_state

if TYPE_CHECKING:
    from loopguard_cli.store.lease import Leases


class StoredGoals(msgspec.Struct, frozen=True, kw_only=True):
    """What the ledger knows about goals."""

    records: tuple[GoalRecord, ...] = ()
    """Oldest first; their fold (`goal.evolve.fold`) is the state."""
    damage: tuple[Damage, ...] = ()

    def books(self) -> Books:
        return fold({}, self.records)[0]

    def snapshot(self, session: SessionId, at: float) -> GoalRecord:
        """The state of one session as a single record, for the takeover of its lease."""
        return pack(session, "", Kind.SNAPSHOT, Snapshot(at=at, book=self.books().get(session, Book())))


def stored_goals(path: Path) -> StoredGoals:
    """All goals in the state folder ``path``. Raises StoreError when it cannot be used safely."""
    records: list[GoalRecord] = []
    damage: list[Damage] = []
    for item in read_state(path):
        if isinstance(item, Damage):
            damage.append(item)
        elif isinstance(item.record, GoalRecord):
            records.append(item.record)
    return StoredGoals(records=tuple(records), damage=tuple(damage))


def settle_lease(path: Path, leases: Leases, wish: TakeLease, now: float) -> LeaseSettled:
    """Perform `TakeLease` in the state folder ``path``. Never raises; ``now`` is Unix time."""
    try:
        refusal = leases.acquire(wish.session)
        if refusal is not None:
            return LeaseSettled(session=wish.session, effect=wish.effect, ok=False, error=refusal.text)
        stored = stored_goals(path)
    except StoreError as error:
        return LeaseSettled(session=wish.session, effect=wish.effect, ok=False, error=str(error), unsafe=True)
    known = wish.session in stored.books()
    records = (stored.snapshot(wish.session, now),) if known else ()
    return LeaseSettled(session=wish.session, effect=wish.effect, ok=True, records=records)
