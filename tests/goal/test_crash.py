"""Supervisors that are killed while they drive goals, and two that want the same ones.

``make crashes`` plays all of it: TRIALS=500.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FULL = int(os.environ.get("TRIALS", "0"))


def crash(folder: Path, *arguments: str) -> tuple[list[str], int]:
    """The problems found, and how often a supervisor died or raced."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.goal.crasher", str(folder / "state"), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *problems, count = done.stdout.splitlines()
    return problems, int(count)


@pytest.mark.timeout(900)
def test_killed_at_every_write(tmp_path: Path) -> None:
    problems, deaths = crash(tmp_path, "boundaries", *(("before", "after") if FULL else ()), "middle")
    assert problems == []
    assert deaths > (600 if FULL else 200)


@pytest.mark.timeout(900)
def test_killed_at_random_moments(tmp_path: Path) -> None:
    trials = FULL or 40
    problems, deaths = crash(tmp_path, "moments", str(trials), "11")
    assert problems == []
    assert deaths == trials


@pytest.mark.timeout(900)
def test_of_two_supervisors_one_drives(tmp_path: Path) -> None:
    trials = FULL or 40
    problems, raced = crash(tmp_path, "rivals", str(trials), "5")
    assert problems == []
    assert raced == trials
