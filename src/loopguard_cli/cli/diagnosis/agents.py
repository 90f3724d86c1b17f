"""Which agents are installed, and whether their versions are those that were tested."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from loopguard_cli.agents import Known, registry
from loopguard_cli.cli.diagnosis import Diagnosis, Level
from loopguard_cli.testing.subjects import SUBJECTS

VERSION_WITHIN_S = 15.0
"""Some agents are slow to start the first time after an update."""
PACKAGE_DEPTH = 4
"""So far above a program its package may begin."""
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[^\s.,;:)]|\.(?=\S))*")


def agents() -> Iterator[Diagnosis]:
    unusable: list[str] = []
    known_agents = dict(registry(unusable.append))
    for line in unusable:
        yield Diagnosis(area="agents", level=Level.WARNING, text=line)
    installed = [one for known in known_agents.values() for one in _programs(known)]
    if not installed:
        names = ", ".join(known.title for name, known in known_agents.items() if name in SUBJECTS)
        yield Diagnosis(
            area="agents", level=Level.WARNING, text="no agent that we know is on PATH",
            advice=f"install one of: {names}; any other program can be run too, with less guard",
        )  # fmt: skip
        return
    with ThreadPoolExecutor(max_workers=4) as pool:
        yield from pool.map(lambda one: version(*one), installed)


def _programs(known: Known) -> Iterator[tuple[str, Path, str]]:
    """What is on PATH of an agent: title, program and tested version; of a protocol, each that speaks it."""
    own = {subject.program: subject.tested for subject in SUBJECTS.values() if subject.tested}
    for name in sorted(known.programs):
        if found := shutil.which(name):
            yield (name, Path(found), own[name]) if name in own else (known.title, Path(found), known.tested)
            if name not in own:
                return


def version(title: str, program: Path, tested: str, area: str = "agents") -> Diagnosis:
    """Which version of an agent is installed, beside the one that is ``tested`` (empty: none)."""
    found = version_of(program)
    if not found:
        return Diagnosis(
            area=area, level=Level.PROBLEM, text=f"{title}: '{program} --version' fails",
            advice="start it by hand and see; without that no run can work",
        )  # fmt: skip
    text = f"{title} {found} ({program})"
    if not tested or _line(found) == _line(tested):
        return Diagnosis(area=area, level=Level.OK, text=text)
    return Diagnosis(
        area=area, level=Level.NOTE,
        text=f"{text}; tested with {tested}, and a run says if it cannot be guarded",
    )  # fmt: skip


def version_of(program: Path) -> str:
    """What ``program --version`` says, or else the package that it is part of; empty if neither does."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=VERSION_WITHIN_S, check=False,
            stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _VERSION.search(done.stdout) or _VERSION.search(done.stderr)
    if found and done.returncode == 0:
        return found[0]
    return _packaged(program)


class _Package(msgspec.Struct):
    version: str = ""
    bin: dict[str, str] | str = ""


def _packaged(program: Path) -> str:
    """The version of the npm package whose program it is: adapters of protocols print none."""
    file = program.resolve()
    for folder in list(file.parents)[:PACKAGE_DEPTH]:
        try:
            package = msgspec.json.decode((folder / "package.json").read_bytes(), type=_Package)
        except (OSError, msgspec.DecodeError):
            continue
        programs = package.bin.values() if isinstance(package.bin, dict) else (package.bin,)
        return package.version if any(file == (folder / name).resolve() for name in programs) else ""
    return ""


def _line(version: str) -> list[str]:
    """Major and minor number: what may change how an agent behaves."""
    return version.split(".")[:2]
