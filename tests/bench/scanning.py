"""``loopguard scan`` over a gigabyte of histories of all agents, with loops planted among honest work.

The figure per core is bytes read over the CPU time of the whole command, start of the workers
included. What the histories are like is in `synthetic.histories`.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import psutil

from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.history import NAMES, installed
from loopguard_cli.study.scan import Wanted
from loopguard_cli.study.scan import scan as judge
from tests.bench.section import Row
from tests.bench.synthetic.histories import Written, write

TITLE = "Scan of past sessions"
BYTES = 1_000_000_000
SAMPLE = 60_000_000
WANTED = Wanted(settings=GuardSettings())
EARLY = 0.2
"""Share of the time after which memory should not grow."""
POLL_SECONDS = 0.2
INTERRUPTED_AFTER = 5.0
"""Seconds of CPU that the workers have had."""


class Scanned(NamedTuple):
    printed: Any
    cpu: float
    """Seconds, of the command and its workers."""
    early: float
    late: float
    """MiB, of all processes together: the most by `EARLY` of the time, and after."""


def scan(home: Path) -> Scanned:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(
        [sys.executable, "-m", "loopguard_cli", "scan", "--json"],
        cwd=home, env={**os.environ, "HOME": str(home)}, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        said: list[str] = []
        reader = threading.Thread(target=lambda: said.append(process.communicate()[0]))
        reader.start()
        sizes = list(_sizes(psutil.Process(process.pid), reader))
        reader.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    begun = max(2, int(len(sizes) * EARLY))
    return Scanned(json.loads(said[0]), cpu, max(sizes[:begun]), max(sizes[begun:]))


def _sizes(process: psutil.Process, reader: threading.Thread) -> Iterator[float]:
    while reader.is_alive():
        try:
            family = [process, *process.children(recursive=True)]
            yield sum(one.memory_info().rss for one in family) / 2**20
        except psutil.Error:
            pass  # a worker has just ended
        reader.join(POLL_SECONDS)


def interrupted(home: Path) -> tuple[float, bool]:
    """Seconds from ^C to the end, and whether what had been found was printed."""
    with subprocess.Popen(
        [sys.executable, "-m", "loopguard_cli", "scan", "--json"],
        cwd=home, env={**os.environ, "HOME": str(home)}, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        command = psutil.Process(process.pid)
        while sum(one.cpu_times().user for one in command.children()) < INTERRUPTED_AFTER:
            threading.Event().wait(POLL_SECONDS)
        began = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        said = json.loads(process.communicate()[0])
        return time.monotonic() - began, not said["finished"] and said["conversations"] > 0


def by_agent(home: Path) -> Iterator[Row]:
    """One after the other in this process, without a command around it."""
    found = list(installed(home, {}))
    for agent, name in NAMES.items():
        began = time.process_time()
        studies = judge([one for one in found if one.agent == agent], WANTED, workers=1)
        read = sum(one.tally.bytes for one in studies)
        yield Row(f"judging, {name}", read / 1e6 / (time.process_time() - began), "MB/s per core")


def _found(written: Written, printed: Any) -> Iterator[Row]:
    loops = printed["saved"]["loops"]
    yield Row(f"planted loops found, of {written.loops}", loops, "loops", written.loops, at_least=True)
    yield Row("loops that nobody planted", loops - written.loops, "loops", 0)


def measure() -> list[Row]:
    with TemporaryDirectory() as folder:
        sample = Path(folder) / "sample"
        sample.mkdir()
        write(sample, SAMPLE, "sample")
        rows = list(by_agent(sample))
        home = Path(folder) / "home"
        home.mkdir()
        written = write(home, BYTES)
        done = scan(home)
        seconds, told = interrupted(home)
    megabytes = done.printed["tally"]["bytes"] / 1e6
    return [
        Row(f"scan of {megabytes:,.0f} MB", megabytes / done.cpu, "MB/s per core", 50, at_least=True),
        *rows,
        *_found(written, done.printed),
        Row("memory, command and workers together", done.late, "MiB"),
        Row("growth after the first fifth", 100 * (done.late / done.early - 1), "%", 10),
        Row("^C until what was found is printed", seconds if told else float("inf"), "s", 2),
    ]
