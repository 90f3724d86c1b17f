"""``python -m tests.bench.quality [--traces DIR]``: measure detection, and write docs/detection-results.md.

Sets: the parts A and B of `tests/scenarios/traces-unseen`, both developed with; with ``--confirmation``
its part C, of which only totals are told; generated traces of the seeds that were developed with, of seeds
first used when the rules were frozen, and (``--traces``) a folder of recorded ones. Guards: the three
presets and the rules of other agents.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from loopguard_cli.core.settings import PRESET_VALUES, Preset
from loopguard_cli.study.evaluate import Report, Score, find_traces, report, score, tally
from loopguard_cli.study.whatif import bare_settings
from tests.bench.rivals import RIVALS, judged
from tests.bench.synthetic.generate import write

UNSEEN = Path(__file__).parents[1] / "scenarios" / "traces-unseen"
DOCUMENT = Path(__file__).parents[2] / "docs" / "detection-results.md"

DEVELOPED = ("develop-1", "develop-2", "confirm-1")
CONFIRMED = ("confirm-2", "confirm-3", "confirm-4")

HEAD = """# Detection: results

Written by `python -m tests.bench.quality`; how to read them is in [detection.md](detection.md). *Alarm*: a
block, abort or stop. *Soft*: alarms and nudges. *Delay*: tool calls from the labelled point to the first
alarm, or to the first alarm or nudge (soft). Percentages are of healthy traces.
"""

Judge = Callable[[Path], Score]


def guards() -> dict[str, Judge]:
    presets = {preset: bare_settings(None, preset, []) for preset in PRESET_VALUES}

    def preset(name: Preset) -> Judge:
        return lambda path: score(path, presets[name])

    def rival(name: str) -> Judge:
        return lambda path: tally(path, judged(path, RIVALS[name]))

    return {name.value: preset(name) for name in presets} | {name: rival(name) for name in RIVALS}


def generated(
    seeds: Iterable[str], each: int, judges: dict[str, Judge], kinds: str = "known"
) -> dict[str, list[Score]]:
    scores: dict[str, list[Score]] = {name: [] for name in judges}
    with TemporaryDirectory() as folder:
        for seed in seeds:
            write(Path(folder) / seed, seed, each, kinds)
        for path in find_traces(Path(folder)):
            for name, judge in judges.items():
                scores[name].append(judge(path))
    return scores


def recorded(folder: Path, judges: dict[str, Judge]) -> dict[str, list[Score]]:
    return {name: [judge(path) for path in find_traces(folder)] for name, judge in judges.items()}


def overview(scores: dict[str, list[Score]]) -> str:
    lines = [
        "| guard | precision | false alarms | false nudges | recall: alarm | soft | exact | varying | other "
        "| delay median / p95 | soft |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, all_scores in scores.items():
        one = report(name, all_scores)
        groups = one.groups
        lines.append(
            f"| {name} | {_part(one.precision)} | {_percent(one.false_alarms, one.healthy)} "
            f"| {_percent(one.false_nudges, one.healthy)} | {groups['all'].recall:.3f} "
            f"| {groups['all'].soft_recall:.3f} | {groups['exact'].recall:.3f} "
            f"| {groups['varying'].recall:.3f} | {groups['other'].recall:.3f} "
            f"| {_count(one.delay_median)} / {_count(one.delay_p95)} "
            f"| {_count(one.soft_delay_median)} / {_count(one.soft_delay_p95)} |"
        )
    return "\n".join(lines)


def kinds(one: Report) -> str:
    lines = ["| kind of loop | traces | alarm | soft |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {group.loops} | {group.recall:.3f} | {group.soft_recall:.3f} |"
        for name, group in one.kinds.items()
    ]
    return "\n".join(lines)


def failures(one: Report) -> str:
    missed = one.groups["all"].missed
    parts = [
        f"Missed loops: {len(missed)} of {one.groups['all'].loops}{_listed(missed)}",
        f"False alarms: {len(one.false_alarms)} of {one.healthy}{_listed(one.false_alarms)}",
        f"False nudges: {len(one.false_nudges)} of {one.healthy}{_listed(one.false_nudges)}",
    ]
    return "\n".join(f"- {part}" for part in parts)


def totals(title: str, scores: dict[str, list[Score]]) -> str:
    """As `chapter`, without a word about single traces: nobody is to learn from them."""
    balanced = report("balanced", scores["balanced"])
    loops = sum(group.loops for group in balanced.kinds.values())
    return f"## {title}\n\n{loops} loops, {balanced.healthy} healthy traces.\n\n{overview(scores)}\n"


def chapter(title: str, scores: dict[str, list[Score]]) -> str:
    balanced = report("balanced", scores["balanced"])
    loops = sum(group.loops for group in balanced.kinds.values())
    return (
        f"## {title}\n\n{loops} loops, {balanced.healthy} healthy traces.\n\n{overview(scores)}\n\n"
        f"Preset `balanced`:\n\n{failures(balanced)}\n\n{kinds(balanced)}\n"
    )


def _part(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _percent(found: Sequence[str], healthy: int) -> str:
    return f"{100 * len(found) / healthy:.1f} %" if healthy else "-"


def _listed(names: Sequence[str]) -> str:
    return f": {', '.join(names[:8])}{' …' if len(names) > 8 else ''}" if names else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--each", type=int, default=8, help="Traces of each kind and seed.")
    parser.add_argument("--confirmation", action="store_true", help="Measure part C. Do it once.")
    given = parser.parse_args()
    judges = guards()
    parts = [HEAD]
    if given.traces is not None:
        parts.append(chapter("Recorded and reconstructed traces", recorded(given.traces, judges)))
    confirmation = "Written by hand, part C (confirmation)"
    if given.confirmation:
        parts.append(totals(confirmation, recorded(UNSEEN / "C", judges)))
    else:
        parts.append(f"## {confirmation}\n\nNot measured yet: once, when the rules are final.\n")
    for half in "AB":
        title = f"Written by hand, half {half} (developed with)"
        parts.append(chapter(title, recorded(UNSEEN / half, judges)))
    held_out = generated(CONFIRMED, given.each, judges, "held out")
    parts.append(chapter("Generated, kinds written last (first contact: see detection.md)", held_out))
    parts.append(chapter("Generated, seeds of the confirmation", generated(CONFIRMED, given.each, judges)))
    parts.append(chapter("Generated, seeds of the development", generated(DEVELOPED, given.each, judges)))
    DOCUMENT.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
