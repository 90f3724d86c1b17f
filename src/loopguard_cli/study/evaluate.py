"""Scoring a guard against labelled traces.

An *alarm* is a block, abort or stop; nudges are counted apart. A loop is *caught* when an alarm (or
a nudge, where nudges count) comes anywhere in its trace; its *delay* is the number of tool calls
between the labelled point and the first alarm, negative when it comes earlier. On a healthy trace
each alarm is false. Loops that end at exactly three exact repeats are a matter of taste and are
listed apart; traces labelled ``unknown`` are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Protocol

import msgspec

from loopguard_cli.core.events import ToolAsked
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.errors import InputError
from loopguard_cli.store.folder import reason
from loopguard_cli.study.replay import replay
from loopguard_cli.study.traces import Header, Trace

ALARMS = frozenset(["block", "abort", "stop"])

EXACT = frozenset(
    [
        "identical_call",
        "cycle",
        "repeated_error",
        "parallel_duplicates",
        "text",
        "text_token",
        "reasoning_text",
        "reasoning_token",
    ]
)
"""Kinds of loops that repeat calls, cycles, errors or text exactly."""

VARYING = frozenset(
    ["jittered_args", "jittered_output", "growing_args", "repeated_error_varied_args", "text_templated"]
)
"""Kinds whose arguments, outputs or words vary."""


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """What one preset did on one trace."""

    trace: str
    path: str
    label: str
    kind: str
    loop_at: int | None
    apart: bool
    """A loop that ends by itself at exactly three repeats."""
    events: int
    alarm: int | None = None
    """Event of the first alarm."""
    alarm_rule: str = ""
    nudge: int | None = None
    nudge_rule: str = ""
    delay: int | None = None
    """Tool calls from the labelled point to the first alarm."""
    nudge_delay: int | None = None
    """The same to the first alarm or nudge."""
    warnings: int = 0
    spent: int = 0
    """Tool calls after the labelled point that went by before the alarm."""
    unguarded: int = 0
    """All tool calls after the labelled point: what the loop cost without a guard."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Recall over a group of loops."""

    loops: int
    caught: int
    """By an alarm."""
    nudged: int
    """By an alarm or a nudge."""
    missed: list[str]

    @property
    def recall(self) -> float:
        return self.caught / self.loops if self.loops else 1.0

    @property
    def soft_recall(self) -> float:
        return self.nudged / self.loops if self.loops else 1.0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One preset over a folder."""

    preset: str
    traces: int
    healthy: int
    false_alarms: list[str]
    false_nudges: list[str]
    precision: float | None
    """Of alarms, by trace; None when there was none."""
    groups: dict[str, Group]
    kinds: dict[str, Group]
    apart: Group
    delay_median: float | None
    delay_p95: float | None
    soft_delay_median: float | None
    soft_delay_p95: float | None
    spent: int
    """Tool calls all loops together cost after their labelled points, with the guard."""
    unguarded: int
    """The same without it."""


def find_traces(folder: Path) -> list[Path]:
    """All traces below ``folder``, sorted. Raises `InputError` when there are none.

    What is hidden below it, as our own state is, holds none.
    """
    if folder.is_file():
        return [folder]
    if not folder.exists():
        raise InputError(f"{folder}: no such file or folder")
    try:
        found = sorted(path for path in folder.rglob("*.jsonl") if path.is_file())
    except OSError as error:
        raise InputError(f"{folder}: {reason(error)}") from error
    paths = [
        path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    if not paths:
        raise InputError(f"{folder}: no traces (*.jsonl) here")
    return paths


class Said(Protocol):
    """What a guard said at one event (`study.replay.Found` is one)."""

    @property
    def event(self) -> int: ...
    @property
    def rule(self) -> str: ...
    @property
    def action(self) -> str: ...


def score(path: Path, settings: GuardSettings) -> Score:
    """Judge one trace. Raises `InputError` for a damaged one."""
    return tally(path, replay(path, settings))


def tally(path: Path, said: Iterable[Said]) -> Score:
    """Score what any guard said about one trace, in the order of its events."""
    header = Trace(path).header()
    calls, total = _calls(path)
    alarm = nudge = None
    alarm_rule = nudge_rule = ""
    warnings = 0
    for found in said:
        if found.action in ALARMS and alarm is None:
            alarm, alarm_rule = found.event, found.rule
        elif found.action == "nudge" and nudge is None:
            nudge, nudge_rule = found.event, found.rule
        elif found.action == "warn":
            warnings += 1
    first = min((event for event in (alarm, nudge) if event is not None), default=None)
    start = header.loop_at
    return Score(
        trace=header.trace or path.stem,
        path=str(path),
        label=header.label,
        kind=header.loop_kind or "plain",
        loop_at=start,
        apart=_is_apart(header),
        events=total,
        alarm=alarm,
        alarm_rule=alarm_rule,
        nudge=nudge,
        nudge_rule=nudge_rule,
        delay=_delay(calls, start, alarm),
        nudge_delay=_delay(calls, start, first),
        warnings=warnings,
        spent=_between(calls, start, alarm if alarm is not None else total),
        unguarded=_between(calls, start, total),
    )


def report(preset: str, scores: Sequence[Score]) -> Report:
    """Sum one preset's scores up."""
    healthy = [one for one in scores if one.label == "healthy"]
    loops = [one for one in scores if one.label == "loop" and not one.apart]
    false = [one for one in healthy if one.alarm is not None]
    true = [one for one in scores if one.label == "loop" and one.alarm is not None]
    alarms = len(false) + len(true)
    delays = [one.delay for one in loops if one.delay is not None]
    soft = [one.nudge_delay for one in loops if one.nudge_delay is not None]
    kinds = sorted({one.kind for one in loops})
    return Report(
        preset=preset,
        traces=len(scores),
        healthy=len(healthy),
        false_alarms=[f"{one.trace} ({one.alarm_rule} at {one.alarm})" for one in false],
        false_nudges=[
            f"{one.trace} ({one.nudge_rule} at {one.nudge})" for one in healthy if one.nudge is not None
        ],
        precision=len(true) / alarms if alarms else None,
        groups={
            "exact": _group(one for one in loops if one.kind in EXACT),
            "varying": _group(one for one in loops if one.kind in VARYING),
            "other": _group(one for one in loops if one.kind not in EXACT | VARYING),
            "all": _group(loops),
        },
        kinds={kind: _group(one for one in loops if one.kind == kind) for kind in kinds},
        apart=_group(one for one in scores if one.label == "loop" and one.apart),
        delay_median=median(delays) if delays else None,
        delay_p95=_p95(delays),
        soft_delay_median=median(soft) if soft else None,
        soft_delay_p95=_p95(soft),
        spent=sum(one.spent for one in loops),
        unguarded=sum(one.unguarded for one in loops),
    )


