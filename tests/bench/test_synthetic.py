"""The generated traces: equal from equal seeds, and what the preset ``balanced`` makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.study.evaluate import Report, report, score
from loopguard_cli.study.traces import Trace
from tests.bench.synthetic.generate import HONEST, LOOPS, traces, write

SEED = "held in tests"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("synthetic")
    write(folder, SEED, 1)
    return folder


@pytest.fixture(scope="module")
def balanced(folder: Path) -> Report:
    return report("balanced", [score(path, GuardSettings()) for path in sorted(folder.glob("*.jsonl"))])


def test_equal_seeds_give_equal_traces_and_other_seeds_others() -> None:
    one, again, other = (list(traces(seed, 1)) for seed in (SEED, SEED, "another"))
    assert one == again
    assert one != other


def test_each_kind_is_written_and_labelled(folder: Path) -> None:
    headers = [Trace(path).header() for path in folder.glob("*.jsonl")]
    assert {header.trace.split("-")[1] for header in headers} == LOOPS.keys() | HONEST.keys()
    assert all((header.loop_at is not None) == (header.label == "loop") for header in headers)


def test_honest_work_is_neither_stopped_nor_nudged(balanced: Report) -> None:
    assert balanced.false_alarms == []
    assert balanced.false_nudges == []


def test_loops_are_met(balanced: Report) -> None:
    groups = balanced.groups
    assert groups["all"].missed == []
    assert groups["exact"].recall >= 0.97
    assert groups["all"].recall >= 0.80


def test_loops_are_met_when_they_begin(balanced: Report) -> None:
    assert balanced.soft_delay_median is not None
    assert balanced.soft_delay_median <= 0
    assert balanced.soft_delay_p95 is not None
    assert balanced.soft_delay_p95 <= 2
