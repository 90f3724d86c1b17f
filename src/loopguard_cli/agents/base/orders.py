"""What an adapter answers: what goes out, and to whom; and what is known now."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from loopguard_cli.core.events import Event

CHILD = 0
"""The peer number of a driven agent's own standard streams."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One message for a bridge, or, with the peer `CHILD`, for a driven agent's standard input."""

    peer: int
    message: dict[str, Any]


class HookReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one `HookCall`; a second one for the same call is dropped."""

    call: int
    body: dict[str, Any] | None = None
    """None: nothing to say, the agent goes on as without us."""
    code: int = 0
    """Exit status of a command hook."""
    text: str = ""
    """Standard error of a command hook."""


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """Typed into the agent's terminal, as by the person."""

    data: bytes
    pause: float = 0.0
    """Seconds to wait before; some agents take a text and the Enter behind it as one paste."""


class Interrupt(msgspec.Struct, frozen=True, kw_only=True):
    """SIGINT to an agent that can be told nothing else (`Streams.TAPPED`)."""


class Show(StrEnum):
    """What a piece of console output is."""

    TEXT = "text"
    """The assistant speaks; pieces follow each other on the same line."""
    REASONING = "reasoning"
    TOOL = "tool"
    """A call begins: one line."""
    RESULT = "result"
    """What came of it, one line or more."""
    NOTE = "note"
    """One line about the session."""
    PROMPT = "prompt"
    """What we sent to the agent in the person's place."""
    END = "end"
    """Nothing: the turn is over, and what comes next begins a new line."""
    OUT = "out"
    """To standard output, verbatim: what the agent itself would have printed."""
    ERR = "err"
    """To standard error, verbatim."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """Something for the person to see (driven agents)."""

    kind: Show
    text: str


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    label: str


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Something for the person to decide; comes back by `Driven.chosen`, or is cancelled by the agent."""

    id: str
    text: str
    choices: tuple[Choice, ...]


class Withdrawn(msgspec.Struct, frozen=True, kw_only=True):
    """A `Question` that needs no answer any more."""

    id: str


class Follow(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the agent appends to: tell what is appended from now on (`Following.appended`)."""

    path: str


class ToClient(msgspec.Struct, frozen=True, kw_only=True):
    """One message for a client of a relayed server."""

    client: int
    message: dict[str, Any]


Outgoing = Order | HookReply | Keys | Interrupt | Shown | Question | Withdrawn | Follow | ToClient


class Answer(NamedTuple):
    """What something comes to: what goes out, and events that are known at once."""

    orders: tuple[Outgoing, ...] = ()
    events: tuple[Event, ...] = ()


def answer(parts: Iterable[Outgoing | Event]) -> Answer:
    """An `Answer` from a generator that yields what goes out and what is known, mixed."""
    orders: list[Outgoing] = []
    events: list[Event] = []
    for part in parts:
        if isinstance(part, Event):
            events.append(part)
        else:
            orders.append(part)
    return Answer(tuple(orders), tuple(events))
