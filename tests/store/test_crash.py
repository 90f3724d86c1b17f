from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("crasher.py")


def crash(*arguments: str) -> tuple[list[str], int]:
    """The problems found, and how often the writer died."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    *problems, deaths = done.stdout.splitlines()
    return problems, int(deaths)


def test_killed_around_every_system_call_the_state_is_that_of_a_prefix(tmp_path: Path) -> None:
    problems, deaths = crash(str(tmp_path / "state"), "boundaries")
    assert problems == []
    assert deaths > 100


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_moments_the_state_is_that_of_a_prefix(tmp_path: Path, seed: int) -> None:
    problems, deaths = crash(str(tmp_path / "state"), "moments", "250", str(seed))
    assert problems == []
    assert deaths > 25


def test_runs_that_write_side_by_side_do_not_disturb_each_other(tmp_path: Path) -> None:
    problems, deaths = crash(str(tmp_path / "state"), "crowd", "40", "3")
    assert problems == []
    assert deaths > 10
