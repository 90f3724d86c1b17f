"""What the agent wrote on its way to the person: taken in, held back as little as need be, passed on.

This is the path that floods go, so it is made for few steps: the bytes lie in one buffer that is never
moved, many reads come before one write, and nobody looks at them in between.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable

HELD_BYTES = 256 << 10
"""No more is read while the other side has not taken this much."""

READS = 16
"""How often one side is read before the other has its turn."""

FULL_BYTES = 4095
"""Linux hands out no more of a terminal's output at a time; less was all that there is."""

STAY_SECONDS = 0.002
"""So long a flood is carried on without the event loop, whose turn costs several times a copy. Timers and
signals can wait that long; a key that is pressed ends it."""

WAIT_SECONDS = 0.001
"""Longest wait for either side in that time."""

FLOOD_BYTES = 1024
"""So much at a time is taken for a flood. Keys come back in less, and a moment of waiting costs little."""

Copy = Callable[[memoryview], None]


class Flow:
    """From one descriptor that does not block to another, in order, byte by byte."""

    def __init__(self, source: int, sink: int, copy: Copy | None = None) -> None:
        """``copy`` is shown everything that is taken in; what it is shown is valid until it returns."""
        self._source = source
        self._sink = sink
        self._copy = copy
        self._flooded = False
        """More is about to come."""
        self._held = memoryview(bytearray(HELD_BYTES))
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
        return not self.ended and self._end < HELD_BYTES

    def carry(self, beside: int) -> None:
        """Copy what there is. In a flood stay with it for a moment, until ``beside`` can be read."""
        self.take()
        self.give()
        if not self._flooded:
            return
        others = [beside] if beside >= 0 else []
        until = time.monotonic() + STAY_SECONDS
        while self._flooded and not self.ended:
            held_up = self.pending
            sources, sinks = (others, [self._sink]) if held_up else ([self._source, *others], [])
            readable, writable, _ = select.select(sources, sinks, (), WAIT_SECONDS)
            if beside in readable or not (readable or writable) or time.monotonic() > until:
                return
            self.take()
            self.give()

    def take(self) -> bool:
        """Take in what there is at present, at most a turn's worth; False: nothing, or nothing any more."""
        held, source, readv = self._held, self._source, os.readv
        at = first = self._end
        for _ in range(READS):
            if at == HELD_BYTES:
                break
            try:
                count = readv(source, (held[at:],))
            except BlockingIOError:
                break
            except OSError:  # EIO: nobody has the terminal open any more
                count = 0
            if not count:
                self.ended = True
                break
            at += count
            if count < FULL_BYTES:
                break
        self._end = at
        self._flooded = at - first >= FLOOD_BYTES or (self._flooded and at == HELD_BYTES)
        if at > first and self._copy is not None:
            self._copy(held[first:at])
        return at > first

    def give(self) -> None:
        """Pass on what the sink takes without waiting."""
        if self._begin == self._end:
            return
        try:
            self._begin += os.write(self._sink, self._held[self._begin : self._end])
        except BlockingIOError:
            return
        except OSError:  # the person's terminal is gone
            self._begin = self._end
        if self._begin == self._end:
            self._begin = self._end = 0

    def drop(self) -> None:
        """Nobody takes what is held."""
        self._begin = self._end = 0
