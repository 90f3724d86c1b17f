"""Readers of the session histories that agents leave on a machine.

Each module knows one agent's format and makes core events of it, with their times. Reading is
read-only, one record at a time, and never fatal: what cannot be understood is counted in a
`Tally`. The formats are not documented by their makers; tests hold them against files that the
real agents wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from loopguard_cli.history import claude, codex, gemini, opencode, pi
from loopguard_cli.history.base import Conversation, Reader, Tally, Timed
from loopguard_cli.history.lines import opened

__all__ = ["NAMES", "READERS", "Conversation", "Reader", "Tally", "Timed", "find", "installed", "read"]

READERS: Mapping[str, Reader] = {
    "opencode": opencode,
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "pi": pi,
}
"""Every known format by the name of its agent."""

NAMES: Mapping[str, str] = {
    "opencode": "OpenCode",
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "pi": "pi",
}
"""The agents as people call them."""

_SUFFIXES = (".jsonl", ".json", ".db")

_HEAD_BYTES = 64 << 10


def installed(home: Path, environ: Mapping[str, str]) -> Iterator[Conversation]:
    """The histories in the places where the agents keep them."""
    for reader in READERS.values():
        for place in reader.places(home, environ):
            yield from reader.find(place)


def find(file: Path) -> Iterator[Conversation]:
    """The histories in one file, whose format is told by its first bytes; none if no reader knows it."""
    reader = _reader_of(file)
    return iter(()) if reader is None else reader.find(file)


def read(conversation: Conversation, tally: Tally) -> Iterator[Timed]:
    """The events of one conversation, oldest first; times never go back.

    Raises OSError when the file cannot be read at all.
    """
    return READERS[conversation.agent].read(conversation, tally)


def _reader_of(file: Path) -> Reader | None:
    if file.suffix not in _SUFFIXES or not file.is_file():
        return None
    try:
        with opened(file) as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        return None
    return next((reader for reader in READERS.values() if reader.recognises(head)), None)
