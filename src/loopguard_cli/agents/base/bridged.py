"""Bridged agents: a shim inside the agent keeps one socket to us, one JSON object a line."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec

from loopguard_cli.agents.base.orders import Answer


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="hello"):
    """The first message of every bridge, whatever its agent."""

    protocol: int
    token: str
    pid: int = 0
    version: str = ""
    """The agent's own, where it says so that early."""
    reconnected: bool = False
    missed: int = 0
    """Messages that the bridge could not send while it was not connected."""
    pulse: bool = False
    """It answers a ``ping`` with a `Pong`."""


class Sync(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="sync"):
    """A bridge wants to know when everything that it said has been dealt with.

    Answered with its ``id``, behind all orders that followed from what came before it.
    """

    id: int


class Pong(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="pong"):
    """A bridge was asked whether it still listens."""


@runtime_checkable
class Holding(Protocol):
    """A one-shot agent that our bridge keeps when its turn is over, until nothing more is wanted of it."""

    @property
    def holding(self) -> bool:
        """It waits for `release`, or for a prompt."""

    def release(self, end: bool) -> Answer:
        """Let it go on by itself; ``end``: the run is over, and it shall begin nothing more."""
