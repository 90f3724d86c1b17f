"""What guarding costs the real OpenCode, as a section; the measuring is `tests.bench.opencode`'s."""

from __future__ import annotations

from tests.bench.section import Row

TITLE = "The real OpenCode"


def measure() -> list[Row]:
    from tests.bench import opencode

    return [
        Row(str(one["what"]), float(str(one["value"])), str(one["unit"]), float(str(one["budget"])))
        for one in opencode.measure()
    ]
