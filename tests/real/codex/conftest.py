"""The real Codex, where it is installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.real.codex.world import CodexWorld


@pytest.fixture(scope="session")
def codex() -> Path:
    """Missing, it fails the test where all agents must be there and skips it elsewhere."""
    places = [
        os.environ.get("LOOPGUARD_TEST_CODEX"),
        str(ROOT / ".agents/codex/node_modules/.bin/codex"),
    ]
    for place in filter(None, places):
        if found := shutil.which(place):
            return Path(found).absolute()
    reason = "Codex is not installed: run `make agents`, or name one in LOOPGUARD_TEST_CODEX"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def world(codex: Path) -> Iterator[CodexWorld]:
    """A world for one test. Nothing of it survives the test."""
    with CodexWorld(codex) as world:
        yield world
