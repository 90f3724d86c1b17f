"""What every adapter provides: how to launch one agent, how to read it, how to steer it.

An adapter is pure translation. It opens nothing, starts nothing and reads no clock: the shell hands
it what arrived and performs what it answers, so that every adapter can be tested without its agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

import msgspec

from loopguard_cli.core.effects import Effect, Prompt
from loopguard_cli.core.events import Event
from loopguard_cli.core.settings import Capabilities


class Form(StrEnum):
    """How the agent was asked to run; decides what can be guarded and how it goes on."""

    SCREEN = "screen"
    """Interactive: the agent owns the person's terminal."""
    ONE_SHOT = "one-shot"
    """One prompt, then it exits; going on means a new invocation."""
    SERVER = "server"
    """Runs until it is stopped; sessions come from other clients."""
    REMOTE = "remote"
    """A client of an agent that runs elsewhere: nothing inside it can be guarded from here."""
    PLAIN = "plain"
    """No agent work at all (``--version``, ``models``, ...): passed through."""


class LaunchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How to start the agent. Everything the shell needs, nothing it has to know about the agent."""

    argv: tuple[str, ...]
    form: Form
    environment: dict[str, str] = {}
    """Added to, or replaced in, the environment of the run."""
    stdin: bytes | None = None
    """Fed to standard input, which is then closed; None: inherited."""
    bridged: bool = True
    """A bridge inside the agent is expected to say hello."""
    remarks: tuple[str, ...] = ()
    """What the person must know about how far this launch is guarded."""


class BridgeAddress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a bridge finds the supervisor, and the word that lets it in."""

    token: str
    unix: str = ""
    host: str = ""
    port: int = 0


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="hello"):
    """The first message of every bridge, whatever its agent."""

    protocol: int
    token: str
    pid: int = 0
    reconnected: bool = False
    missed: int = 0
    """Messages that the bridge could not send while it was not connected."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One message for a bridge."""

    peer: int
    message: dict[str, Any]


class Answer(NamedTuple):
    """What an effect comes to: messages for bridges, and events that are known at once."""

    orders: tuple[Order, ...] = ()
    events: tuple[Event, ...] = ()


class Adapter(Protocol):
    """One agent. One instance serves one run."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities:
        """Of this launch, not of the agent in general."""

    @property
    def messages(self) -> Any:
        """The union of message types that its bridge sends after `Hello`, for `wire.ndjson.Decoder`."""

    def launch(self, environ: Mapping[str, str], address: BridgeAddress) -> LaunchPlan:
        """The first start."""

    def relaunch(self, environ: Mapping[str, str], address: BridgeAddress, prompt: Prompt) -> LaunchPlan:
        """One-shot agents: the invocation that goes on in ``prompt.session`` with ``prompt.text``."""

    def greet(self, peer: int, hello: Hello) -> Answer:
        """A bridge was let in. ``peer`` numbers the connection; orders are sent with the welcome."""

    def receive(self, peer: int, message: Any) -> Sequence[Event]:
        """What one message means."""

    def carry_out(self, effect: Effect) -> Answer:
        """What ``effect`` means to the agent. What cannot reach it is settled as failed at once."""

    def lost(self, peer: int, reason: str) -> Sequence[Event]:
        """The connection is gone; what it still owes is settled when the agent is back or gone."""

    def exited(self, code: int) -> Sequence[Event]:
        """The agent's process is gone."""
