"""``loopguard doctor AGENT`` where there is nothing to try; with agents see tests/real/test_doctor.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Cli


def test_an_agent_that_is_not_installed_is_a_problem(cli: Cli, tmp_path: Path) -> None:
    result = cli("doctor", "pi", PATH=str(tmp_path))
    assert result.returncode == 1
    assert "no pi on PATH" in result.stdout
    assert "install it" in result.stdout


def test_of_a_protocol_everything_that_speaks_it_is_tried(cli: Cli, tmp_path: Path) -> None:
    result = cli("doctor", "acp", PATH=str(tmp_path))
    assert result.returncode == 1
    assert "claude-agent-acp" in result.stdout
    assert "install it" in result.stdout


@pytest.mark.parametrize("agent", ["stream", "nope"])
def test_what_cannot_be_tried_is_a_wrong_command(cli: Cli, agent: str) -> None:
    result = cli("doctor", agent)
    assert result.returncode == 2
    assert "pi" in result.stderr, "it says what can be tried"
