"""What a rival is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import msgspec

from loopguard_cli.core.events import Event


class Said(NamedTuple):
    """An answer of a rival, as `study.evaluate.tally` takes it."""

    event: int
    rule: str
    action: str


class Rival(Protocol):
    """One agent's rules over the events of one session."""

    def take(self, event: Event) -> Iterable[str]:
        """What it does about this event: nudge, block, abort or stop; mostly nothing."""


def form(tool: str, args: dict[str, Any]) -> bytes:
    """Tool and arguments, the order of keys kept."""
    return msgspec.json.encode([tool, args])
