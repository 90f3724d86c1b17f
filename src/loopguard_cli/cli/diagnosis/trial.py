"""One agent, tried: two guarded runs of it against a scripted model."""

from __future__ import annotations

from collections.abc import Iterator

from loopguard_cli.agents import find
from loopguard_cli.cli.diagnosis import Diagnosis, Level
from loopguard_cli.errors import UsageError

_MISSING = "install it, or put it on PATH"
_BROKEN = "a run says how far it is guarded; please report this with the version of the agent"


def trial(agent: str) -> Iterator[Diagnosis]:
    """What ``agent`` was seen to do. Raises UsageError for one that cannot be tried."""
    from loopguard_cli.testing.examine import INSTALLED, SUBJECTS, examine

    known = find(agent)
    if agent not in SUBJECTS:
        raise UsageError(f"{agent} cannot be tried by itself", f"can be: {', '.join(SUBJECTS)}")
    for check in examine(agent):
        text = f"{known.title} {check.what} ({check.seen})"
        if check.ok:
            yield Diagnosis(area="trial", level=Level.OK, text=text)
        else:
            advice = _MISSING if check.what == INSTALLED else _BROKEN
            text = f"{known.title}: it is not seen that it {check.what} ({check.seen})"
            yield Diagnosis(area="trial", level=Level.PROBLEM, text=text, advice=advice)
