"""The loop rules of other agents, re-implemented from their description, to be scored on the same traces.

Thresholds are theirs. Each is as generous as its description allows; what a rule cannot see in a
recorded trace (a second model asked for its opinion, a person who answers) is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from loopguard_cli.study.traces import Trace
from tests.bench.rivals.crush import Crush
from tests.bench.rivals.gemini import Gemini
from tests.bench.rivals.opencode import OpenCode
from tests.bench.rivals.openhands import OpenHands
from tests.bench.rivals.rival import Rival, Said

RIVALS: dict[str, Callable[[], Rival]] = {
    "OpenCode": OpenCode,
    "OpenCode, generous": lambda: OpenCode(across_steps=True),
    "Gemini CLI": Gemini,
    "OpenHands": OpenHands,
    "Crush": Crush,
}


def judged(path: Path, make: Callable[[], Rival]) -> Iterator[Said]:
    """What one rival says about one trace."""
    rival = make()
    for moment in Trace(path).moments():
        for event in moment.events:
            for action in rival.take(event):
                yield Said(moment.index, type(rival).__name__, action)
