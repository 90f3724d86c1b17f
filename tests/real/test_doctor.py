"""``loopguard doctor AGENT`` with each real agent that is installed."""

from __future__ import annotations

import pytest
from tests.real.installed import installed

from loopguard_cli.testing.examine import examine
from loopguard_cli.testing.subjects import SUBJECTS


@pytest.mark.parametrize("agent", SUBJECTS)
def test_what_is_promised_of_an_agent_is_seen(agent: str) -> None:
    subject = SUBJECTS[agent]
    checks = list(examine(agent, installed(subject.program)))
    assert len(checks) == (6 if subject.gated else 5)
    assert not [check for check in checks if not check.ok]
