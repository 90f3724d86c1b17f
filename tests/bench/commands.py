"""How long commands take to start (wall time, median), and how often bare Python's time that is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.bench.section import Row, percentile

TITLE = "Start-up of commands"
RUNS = 15

LOOPGUARD = str(Path(sys.executable).with_name("loopguard"))


def _median(command: list[str], **environment: str) -> float:
    """Milliseconds."""
    taken = []
    for _ in range(RUNS):
        began = time.perf_counter()
        subprocess.run(command, capture_output=True, check=False, env=os.environ | environment)
        taken.append((time.perf_counter() - began) * 1_000)
    return percentile(taken, 0.5)


def measure() -> list[Row]:
    python, typer = _median([sys.executable, "-c", ""]), _median([sys.executable, "-c", "import typer"])
    version = _median([LOOPGUARD, "--version"])
    completion = {
        "_LOOPGUARD_COMPLETE": "complete_bash",
        "COMP_WORDS": "loopguard go",
        "COMP_CWORD": "1",
    }
    completed = _median([LOOPGUARD], **completion)
    return [
        Row("python -c ''", python, "ms"),
        Row("python -c 'import typer'", typer, "ms"),
        Row("loopguard --version", version, "ms", 150),
        Row("loopguard --version over bare Python with typer", version / typer, "times", 3),
        Row("completion of a word in bash", completed, "ms", 150),
    ]
