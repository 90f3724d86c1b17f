"""What a reader of histories is, and what it hands out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from loopguard_cli.core.events import Event


class Timed(NamedTuple):
    """An event and when it happened."""

    time: float
    """Unix time in seconds; where a format has no times, a guess that keeps the order."""
    event: Event


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """One unit of reading: a session's file, or one session in a database."""

    agent: str
    path: Path
    session: str = ""
    """Which session of a database; empty: what the file holds."""
    modified: float = 0.0
    """Unix time of the last change."""
    size: int = 0
    """Bytes to read, for progress; an estimate for databases."""


class Tally(msgspec.Struct, kw_only=True):
    """What reading met. One per conversation; sums add up."""

    bytes: int = 0
    records: int = 0
    damaged: int = 0
    """Records that are not what the format says: torn lines, bad JSON, unreadable rows."""
    oversized: int = 0
    """Records beyond the size that is read."""
    unknown: int = 0
    """Sound records of a type that the reader does not know: a newer version, perhaps."""

    def add(self, other: Tally) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Reader(Protocol):
    """One agent's format; implemented by a module."""

    def places(self, home: Path, environ: Mapping[str, str]) -> list[Path]:
        """Where the agent keeps its histories; they need not exist."""

    def recognises(self, head: bytes) -> bool:
        """A file that begins with ``head`` (up to 64 KiB) is of this format."""

    def find(self, place: Path) -> Iterator[Conversation]:
        """The conversations below a place, or in one file. Cheap: opens no session file."""

    def read(self, conversation: Conversation, tally: Tally) -> Iterator[Timed]: ...
