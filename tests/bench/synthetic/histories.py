"""Histories as the five agents leave them, any number of bytes: `conversations`, in their `formats`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tests.bench.synthetic import formats
from tests.bench.synthetic.conversations import Author, Conversation

SHARES = {"claude": 0.4, "codex": 0.25, "opencode": 0.2, "pi": 0.1, "gemini": 0.05}
"""Of all bytes."""

_FILES: dict[str, tuple[Callable[[Conversation], Iterator[dict[str, Any]]], str]] = {
    "claude": (formats.claude, ".claude/projects/-home-dev-shop/{uuid}.jsonl"),
    "codex": (formats.codex, ".codex/sessions/2026/11/30/rollout-2026-11-30T15-31-50-{uuid}.jsonl"),
    "pi": (formats.pi, ".pi/agent/sessions/--home-dev-shop--/2026-11-30T15-32-15-950Z_{uuid}.jsonl"),
    "gemini": (formats.gemini, ".gemini/tmp/shop/chats/session-2026-11-30T15-32-{name}.jsonl"),
}
_TABLES = Path(__file__).parents[2] / "history" / "fixtures" / "opencode" / "1.18.33" / "opencode.sql"


class Written(NamedTuple):
    bytes: dict[str, int]
    """By agent, what a reader reads."""
    conversations: int
    loops: int


def write(home: Path, size: int, seed: str = "histories") -> Written:
    """Fill the agents' folders below ``home`` with some ``size`` bytes."""
    author, count, written = Author(seed), 0, dict.fromkeys(SHARES, 0)
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        schema = [line for line in _TABLES.read_text("utf-8").splitlines() if not line.startswith("INSERT")]
        database.execute("PRAGMA synchronous = OFF")
        database.executescript("\n".join(schema))
        for agent, share in SHARES.items():
            while written[agent] < share * size:
                count += 1
                made = author.conversation()
                if agent == "opencode":
                    written[agent] += formats.opencode(made, database)
                else:
                    written[agent] += _file(agent, made, home)
        database.commit()
    return Written(written, count, author.loops)


def _file(agent: str, made: Conversation, home: Path) -> int:
    lines, place = _FILES[agent]
    path = home / place.format(uuid=formats.uuid(made.name), name=made.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = b"\n".join(msgspec.json.encode(line) for line in lines(made)) + b"\n"
    path.write_bytes(content)
    return len(content)
