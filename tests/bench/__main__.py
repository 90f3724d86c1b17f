"""``python -m tests.bench [SECTION ...]``: measure, and write docs/benchmarks.md.

Each section is a module here with a `TITLE` and a `measure()`, or a table of its own by `body()`; the
document is written by nothing else. With sections named, they are measured and printed, and the document
is left alone.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib import import_module
from pathlib import Path

from tests.bench.section import table

SECTIONS = (
    "calls",
    "prose",
    "replaying",
    "scanning",
    "commands",
    "terminal",
    "supervisor",
    "agent",
    "adapters",
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"

HEAD = """# Benchmarks

Written by `make bench`. Each figure stands beside its budget. Costs of events and of text are CPU time of one
thread, without the garbage collector where single events are told; the others are wall time. A machine that
is busy with other things, as this one may have been, makes figures worse, not better.

Python {python}, {system}, {cores} cores.
"""


def section(name: str) -> str:
    module = import_module(f"tests.bench.{name}")
    try:
        body = module.body() if hasattr(module, "body") else table(module.measure())
    except SystemExit as missing:
        body = f"Not measured: {missing}."
    return f"## {module.TITLE}\n\n{body}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], metavar="SECTION")
    chosen = parser.parse_args().sections
    parts = []
    for name in chosen or SECTIONS:
        sys.stderr.write(f"measuring: {name}\n")
        parts.append(section(name))
    if chosen:
        sys.stdout.write("\n".join(parts))
        return
    head = HEAD.format(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        cores=os.cpu_count(),
    )
    DOCUMENT.write_text("\n".join([head, *parts]), encoding="utf-8")


if __name__ == "__main__":
    main()
