"""The real Codex, where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real.codex.world import CodexWorld
from tests.real.installed import installed


@pytest.fixture(scope="session")
def codex() -> Path:
    return installed("codex")


@pytest.fixture
def world(codex: Path) -> Iterator[CodexWorld]:
    """A world for one test. Nothing of it survives the test."""
    with CodexWorld(codex) as world:
        yield world
