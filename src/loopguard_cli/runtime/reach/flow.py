"""What the agent wrote on its way to the person: taken in and passed on, one portion after the other.

This is the path that floods go. A terminal hands out some 4 KiB at a time and holds little more, so the
program, we and whoever reads the other terminal only work at the same time as long as each portion is on
its way again at once. Hence one buffer, one portion in it, and one loop with few steps.
"""

from __future__ import annotations

import os
import select
import time
from typing import Protocol

HELD_BYTES = 64 << 10
"""Taken in at once at most. No more is read while the other side has not taken that."""

STAY_SECONDS = 0.01
"""So long a flood is carried on without the event loop, whose turn costs several times a copy. Timers and
signals can wait that long; a key that is pressed ends it."""

GLANCE = 8
"""After so many portions without a wait it is seen whether a key was pressed."""

WAIT_SECONDS = 0.001
"""Longest wait for either side in that time."""

FLOOD_BYTES = 1024
"""So much at a time is taken for a flood. Keys come back in less, and a moment of waiting costs little."""


class Copy(Protocol):
    """Whoever reads along."""

    def put(self, data: memoryview) -> bool:
        """``data`` was taken in, and is valid until this returns; False: no more is wanted for now."""

    def skip(self, count: int) -> None:
        """So many bytes more than were put have passed."""


class Flow:
    """From one descriptor that does not block to another, in order, byte by byte."""

    def __init__(self, source: int, sink: int, copy: Copy | None = None) -> None:
        self._source = source
        self._sink = sink
        self._copy = copy
        self._held = memoryview(bytearray(HELD_BYTES))
        self._whole = (self._held,)
        self._begin = self._end = 0
        """What was taken in and not passed on yet."""
        self.ended = False
        """The source has nothing more to say."""

    @property
    def pending(self) -> bool:
        """Something waits for the sink."""
        return self._begin < self._end

    @property
    def hungry(self) -> bool:
        """More can be taken in."""
        return not self.ended and not self.pending

    def carry(self, beside: int) -> None:
        """Copy what there is. In a flood stay with it for a moment, until ``beside`` can be read."""
        self.give()
        if not self.hungry:
            return
        count = self._receive()
        wanted = self._show(count)
        self.give()
        if count < FLOOD_BYTES:
            return
        until, portions, passed = time.monotonic() + STAY_SECONDS, 0, 0
        while not self.ended and time.monotonic() < until:
            if self._begin < self._end:
                if not _wait((), self._sink, beside):
                    break
            elif count := self._receive():
                if wanted:
                    wanted = self._show(count)
                else:
                    passed += count
                portions += 1
                if not portions % GLANCE and beside >= 0 and select.select((beside,), (), (), 0)[0]:
                    break
            elif not _wait((self._source,), -1, beside):
                break
            self.give()
        if passed and self._copy is not None:
            self._copy.skip(passed)

    def take(self) -> bool:
        """Take in what the source hands out at once; False: nothing, or nothing any more."""
        count = self._receive() if self.hungry else 0
        self._show(count)
        return count > 0

    def give(self) -> None:
        """Pass on what the sink takes without waiting."""
        if self._begin == self._end:
            return
        try:
            self._begin += os.write(self._sink, self._held[self._begin : self._end])
        except BlockingIOError:
            pass
        except OSError:  # the person's terminal is gone
            self.drop()

    def drop(self) -> None:
        """Nobody takes what is held."""
        self._begin = self._end = 0

    def _receive(self) -> int:
        """Read into the buffer, which is empty; how much that was."""
        try:
            count = os.readv(self._source, self._whole)
        except BlockingIOError:
            return 0
        except OSError:  # EIO: nobody has the terminal open any more
            count = 0
        self._begin, self._end = 0, count
        self.ended = not count
        return count

    def _show(self, count: int) -> bool:
        return bool(count and self._copy is not None and self._copy.put(self._held[:count]))


def _wait(sources: tuple[int, ...], sink: int, beside: int) -> bool:
    """Wait until something can go on; False: nothing can for a while, or ``beside`` can be read."""
    if beside >= 0:
        sources = (*sources, beside)
    readable, writable, _ = select.select(sources, (sink,) if sink >= 0 else (), (), WAIT_SECONDS)
    return bool(readable or writable) and beside not in readable
