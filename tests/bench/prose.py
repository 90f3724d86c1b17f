"""What streamed text costs, as a section; the measuring is `tests.bench.text`'s."""

from __future__ import annotations

from tests.bench import text
from tests.bench.section import Row

TITLE = "Streamed text"
BUDGET = 50.0
"""Microseconds, of a KiB of text in one piece, and of an event (see docs/decisions/0018-reading.md)."""
WHOLE = 1_024


def measure() -> list[Row]:
    rows = []
    for one in text.measure():
        rule = str(one["rule"])
        what = f"{one['text']} in pieces of {one['piece']} characters: {rule}"
        budget = BUDGET if rule in ("hub, infinity", "hub, balanced") else None
        whole = one["piece"] == WHOLE
        rows.append(Row(what, float(str(one["us_per_kib"])), "µs/KiB", budget if whole else None))
        if rule.startswith("hub") and not whole:
            rows.append(Row(f"{what}, each", float(str(one["us_per_event"])), "µs/event", budget))
    rows.append(Row("last tenth of a long message over its first", text.growth(), "times"))
    return rows
