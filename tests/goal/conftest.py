"""A scripted world around the goal loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from loopguard_cli.testing.scenarios.engine import Engine


@pytest.fixture
def world() -> Callable[..., Engine]:
    """Makes an engine from the options of a scenario."""

    def make(**given: Any) -> Engine:
        return Engine(given)

    return make