# --- helpers ---------------------------------------------------------------------------------


def _calls(path: Path) -> tuple[list[int], int]:
    """Numbers of the events that are tool calls, and of all events."""
    calls: list[int] = []
    last = -1
    for moment in Trace(path).moments():
        last = moment.index
        if any(isinstance(event, ToolAsked) for event in moment.events):
            calls.append(last)
    return calls, last + 1


def _delay(calls: Iterable[int], start: int | None, alarm: int | None) -> int | None:
    if start is None or alarm is None:
        return None
    late = sum(start < call <= alarm for call in calls)
    return late if alarm >= start else -sum(alarm < call <= start for call in calls)


def _between(calls: Iterable[int], start: int | None, end: int) -> int:
    return 0 if start is None else sum(start < call <= end for call in calls)


def _is_apart(header: Header) -> bool:
    counts = [int(entry.get("count", 0)) for entry in header.repeats]
    return header.label == "loop" and bool(counts) and max(counts) == 3


def _group(scores: Iterable[Score]) -> Group:
    chosen = list(scores)
    return Group(
        loops=len(chosen),
        caught=sum(one.alarm is not None for one in chosen),
        nudged=sum(one.alarm is not None or one.nudge is not None for one in chosen),
        missed=[one.trace for one in chosen if one.alarm is None and one.nudge is None],
    )


def _p95(values: Sequence[int]) -> float | None:
    if len(values) < 2:
        return float(values[0]) if values else None
    return quantiles(values, n=20, method="inclusive")[-1]


def evaluate(
    paths: Sequence[Path], presets: dict[str, GuardSettings], jobs: int
) -> Iterator[tuple[str, Score | InputError]]:
    """Scores of all traces under all presets, as they come; ``jobs`` processes work at it.

    A trace that cannot be read gives the error in place of its score.
    """
    tasks = [(name, path, settings) for path in paths for name, settings in presets.items()]
    if jobs <= 1 or len(tasks) < 2:
        yield from map(_task, tasks)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(min(jobs, len(tasks))) as pool:
        yield from pool.map(_task, tasks, chunksize=4)


def _task(task: tuple[str, Path, GuardSettings]) -> tuple[str, Score | InputError]:
    name, path, settings = task
    try:
        return name, score(path, settings)
    except InputError as error:
        return name, error
