"""What popular tools drew on a terminal in ten minutes of work (`recording`): nothing of it is a loop."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.terminal.desk import Watched
from tests.agents.terminal.recording import RECORDINGS, SECONDS, TOOLS


def pieces(recording: Path) -> Iterator[tuple[float, str]]:
    """When something was written, and what."""
    with gzip.open(recording, "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            when, _, data = json.loads(line)
            yield when, data


@pytest.mark.parametrize("tool", TOOLS)
def test_no_finding(tool: str) -> None:
    watched = Watched()
    watched.keys(b"do it\r")
    last = 0.0
    for when, data in pieces(RECORDINGS / f"{tool}.cast.gz"):
        watched.prints(data, when - last)
        last = when
    assert last >= SECONDS - 30, "it was at work for ten minutes"
    watched.prints("\r\n" * 30)
    assert watched.found == []
    assert watched.typed == []
