"""The record of what a scripted model was asked and how each answer ended.

Written by the server's threads, read by tests; all waiting is on one condition.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeVar

from loopguard_cli.testing.conversation import Kind, Request

T = TypeVar("T")


class End(StrEnum):
    """How an answer ended."""

    OPEN = "open"
    """It has not ended yet."""
    COMPLETED = "completed"
    FAILED = "failed"
    """With a scripted error."""
    DROPPED = "dropped"
    """We cut the connection, as scripted."""
    CLIENT_CLOSED = "client closed"
    """The agent closed the connection before the answer was complete."""
    STOPPED = "stopped"
    """The server was closed."""


class Exchange:
    """One request and its answer. Times are `time.monotonic` seconds."""

    def __init__(self, number: int, request: Request) -> None:
        self.number = number
        self.request = request
        self.received_at = time.monotonic()
        self.first_byte_at: float | None = None
        self.ended_at: float | None = None
        self.end = End.OPEN
        self.text = ""
        """The prose sent so far."""
        self._sent: list[tuple[int, float]] = []

    @property
    def session(self) -> str:
        """The agent's session, where the agent tells its provider (OpenCode does)."""
        return self.request.headers.get("x-session-id", "")

    def sent_at(self, characters: int) -> float | None:
        """When the first ``characters`` of prose had been sent; None if that never happened."""
        return next((at for count, at in self._sent if count >= characters), None)

    def note_sent(self, piece: str) -> None:
        self.text += piece
        self._sent.append((len(self.text), time.monotonic()))

    def __repr__(self) -> str:
        newest = self.request.results[-1:] or [self.request.user]
        return (
            f"<{self.number} {self.request.kind} {self.end} asked={newest[0][:60]!r} said={self.text[:40]!r}>"
        )


class Journal:
    """All exchanges of one server, in the order in which they arrived."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._exchanges: list[Exchange] = []

    def open(self, request: Request) -> Exchange:
        with self._changed:
            exchange = Exchange(len(self._exchanges), request)
            self._exchanges.append(exchange)
            self._changed.notify_all()
        return exchange

    def first_byte(self, exchange: Exchange) -> None:
        with self._changed:
            if exchange.first_byte_at is None:
                exchange.first_byte_at = time.monotonic()
                self._changed.notify_all()

    def sent(self, exchange: Exchange, piece: str) -> None:
        with self._changed:
            exchange.note_sent(piece)
            self._changed.notify_all()

    def ended(self, exchange: Exchange, end: End) -> None:
        with self._changed:
            if exchange.end is End.OPEN:
                exchange.end, exchange.ended_at = end, time.monotonic()
                self._changed.notify_all()

    def __call__(self, kind: Kind | None = Kind.CHAT) -> list[Exchange]:
        """The exchanges of one kind so far; of all kinds with None."""
        with self._changed:
            return [e for e in self._exchanges if kind is None or e.request.kind is kind]

    def wait_for(
        self,
        predicate: Callable[[Sequence[Exchange]], T],
        timeout: float = 120.0,
        kind: Kind | None = Kind.CHAT,
    ) -> T:
        """The first true value of ``predicate`` over the exchanges.

        Raises `TimeoutError`, which lists what the model was asked instead.
        """

        def attempt() -> T:
            return predicate([e for e in self._exchanges if kind is None or e.request.kind is kind])

        with self._changed:
            found = self._changed.wait_for(attempt, timeout)
            if not found:
                seen = "\n  ".join(repr(e) for e in self._exchanges) or "nothing"
                raise TimeoutError(f"not seen within {timeout:g} s; the model was asked:\n  {seen}")
            return found
