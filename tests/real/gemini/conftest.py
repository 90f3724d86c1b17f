"""The real Gemini CLI, where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real.gemini.world import GeminiWorld
from tests.real.installed import installed


@pytest.fixture(scope="session")
def gemini() -> Path:
    return installed("gemini")


@pytest.fixture
def world(gemini: Path) -> Iterator[GeminiWorld]:
    """A world for one test. Nothing of it survives the test."""
    with GeminiWorld(gemini) as world:
        yield world
