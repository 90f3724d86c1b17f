"""Finds the agents that `make test-agents` installs. A missing one skips its stories, and says so."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUIRED = "LOOPGUARD_TEST_AGENTS"
"""Set: an agent that is missing fails its tests."""


def installed(agent: str, program: str = "") -> Path:
    """The program of an agent: named by ``LOOPGUARD_TEST_<AGENT>``, or below ``.agents/``."""
    variable = f"LOOPGUARD_TEST_{agent.upper().replace('-', '_')}"
    place = ROOT / ".agents" / agent / "node_modules/.bin" / (program or agent)
    for word in (os.environ.get(variable), str(place)):
        if word and (found := shutil.which(word)):
            return Path(found).absolute()
    told = ROOT / ".agents" / agent / "not-installed"
    why = f" ({told.read_text().strip()})" if told.exists() else ""
    reason = f"{agent} is not installed{why}: run `make test-agents`, or name its program in {variable}"
    if os.environ.get(REQUIRED):
        pytest.fail(reason)
    pytest.skip(reason)
