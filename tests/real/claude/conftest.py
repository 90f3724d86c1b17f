"""The real Claude Code, where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pty.terminal import Terminal
from tests.real.claude.world import ClaudeWorld, leave
from tests.real.installed import installed


@pytest.fixture(scope="session")
def program() -> Path:
    return installed("claude")


@pytest.fixture
def world(program: Path) -> Iterator[ClaudeWorld]:
    """A world for one test. Nothing of it survives the test."""
    with ClaudeWorld(program) as world:
        yield world


@pytest.fixture
def screen(world: ClaudeWorld) -> Iterator[Terminal]:
    with world.tui() as terminal:
        yield terminal
        leave(terminal)
