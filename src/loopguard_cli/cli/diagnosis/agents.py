"""Which agents are installed, and whether their versions are those that were tested."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from loopguard_cli.agents import Known, registry
from loopguard_cli.cli.diagnosis import Diagnosis, Level

VERSION_WITHIN_S = 15.0
"""Some agents are slow to start the first time after an update."""
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[^\s.,;:)]|\.(?=\S))*")


def agents() -> Iterator[Diagnosis]:
    unusable: list[str] = []
    known_agents = [known for _, known in registry(unusable.append)]
    for line in unusable:
        yield Diagnosis(area="agents", level=Level.WARNING, text=line)
    installed = [(known, found) for known in known_agents if (found := _program(known)) is not None]
    if not installed:
        names = ", ".join(known.title for known in known_agents)
        yield Diagnosis(
            area="agents", level=Level.WARNING, text="no agent that we know is on PATH",
            advice=f"install one of: {names}; any other program can be run too, with less guard",
        )  # fmt: skip
        return
    with ThreadPoolExecutor(max_workers=4) as pool:
        yield from pool.map(lambda one: _agent(*one), installed)


def _program(known: Known) -> Path | None:
    found = next((path for name in sorted(known.programs) if (path := shutil.which(name))), None)
    return Path(found) if found else None


def _agent(known: Known, program: Path) -> Diagnosis:
    version = version_of(program)
    if not version:
        return Diagnosis(
            area="agents", level=Level.PROBLEM, text=f"{known.title}: '{program} --version' fails",
            advice="start it by hand and see; without that no run can work",
        )  # fmt: skip
    text = f"{known.title} {version} ({program})"
    if not known.tested or _line(version) == _line(known.tested):
        return Diagnosis(area="agents", level=Level.OK, text=text)
    return Diagnosis(
        area="agents", level=Level.NOTE,
        text=f"{text}; tested with {known.tested}, and a run says if it cannot be guarded",
    )  # fmt: skip


def version_of(program: Path) -> str:
    """What ``program --version`` says; empty if it says nothing."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=VERSION_WITHIN_S, check=False,
            stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _VERSION.search(done.stdout) or _VERSION.search(done.stderr)
    return found[0] if found and done.returncode == 0 else ""


def _line(version: str) -> list[str]:
    """Major and minor number: what may change how an agent behaves."""
    return version.split(".")[:2]
