"""The real Copilot CLI, where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real.copilot.world import CopilotWorld
from tests.real.installed import installed


@pytest.fixture(scope="session")
def copilot() -> Path:
    return installed("copilot")


@pytest.fixture
def world(copilot: Path) -> Iterator[CopilotWorld]:
    """A world for one test. Nothing of it survives the test."""
    with CopilotWorld(copilot) as world:
        yield world
