"""What the agent wrote on its way to the person: taken in, held back as little as need be, passed on.

This is the path that floods go. A terminal hands out some 4 KiB at a time and holds little more, so the
program, we and whoever reads the other terminal only work at the same time as long as each portion is on
its way again at once, and a program need not wait for a reader that is held up for a moment. Hence each
side has its turn after one step of the other, and we wait in one place, for whichever can go on first.
"""

from __future__ import annotations

import os
import select
import time
from typing import Protocol

HELD_BYTES = 128 << 10
"""No more is read while the other side has not taken this much. What is held is still to be seen after ^C."""

READ_BYTES = 64 << 10
"""There is always room for so much at once. Linux hands out 4,095 bytes of a terminal's output at most."""

ROOM_BYTES = HELD_BYTES + 2 * READ_BYTES
"""Of the buffer: what is held is moved to its beginning only once in a while."""

STAY_SECONDS = 0.02
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
        self._held = memoryview(bytearray(ROOM_BYTES))
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
        return not self.ended and self._end - self._begin < HELD_BYTES

    def carry(self, beside: int) -> None:
        """Copy what there is. In a flood stay with it for a moment, until ``beside`` can be read."""
        waiting = self._end - self._begin
        count = self._receive()
        wanted = self._show(count)
        self.give()
        if waiting + count < FLOOD_BYTES:
            return
        until, portions, passed = time.monotonic() + STAY_SECONDS, 0, 0
        while not self.ended and time.monotonic() < until:
            count = self._receive()
            if wanted:
                wanted = self._show(count)
            else:
                passed += count
            if self.give() or count:
                portions += 1
                if not portions % GLANCE and beside >= 0 and select.select((beside,), (), (), 0)[0]:
                    break
            elif not self._wait(beside):
                break
        if passed and self._copy is not None:
            self._copy.skip(passed)

    def take(self) -> bool:
        """Take in what the source hands out at once; False: nothing, or nothing any more."""
        count = self._receive()
        self._show(count)
        return count > 0

    def give(self) -> bool:
        """Pass on what the sink takes without waiting; False: nothing."""
        begin, end = self._begin, self._end
        if begin == end:
            return False
        try:
            begin += os.write(self._sink, self._held[begin:end])
        except BlockingIOError:
            return False
        except OSError:  # the person's terminal is gone
            begin = end
        if begin == end:
            begin = self._end = 0
        self._begin = begin
        return True

    def drop(self) -> None:
        """Nobody takes what is held."""
        self._begin = self._end = 0

    def _receive(self) -> int:
        """Read once, if there is room; how much that was."""
        held, begin, end = self._held, self._begin, self._end
        if end - begin >= HELD_BYTES or self.ended:
            return 0
        if end + READ_BYTES > ROOM_BYTES:
            held[: end - begin] = held[begin:end]
            self._begin, end = 0, end - begin
            self._end = end
        try:
            count = os.readv(self._source, (held[end:],))
        except BlockingIOError:
            return 0
        except OSError:  # EIO: nobody has the terminal open any more
            count = 0
        self._end = end + count
        self.ended = not count
        return count

    def _show(self, count: int) -> bool:
        """Show what came last to whoever reads along; False: no more is wanted."""
        if self._copy is None:
            return False
        return not count or self._copy.put(self._held[self._end - count : self._end])

    def _wait(self, beside: int) -> bool:
        """Wait until something can go on; False: nothing can for a while, or ``beside`` can be read."""
        sources = [self._source] if self.hungry else []
        if beside >= 0:
            sources.append(beside)
        sinks = [self._sink] if self.pending else []
        readable, writable, _ = select.select(sources, sinks, (), WAIT_SECONDS)
        return bool(readable or writable) and beside not in readable
