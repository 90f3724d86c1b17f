"""Transcripts: what an adapter was told and what it made of it, one step a line.

Recorded from real agents (``LOOPGUARD_TRANSCRIPT``), replayed by `loopguard_cli.testing.conformance`.
They hold everything the agent said, arguments and text included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from loopguard_cli import __version__
from loopguard_cli.agents.base import Adapter, Answer, HookCall, Outgoing
from loopguard_cli.core.effects import AnyEffect, Prompt
from loopguard_cli.core.events import AnyEvent, Event

FORMAT = "loopguard-transcript"
VERSION = 1

CALLS = (
    "greet", "receive", "lost", "exited", "relaunch", "carry_out", "called", "hung_up", "began", "heard",
    "typed", "chosen", "interrupted", "printed", "paused", "considered", "appended", "concluded",
    "sized", "keyed", "still", "missed", "release", "joined", "said", "parted", "drawn", "ping",
)  # fmt: skip
"""The methods of an adapter that are written down."""


_OURS = b'"version":"%b"' % __version__.encode()


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    format: str = FORMAT
    version: int = VERSION
    agent: str
    """Its name in the registry."""
    argv: tuple[str, ...]
    interactive: bool = False
    permissions: str = "ask"
    events: str = ""
    """In which format it prints its events, where it was run for these (`Setup.events`)."""
    about: str = ""
    """What happens in it."""
    findings: tuple[str, ...] | None = None
    """The rules that a guard with default settings finds, in order; None: not looked at yet."""


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of the adapter."""

    t: float = 0.0
    """Seconds since the launch."""
    call: str
    args: tuple[Any, ...] = ()
    events: tuple[AnyEvent, ...] = ()
    orders: tuple[Any, ...] = ()
    """As plain JSON, with the name of the type as ``is``."""


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    header: Header
    steps: tuple[Step, ...]


def read(lines: Iterable[bytes | str]) -> Transcript:
    """Raises `msgspec.DecodeError` (a ValueError) naming what is wrong."""
    given: Iterator[bytes | str] = (line for line in lines if line.strip())
    header = msgspec.json.decode(next(given), type=Header)
    decoder = msgspec.json.Decoder(Step)
    return Transcript(header=header, steps=tuple(decoder.decode(line) for line in given))


def step(call: str, args: Iterable[Any], result: Any, t: float = 0.0) -> Step:
    """The step that was just taken."""
    if not isinstance(result, Answer):
        result = Answer(events=tuple(result) if _is_events(result) else ())
    return Step(
        t=round(t, 3),
        call=call,
        args=tuple(_plain(argument) for argument in args),
        events=result.events,
        orders=tuple(outgoing(order) for order in result.orders),
    )


def play(adapter: Adapter, step: Step) -> Answer:
    """Take the step again."""
    if step.call == "relaunch":
        return Answer()
    result = getattr(adapter, step.call)(*_arguments(adapter, step))
    return result if isinstance(result, Answer) else Answer(events=tuple(result))


def outgoing(order: Outgoing) -> dict[str, Any]:
    """What goes out, as plain JSON; without our own version, which is no matter of the agent."""
    said = msgspec.json.encode({"is": type(order).__name__, **_plain(order)})
    fields: dict[str, Any] = msgspec.json.decode(said.replace(_OURS, b'"version":""'))
    return fields


def _arguments(adapter: Any, step: Step) -> list[Any]:
    args = list(step.args)
    convert: dict[str, Callable[[Any], Any]] = {
        "receive": lambda value: msgspec.convert(value, adapter.messages),
        "heard": lambda value: msgspec.convert(value, adapter.speaks),
        "called": lambda value: msgspec.convert(value, HookCall),
        "carry_out": lambda value: msgspec.convert(value, AnyEffect),
        "relaunch": lambda value: msgspec.convert(value, Prompt),
        "printed": lambda value: bytes(value, "latin-1"),
        "keyed": lambda value: bytes(value, "latin-1"),
        "appended": lambda value: bytes(value, "latin-1"),
        "greet": _hello,
    }
    if step.call in convert and args:
        args[-1] = convert[step.call](args[-1])
    return args


def _hello(value: Any) -> Any:
    from loopguard_cli.agents.base import Hello

    return msgspec.convert({**value, "type": "hello"}, Hello)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return msgspec.to_builtins(value, builtin_types=())


def _is_events(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, Event) for item in value)
