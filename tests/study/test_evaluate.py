"""Scores and reports over labelled traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopguard_cli.core.settings import GuardSettings, Preset
from loopguard_cli.errors import InputError
from loopguard_cli.study.evaluate import evaluate, find_traces, report, score

from .test_replay import calls
from .test_traces import write


def trace(path: Path, times: int, **header: Any) -> Path:
    return write(
        path,
        {"kind": "user", "text": "go"},
        *calls("bash", {"command": "x"}, "same", times),
        header={"trace": path.stem, "label": "loop", "loop_kind": "identical_call", "loop_at": 6, **header},
    )


def test_a_loop_caught_at_its_third_call_has_no_delay(tmp_path: Path) -> None:
    one = score(trace(tmp_path / "a.jsonl", 6), GuardSettings())
    assert (one.alarm, one.alarm_rule, one.delay, one.spent, one.unguarded) == (5, "repeat-call", 0, 0, 3)


def test_delay_counts_tool_calls_after_the_point_and_is_negative_before_it(tmp_path: Path) -> None:
    late = score(trace(tmp_path / "a.jsonl", 6, loop_at=2), GuardSettings())
    early = score(trace(tmp_path / "b.jsonl", 6, loop_at=10), GuardSettings())
    assert (late.delay, early.delay) == (2, -2)


def test_a_missed_loop_costs_all_its_calls(tmp_path: Path) -> None:
    one = score(trace(tmp_path / "a.jsonl", 2, loop_at=1), GuardSettings())
    assert (one.alarm, one.delay, one.spent, one.unguarded) == (None, None, 1, 1)


def test_a_report_sums_up(tmp_path: Path) -> None:
    settings = GuardSettings()
    scores = [
        score(trace(tmp_path / "caught.jsonl", 6), settings),
        score(trace(tmp_path / "missed.jsonl", 2, loop_kind="narration"), settings),
        score(trace(tmp_path / "false.jsonl", 3, label="healthy", loop_at=None), settings),
        score(trace(tmp_path / "fine.jsonl", 2, label="healthy", loop_at=None), settings),
        score(trace(tmp_path / "unknown.jsonl", 6, label="unknown"), settings),
        score(trace(tmp_path / "three.jsonl", 3, repeats=[{"rule": "same_call", "count": 3}]), settings),
    ]
    total = report("balanced", scores)
    assert (total.traces, total.healthy, total.false_alarms) == (6, 2, ["false (repeat-call at 5)"])
    assert total.precision == pytest.approx(2 / 3)
    assert (total.groups["exact"].recall, total.groups["other"].recall) == (1.0, 0.0)
    assert total.groups["all"].missed == ["missed"]
    assert (total.apart.loops, total.apart.caught) == (1, 1)
    assert (total.delay_median, total.delay_p95) == (0, 0.0)


def test_several_processes_give_the_same_scores_as_one(tmp_path: Path) -> None:
    paths = [trace(tmp_path / f"{n}.jsonl", n) for n in range(1, 6)]
    presets = {name.value: GuardSettings(preset=name) for name in Preset}
    assert list(evaluate(paths, presets, 2)) == list(evaluate(paths, presets, 1))


def test_a_damaged_trace_comes_back_as_its_error(tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.jsonl", "oops")
    results = dict(
        zip(
            ("bad", "good"),
            evaluate([bad, trace(tmp_path / "a.jsonl", 3)], {"b": GuardSettings()}, 1),
            strict=True,
        )
    )
    assert isinstance(results["bad"][1], InputError)
    assert not isinstance(results["good"][1], InputError)


def test_traces_are_found_below_a_folder_and_none_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    path = trace(tmp_path / "deep" / "a.jsonl", 1)
    assert find_traces(tmp_path) == [path]
    assert find_traces(path) == [path]
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(InputError, match=str(folder)):
            find_traces(folder)
