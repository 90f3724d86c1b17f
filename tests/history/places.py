"""Where the recorded session files are, and how to make OpenCode's database of its dump."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from loopguard_cli import history
from loopguard_cli.core.events import Event
from loopguard_cli.history import Conversation, Tally

FIXTURES = Path(__file__).parent / "fixtures"
CLAUDE = FIXTURES / "claude" / "2.1.332"
CODEX = FIXTURES / "codex" / "0.171.0"
GEMINI = FIXTURES / "gemini" / "0.61.0" / "tmp"
PI = FIXTURES / "pi" / "1.6.0"
OPENCODE = FIXTURES / "opencode" / "1.18.33" / "opencode.sql"


def database(path: Path) -> Path:
    """OpenCode's recorded database, as a closed file at ``path``."""
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA synchronous = OFF")
        made.executescript(OPENCODE.read_text("utf-8"))
        made.execute("PRAGMA journal_mode = WAL")
        made.commit()
    return path


def read(conversation: Conversation) -> tuple[list[Event], Tally]:
    """All events, after a check that their times never go back."""
    tally = Tally()
    timed = list(history.read(conversation, tally))
    times = [one.time for one in timed]
    assert times == sorted(times)
    return [one.event for one in timed], tally


def conversations(agent: str, place: Path) -> list[Conversation]:
    return list(history.READERS[agent].find(place))
