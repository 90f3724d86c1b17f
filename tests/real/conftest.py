"""Scenarios with the real OpenCode.

A start costs seconds, so a scenario is played once per module and several tests look at its traces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.real.harness import World

NewWorld = Callable[..., World]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session")
def new_world(opencode: Path) -> NewWorld:
    """Makes worlds for module fixtures; the caller enters them."""
    return lambda *args: World(opencode, *args)


@pytest.fixture
def world(opencode: Path) -> Iterator[World]:
    """A world for one test. Nothing of it survives the test."""
    with World(opencode) as world:
        yield world
