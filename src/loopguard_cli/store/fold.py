"""What is still live in a ledger: what a new file has to begin with.

Restated are the runs that have not ended, newest last, and every goal. Guard counters are not:
they belong to the process that counts and die with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopguard_cli.core.records import GoalRecord, RunEnded, RunStarted
from loopguard_cli.store.lines import Entry

MAX_OPEN_RUNS = 16
"""A run that was killed never ends; only the newest are of interest."""


def compact(entries: Iterable[Entry]) -> Sequence[Entry]:
    """The fewest entries whose fold is that of ``entries``."""
    runs: dict[str, Entry] = {}
    goals: list[Entry] = []
    for entry in entries:
        match entry.record:
            case RunStarted():
                runs[entry.run] = entry
            case RunEnded():
                runs.pop(entry.run, None)
            case GoalRecord():
                goals.append(entry)
            case _:
                pass
    return [*list(runs.values())[-MAX_OPEN_RUNS:], *goals]
