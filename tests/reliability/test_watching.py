"""The watchdog and real processes, one of each kind; ``python -m tests.reliability.watching`` has twenty."""

from __future__ import annotations

from tests.reliability.watching import all_cases, watch


def test_quiet_and_busy_processes_are_told_from_hung_ones() -> None:
    assert [outcome for outcome in watch(all_cases(1)) if not outcome.right] == []
