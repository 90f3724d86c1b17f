"""JSON-RPC 2.0 over lines, both ways: our requests and their answers, their requests and ours.

Pure: no I/O, no clock. `Peer` numbers what we ask and pairs it with what comes back. Framing is
`wire.ndjson`; a line is read as a `Message`, whatever its direction.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603

WAITING = 1000
"""Requests of ours that may be unanswered; the oldest is forgotten."""


class Failure(msgspec.Struct, frozen=True):
    """The error object of an answer."""

    code: int = 0
    message: str = ""
    data: Any = None


class Message(msgspec.Struct, frozen=True):
    """One line. A request has a method and an id, a notification a method, an answer an id."""

    method: str = ""
    id: int | str | float | None = None
    params: Any = None
    result: Any = None
    error: Failure | None = None


class Request(NamedTuple):
    """The other end asks, and waits for `Peer.result` or `Peer.failure` with the same id."""

    id: int | str
    method: str
    params: dict[str, Any]


class Notification(NamedTuple):
    method: str
    params: dict[str, Any]


class Returned(NamedTuple, Generic[T]):
    """The answer to a request of ours. ``about`` is what `Peer.request` was given to remember."""

    about: T
    result: Any
    error: Failure | None


class Stray(NamedTuple):
    """Nothing that the protocol knows, or an answer to nothing."""

    reason: str


class Peer(Generic[T]):
    """Our end of one connection."""

    def __init__(self) -> None:
        self._number = 0
        self._waiting: OrderedDict[int, T] = OrderedDict()

    @property
    def waiting(self) -> list[T]:
        """What is asked and not answered yet."""
        return list(self._waiting.values())

    def request(self, method: str, params: dict[str, Any], about: T) -> dict[str, Any]:
        """A request to send; ``about`` comes back with its answer."""
        self._number += 1
        self._waiting[self._number] = about
        if len(self._waiting) > WAITING:
            self._waiting.popitem(last=False)
        return {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}

    @staticmethod
    def notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "method": method, "params": params}

    @staticmethod
    def result(request: int | str, result: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": request, "result": result}

    @staticmethod
    def failure(request: int | str, code: int, message: str) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": message}}

    def read(self, message: Message) -> Request | Notification | Returned[T] | Stray:
        """What one line means."""
        if message.method:
            params = message.params if isinstance(message.params, dict) else {}
            if message.id is None:
                return Notification(message.method, params)
            if isinstance(message.id, float):
                return Stray("request with a fractional id")
            return Request(message.id, message.method, params)
        if isinstance(message.id, int) and message.id in self._waiting:
            return Returned(self._waiting.pop(message.id), message.result, message.error)
        return Stray("answer to nothing" if message.id is not None else "neither method nor id")

    def abandon(self) -> list[T]:
        """The connection is gone: what will never be answered."""
        left = list(self._waiting.values())
        self._waiting.clear()
        return left
