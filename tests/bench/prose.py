"""What streamed text costs, as a section; the measuring is `tests.bench.text`'s."""

from __future__ import annotations

from tests.bench import text
from tests.bench.section import Row

TITLE = "Streamed text"
BUDGET = 50.0


def measure() -> list[Row]:
    rows = []
    for one in text.measure():
        whole = str(one["rule"]).startswith("hub")
        what = f"{one['text']} in pieces of {one['piece']} characters: {one['rule']}"
        rows.append(Row(what, float(str(one["us_per_kib"])), "µs/KiB", BUDGET if whole else None))
    rows.append(Row("last tenth of a long message over its first", text.growth(), "times"))
    return rows
