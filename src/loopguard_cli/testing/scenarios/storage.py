"""Where a scenario's records go: memory here, the real ledger in `persistent`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from loopguard_cli.core.effects import TakeLease
from loopguard_cli.core.events import LeaseSettled
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.goal.records import Kind

if TYPE_CHECKING:
    from loopguard_cli.testing.scenarios.engine import Engine


class Storage(Protocol):
    """What the engine needs of a storage."""

    leases: bool
    problems: list[str]
    """What steps that watch over something saw go wrong."""

    def start(self, process: int) -> Iterable[GoalRecord]:
        """A new process begins; the records it starts from."""

    def stop(self, *, orderly: bool) -> None: ...

    def append(self, record: GoalRecord, *, sync: bool) -> str:
        """Write one record; the error, empty when it is written."""

    def take_lease(self, effect: TakeLease) -> LeaseSettled: ...

    def step(self, engine: Engine, step: dict[str, Any]) -> bool:
        """Do a step that concerns storage; False when it is none."""

    def compare(self, engine: Engine, key: str, want: Any, session: str) -> str | None:
        """An expectation about files; empty: it holds, None: unknown."""

    def close(self) -> None: ...


class Failures:
    """Which of the two files of the described plugin cannot be written.

    Our one ledger stands for both: an outcome is lost only if both fail, a claim already if the
    state fails.
    """

    def __init__(self) -> None:
        self.state = self.ledger = False

    def change(self, step: dict[str, Any]) -> None:
        self.state = step.get("state", "fail" if self.state else "ok") == "fail"
        self.ledger = step.get("ledger", "fail" if self.ledger else "ok") == "fail"

    def hit(self, record: GoalRecord) -> bool:
        return self.state and (self.ledger or record.event == Kind.CLAIMED)


class Memory:
    """A list of records, kept over restarts only if ``persist``."""

    leases = False

    def __init__(self, persist: bool) -> None:
        self.persist = persist
        self.records: list[GoalRecord] = []
        self.failures = Failures()
        self.problems: list[str] = []

    def start(self, process: int) -> Iterable[GoalRecord]:
        if not self.persist and process > 1:
            self.records.clear()
        return list(self.records)

    def stop(self, *, orderly: bool) -> None:
        pass

    def append(self, record: GoalRecord, *, sync: bool) -> str:
        if self.persist and self.failures.hit(record):
            return "no space left on device"
        self.records.append(record)
        return ""

    def take_lease(self, effect: TakeLease) -> LeaseSettled:
        return LeaseSettled(session=effect.session, effect=effect.effect, ok=True)

    def step(self, engine: Engine, step: dict[str, Any]) -> bool:
        if step["do"] == "storage":
            self.failures.change(step)
            return True
        return False

    def compare(self, engine: Engine, key: str, want: Any, session: str) -> str | None:
        return None

    def close(self) -> None:
        pass
