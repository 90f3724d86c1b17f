"""Hooked agents: they call us, over HTTP or by a small shell client, and write down what they do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from loopguard_cli.agents.base.orders import Answer
from loopguard_cli.core.events import Event


class HookCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a hook; the agent waits for its `HookReply` (or gives up by itself)."""

    call: int
    hook: str
    """The name that the adapter appended to the address."""
    body: dict[str, Any]


@runtime_checkable
class Hooked(Protocol):
    """An agent that calls hooks of ours."""

    def called(self, call: HookCall) -> Answer:
        """A hook was called. Answer with `HookReply` now, or later out of `Adapter.carry_out`."""

    def hung_up(self, call: int) -> Sequence[Event]:
        """The agent waits no longer for the answer to this call."""


@runtime_checkable
class Considering(Protocol):
    """A `Hooked` agent whose hook may be answered by what a call brings about at once."""

    def considered(self, call: int) -> Answer:
        """All effects that followed at once from the events of `Hooked.called` were carried out."""


@runtime_checkable
class Following(Protocol):
    """An agent that writes down what it does in files that we read (`Follow`)."""

    def appended(self, path: str, data: bytes) -> Answer:
        """A followed file has grown by ``data``, which may end anywhere in a line."""
