"""``python -m loopguard_cli.testing.scenarios --cases DIR``: run a folder of cases, print what fails."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter
from pathlib import Path

from loopguard_cli.testing.scenarios.cases import Case, read_cases


def main(arguments: list[str] | None = None) -> int:
    """0: every ``must`` and ``should`` holds; 1: some do not; 2: no cases."""
    parser = argparse.ArgumentParser(prog="python -m loopguard_cli.testing.scenarios")
    parser.add_argument("--cases", action="append", type=Path, required=True, metavar="DIR")
    counts: Counter[str] = Counter()
    failed = 0
    in_words: list[str] = []
    for folder in parser.parse_args(arguments).cases:
        for case in read_cases(folder):
            problems = _run(case)
            in_words += [case.id] if case.in_words_only and not problems else []
            counts["failed" if problems else "passed"] += 1
            if problems:
                failed += case.strength != "may"
                sys.stdout.write(f"{case.id} ({case.strength})\n" + "".join(f"  {p}\n" for p in problems))
    sys.stdout.write(f"{counts['passed']} passed, {counts['failed']} failed\n")
    if in_words:
        sys.stdout.write(f"{len(in_words)} of them are described in words only: {', '.join(in_words)}\n")
    return 2 if not counts else int(failed > 0)


def _run(case: Case) -> list[str]:
    try:
        return case.run()
    except Exception:
        return traceback.format_exc().splitlines()[-3:]


if __name__ == "__main__":
    sys.exit(main())
