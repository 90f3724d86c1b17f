"""One kill trial of each kind, target and signal; ``make reliability`` carries out a thousand."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.reliability.trials import KINDS, PHASES, TARGETS, Trial, carry_out


def chosen() -> list[Trial]:
    """Every kind with every target and signal, each phase seven times."""
    pairs = itertools.product(KINDS, TARGETS)
    return [
        Trial(kind, PHASES[number % len(PHASES)], target, which)
        for number, (kind, (target, which)) in enumerate(pairs)
    ]


@pytest.mark.parametrize("trial", chosen(), ids=str)
def test_nothing_is_left(trial: Trial, tmp_path: Path) -> None:
    assert carry_out(trial, tmp_path).problems == ()
