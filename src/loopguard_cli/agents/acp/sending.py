"""What goes out to the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from loopguard_cli.agents.base import CHILD, Order, Outgoing
from loopguard_cli.core.events import Event
from loopguard_cli.wire import jsonrpc

Part = Outgoing | Event
Returned = Callable[[Any, jsonrpc.Failure | None], Iterable[Part]]
"""What is done with the answer to a request of ours: its result, or why there is none."""


def send(message: dict[str, Any]) -> Order:
    return Order(peer=CHILD, message=message)
