"""How fast a recorded trace is replayed, and whether memory grows with the length of a run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.study.replay import replay
from tests.bench.section import Row
from tests.bench.streams import STREAMS, events
from tests.bench.synthetic.writer import Writer

TITLE = "Replay and memory"
LINES = 20_000
EVENTS = 1_000_000
EARLY = 10_000


def throughput() -> float:
    """Events a second (CPU time), of honest work in the neutral format."""
    writer = Writer(Random(7))
    while len(writer.events) < LINES:
        writer.work(100)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        lines = [{"trace": "bench", "label": "healthy"}, *writer.events]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        began = time.process_time()
        for _ in replay(path, GuardSettings()):
            pass
        return len(writer.events) / (time.process_time() - began)


def memory() -> dict[str, float]:
    """Resident MiB after `EARLY` and after `EVENTS` events through the hub, in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.replaying", str(EARLY), str(EVENTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _grow(marks: list[int]) -> dict[str, float]:
    import psutil

    from loopguard_cli.core.hub import Hub
    from loopguard_cli.detect.panel import Panels
    from loopguard_cli.study.replay import ABLE

    process = psutil.Process()
    brain = Hub(GuardSettings(), capabilities=ABLE, panels=Panels())
    makers = list(STREAMS.values())
    figures: dict[str, float] = {}
    count = 0
    began = time.process_time()
    for stretch in range(marks[-1] // 1_000):
        # Another kind of work every thousand events, so that no memory fills with one only.
        for event, now in events(makers[stretch % len(makers)], 500, start=500 * stretch):
            brain.receive(event, now)
            count += 1
        if count in marks:
            figures[str(count)] = process.memory_info().rss / 2**20
    return figures | {"seconds": time.process_time() - began}


def measure() -> list[Row]:
    figures = memory()
    early, late = figures[str(EARLY)], figures[str(EVENTS)]
    return [
        Row("replay of a trace", throughput(), "events/s", 10_000, at_least=True),
        Row("hub, all streams in turn", EVENTS / figures["seconds"], "events/s", 10_000, at_least=True),
        Row(f"resident memory after {EVENTS:,} events", late, "MiB", 64),
        Row(f"growth from {EARLY:,} events on", 100 * (late / early - 1), "%", 5),
    ]


if __name__ == "__main__":
    json.dump(_grow([int(mark) for mark in sys.argv[1:]]), sys.stdout)
