"""Newline-delimited JSON: one object a line, typed by msgspec.

Pure. What cannot be read comes back as `Malformed`, never as an exception: a peer that talks
nonsense must not take the supervisor down.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from loopguard_cli.wire.lines import LineBuffer

T = TypeVar("T")

_encoder = msgspec.json.Encoder()


class Malformed(NamedTuple):
    """A line that is no message."""

    reason: str
    """For a log; never contains the line."""


class Decoder(Generic[T]):
    """Bytes into messages of the union ``kind``."""

    def __init__(self, kind: Any, *, limit: int) -> None:
        self._lines = LineBuffer(limit)
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(kind)

    def feed(self, data: bytes) -> Iterator[T | Malformed]:
        """The messages that ``data`` completes, in order."""
        before = self._lines.dropped
        for line in self._lines.feed(data):
            yield self._decode(line)
        for _ in range(self._lines.dropped - before):
            yield Malformed("line too long")

    def _decode(self, line: bytes) -> T | Malformed:
        try:
            return self._decoder.decode(line)
        except msgspec.ValidationError as error:
            return Malformed(str(error)[:200])
        except (msgspec.DecodeError, RecursionError):
            return Malformed("not JSON")


def encode(message: Any) -> bytes:
    """One message as a line, its end included."""
    return _encoder.encode(message) + b"\n"
