"""Bytes into lines, with a limit: whatever a peer sends, memory stays bounded.

Pure: no I/O, no clock. A line that is longer than the limit is dropped as a whole, up to its line
end, and counted; the lines around it are unharmed.
"""

from __future__ import annotations


class LineBuffer:
    """Collects bytes and gives back complete lines without their line end (LF or CR LF)."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """Longest accepted line, in bytes."""
        self.dropped = 0
        """How many lines were too long."""
        self._kept = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes in; returns the lines they complete, empty ones left out."""
        *complete, rest = data.split(b"\n")
        ended = [self._end(piece) for piece in complete]
        self._add(rest)
        return [line for line in ended if line]

    @property
    def pending(self) -> int:
        """Bytes of the line that is not complete yet."""
        return len(self._kept)

    def _end(self, piece: bytes) -> bytes:
        """The line that ``piece`` completes; empty when it was too long."""
        self._add(piece)
        line = b"" if self._skipping else bytes(self._kept).removesuffix(b"\r")
        self._kept.clear()
        self._skipping = False
        return line

    def _add(self, piece: bytes) -> None:
        if self._skipping:
            return
        if len(self._kept) + len(piece) > self.limit:
            self._kept.clear()
            self._skipping = True
            self.dropped += 1
        else:
            self._kept += piece
