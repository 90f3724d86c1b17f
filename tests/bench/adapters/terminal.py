"""The same for a program that is guarded by what it writes to its terminal."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.adapters.timing import LOOP, LOOPS, PACE_SECONDS, Figures, NotMeasured
from tests.bench.terminal import LOOPGUARD, drained, environment

SENTENCES = 200
PROOF = 9
"""Lines of their own that it takes where outputs cannot be told apart (`detect.mixed`)."""
STARTS = 5

TALKER = f"""
import os, select, sys, time, tty
tty.setraw(0)
times = []
while len(times) < {SENTENCES}:
    os.write(1, {LOOP!r}.encode() + b"\\r\\n")
    times.append(time.monotonic())
    if select.select([0], [], [], {PACE_SECONDS})[0] and os.read(0, 1) in b"\\x1b\\x03":
        open(sys.argv[1], "w").write(str(time.monotonic() - times[{PROOF - 1}]))
        break
"""
"""Repeats itself until Escape or Ctrl-C comes; notes how long that was after the last line of the proof."""


def measured() -> Figures:
    """Raises NotMeasured."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environ = environment(folder)
        before = Path.cwd()
        os.chdir(folder)
        try:
            cuts = [_cut(folder, environ) for _ in range(LOOPS)]
            return Figures(None, None, cuts, None, _later(environ))
        finally:
            os.chdir(before)


def _cut(folder: Path, environ: dict[str, str]) -> float:
    noted = folder / "noted"
    noted.unlink(missing_ok=True)
    drained((*LOOPGUARD, sys.executable, "-IS", "-c", TALKER, str(noted)), environ)
    if not noted.exists():
        raise NotMeasured(f"no key in {SENTENCES} sentences")
    return float(noted.read_text()) * 1000


def _later(environ: dict[str, str]) -> float:
    def started(before: tuple[str, ...]) -> float:
        return statistics.median(_taken((*before, "echo", "x"), environ) for _ in range(STARTS))

    return (started(LOOPGUARD) - started(())) * 1000


def _taken(argv: tuple[str, ...], environ: dict[str, str]) -> float:
    began = time.perf_counter()
    drained(argv, environ)
    return time.perf_counter() - began
