"""From a seed to labelled traces, and to files that `loopguard eval` reads.

Each trace is drawn from its own seed (``seed:kind:number``), so adding a kind changes no other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from tests.bench.synthetic import (
    held_out,
    honest_calls,
    honest_second,
    honest_variations,
    loops_exact,
    loops_second,
    loops_varying,
)
from tests.bench.synthetic.writer import Writer

LOOPS = loops_exact.KINDS | loops_varying.KINDS | loops_second.KINDS
HONEST = honest_calls.KINDS | honest_variations.KINDS | honest_second.KINDS


SETS = {"known": (LOOPS, HONEST), "held out": (held_out.LOOPS, held_out.HONEST)}
"""Kinds that the rules were developed with, and kinds that they were not."""


def traces(
    seed: str, each: int, kinds: str = "known"
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """``each`` traces of every kind, as header and events. ``kinds``: one of `SETS`."""
    for label, chosen in zip(("loop", "healthy"), SETS[kinds], strict=True):
        for name, (kind, write) in chosen.items():
            for number in range(each):
                trace = f"{label}-{name}-{number}"
                writer = Writer(Random(f"{seed}:{name}:{number}"))
                writer.open()
                write(writer)
                if label == "healthy" or writer.rng.random() < 0.2:
                    writer.work(writer.rng.randint(1, 6))
                header: dict[str, Any] = {
                    "trace": trace,
                    "source": f"generated from seed {seed}",
                    "label": label,
                    "loop_kind": kind,
                    "loop_at": writer.loop_at,
                    "labelled": "construction",
                    "repeats": [],
                }
                yield header, writer.events


def write(folder: Path, seed: str, each: int, kinds: str = "known") -> int:
    """Write them into ``folder``; returns how many."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for header, events in traces(seed, each, kinds):
        lines = "\n".join(json.dumps(one, ensure_ascii=False) for one in (header, *events))
        (folder / f"{header['trace']}.jsonl").write_text(f"{lines}\n", encoding="utf-8")
        count += 1
    return count
