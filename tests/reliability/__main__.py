"""A thousand kill trials: ``python -m tests.reliability [--rounds N] [--workers N] [--write]``.

``--write`` puts the table into docs/reliability.md. The exit status is 1 when anything was left behind.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.reliability.trials import KINDS, PHASES, TARGETS, Outcome, Trial, all_trials, carry_out

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
HEADING = "## Kill trials"

ROUNDS = 9
"""Of all combinations; a thousand trials and some."""

_ABOUT = {
    "bridged": "an agent with a bridge inside (as OpenCode) that owns the screen",
    "one-shot": "the same, for one prompt; its continuation is a new process",
    "driven": "an agent that we drive over its standard streams (ACP)",
    "terminal": "a program on a terminal of ours",
}


def one(trial: Trial) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="trial") as folder:
        try:
            return carry_out(trial, Path(folder))
        except Exception as error:
            return Outcome(trial, (f"{type(error).__name__}: {error}",), 0.0)


def table(outcomes: Sequence[Outcome]) -> list[str]:
    heads = [f"{target} {number.name}" for target, number in TARGETS]
    lines = ["| agent | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for kind in KINDS:
        cells = []
        for target in TARGETS:
            of_kind = [
                o for o in outcomes if (o.trial.kind, (o.trial.target, o.trial.signal)) == (kind, target)
            ]
            clean = sum(not outcome.problems for outcome in of_kind)
            cells.append(f"{clean} of {len(of_kind)}")
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return lines


def section(outcomes: Sequence[Outcome]) -> str:
    slowest = statistics.quantiles([o.seconds for o in outcomes], n=100)[98]
    found = [f"- {outcome.trial}: {problem}" for outcome in outcomes for problem in outcome.problems]
    lines = [
        HEADING,
        "",
        f"`make reliability` ends an agent, or loopguard, {len(outcomes)} times: at {', '.join(PHASES)}.",
        "A trial is clean when, at most 5 s later, no process of the run is left, the terminal has its",
        "settings and modes back, the exit status is 128 + the signal, and the ledger can be read without",
        "damage. Where loopguard itself is killed outright (SIGKILL), an agent that is the person's own must",
        "go on and react, as the job that its shell waits for, and all this hold at its own end (SIGTERM);",
        "one that we drive or that is on a terminal of ours must be gone, and the person's terminal be as it",
        "was. Processes are signalled only after their start time was compared.",
        "",
        *[f"- **{kind}**: {about}" for kind, about in _ABOUT.items()],
        "",
        *table(outcomes),
        "",
        f"Until everything was gone it took {statistics.median(o.seconds for o in outcomes):.1f} s (median), "
        f"{slowest:.1f} s (p99);",
        f"Python {platform.python_version()} on {platform.system()}, {os.cpu_count()} processors.",
        "",
        "Not clean:" if found else "All of them were clean.",
        *(["", *found] if found else []),
        "",
    ]
    return "\n".join(lines)


def put(page: Path, text: str, heading: str = HEADING) -> None:
    """Replace our section of the page, or begin the page with it."""
    old = page.read_text() if page.exists() else "# Reliability\n\n"
    before, found, rest = old.partition(f"{heading}\n")
    after = "\n## " + rest.split("\n## ", 1)[1] if found and "\n## " in rest else ""
    page.write_text((before if found else old.rstrip() + "\n\n") + text.rstrip() + "\n" + after)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    trials = all_trials() * given.rounds
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(given.workers) as pool:
        for outcome in pool.map(one, trials):
            outcomes.append(outcome)
            for problem in outcome.problems:
                sys.stderr.write(f"{outcome.trial}: {problem}\n")
            if len(outcomes) % 100 == 0:
                sys.stderr.write(f"{len(outcomes)} of {len(trials)}\n")
    text = section(outcomes)
    if given.write:
        put(PAGE, text)
    sys.stdout.write(text)
    return int(any(outcome.problems for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
