"""One agent, tried: two guarded runs of it against a scripted model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from loopguard_cli.agents import find
from loopguard_cli.cli.diagnosis import Diagnosis, Level
from loopguard_cli.cli.diagnosis.agents import version
from loopguard_cli.errors import UsageError

_MISSING = "install it, or put it on PATH"
_BROKEN = "a run says how far it is guarded; please report this with the version of the agent"


def trial(agent: str) -> Iterator[Diagnosis]:
    """What ``agent`` was seen to do; with the name of a protocol, all that speak it. Raises UsageError."""
    from loopguard_cli.testing.subjects import SUBJECTS

    if agent in SUBJECTS:
        yield from _tried(agent)
        return
    known = find(agent, also=SUBJECTS)
    several = [name for name, subject in SUBJECTS.items() if subject.agent == agent]
    found = [name for name in several if shutil.which(SUBJECTS[name].program)]
    if not several:
        raise UsageError(f"{agent} cannot be tried by itself", f"can be: {', '.join(SUBJECTS)}")
    if not found:
        text = f"{known.title}: none of these is on PATH: {', '.join(several)}"
        yield Diagnosis(area="trial", level=Level.PROBLEM, text=text, advice=_MISSING)
    for name in found:
        yield from _tried(name)


def _tried(agent: str) -> Iterator[Diagnosis]:
    from loopguard_cli.testing.examine import INSTALLED, examine
    from loopguard_cli.testing.subjects import SUBJECTS

    subject = SUBJECTS[agent]
    title = agent if subject.agent else find(agent).title
    if program := shutil.which(subject.program):
        yield version(title, Path(program), subject.tested or find(subject.program).tested, "trial")
    for check in examine(agent):
        text = f"{title} {check.what} ({check.seen})"
        if check.ok:
            yield Diagnosis(area="trial", level=Level.OK, text=text)
        else:
            advice = _MISSING if check.what == INSTALLED else _BROKEN
            text = f"{title}: it is not seen that it {check.what} ({check.seen})"
            yield Diagnosis(area="trial", level=Level.PROBLEM, text=text, advice=advice)
