"""What an adapter gets to read of a terminal: a copy, in small portions, and never at the copy's expense."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING

from loopguard_cli.agents.base import OnTerminal, ReadsAlong, ReadsPictures

if TYPE_CHECKING:
    from loopguard_cli.runtime.reach.screen import Take

WAITING_BYTES = 256 << 10
"""So much may be waiting to be read; what comes on top of it is missed. A screen holds some 10 KiB."""

BURST_SECONDS = 0.05
SHARE = 0.05
"""Reading may use the processor for this part of all time, after a first burst. Drawing costs little of it,
and text that a model writes and a person can follow even less."""

FLOOD_SHARE = 0.01
"""The part while more comes than can be read, and there of all time that passes: whatever holds the reading
up holds the copy up. What is flooded past every reader is not worth a slower copy, and what repeats in it is
found in any part of it."""

FLOOD_BURST_SECONDS = 0.005
"""What is left of a burst once it turns out to be a flood."""

FLOOD_SECONDS = 1.0
"""A flood is over when nothing was missed for so long."""

RESUME_SECONDS = 0.02
"""So much must have been saved up before reading goes on."""

PORTION_BYTES = 2 << 10
"""Read at a time, which takes some 2 ms; keys and output go on in between."""


class Tee:
    """Feeds one `OnTerminal`, and tells it of pauses."""

    def __init__(self, adapter: OnTerminal, take: Take) -> None:
        from loopguard_cli.runtime.reach.screen import DRAWN_SECONDS, PAUSE_SECONDS, STILL_SECONDS

        self._drawn_seconds = DRAWN_SECONDS
        self._pause_seconds, self._still_seconds = PAUSE_SECONDS, STILL_SECONDS
        self._adapter = adapter
        self._reader: ReadsAlong | None = adapter if isinstance(adapter, ReadsAlong) else None
        self._looker: ReadsPictures | None = adapter if isinstance(adapter, ReadsPictures) else None
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[bytes] = deque()
        self._bytes = self._missed = 0
        self._allowance = BURST_SECONDS
        self._since = self._written = self._loop.time()
        self._overflowed = self._since - FLOOD_SECONDS
        """When something was missed last."""
        self._told = -1.0
        """When that was written behind which a pause was told."""
        self._next: asyncio.Handle | None = None
        self._quiet: asyncio.TimerHandle | None = None
        self._drawing: asyncio.TimerHandle | None = None

    def put(self, data: bytes | memoryview) -> bool:
        """Take a copy of ``data``, or count it as missed; False: what comes now is missed as well."""
        if self._missed or self._bytes + len(data) > WAITING_BYTES:
            # Nothing behind a gap is read before the gap was told.
            self.skip(len(data))
            return False
        self._waiting.append(bytes(data))
        self._bytes += len(data)
        self._came()
        return True

    def skip(self, count: int) -> None:
        """So much is missed."""
        self._missed += count
        self._allowance = min(self._allowance, FLOOD_BURST_SECONDS)
        self._came()
        self._overflowed = self._written

    def _came(self) -> None:
        self._written = self._loop.time()
        if self._next is None:
            self._next = self._loop.call_soon(self._read)
        if self._quiet is None:
            self._quiet = self._loop.call_later(self._pause_seconds, self._look)
        if self._drawing is None and self._looker is not None:
            self._drawing = self._loop.call_later(self._drawn_seconds, self._drawn)

    def close(self) -> None:
        """Read what is left, within the allowance."""
        for handle in (self._next, self._quiet, self._drawing):
            if handle is not None:
                handle.cancel()
        self._next = self._quiet = self._drawing = None
        while self._portion():
            pass

    def _read(self) -> None:
        self._next = None
        if self._portion() and (self._bytes or self._missed):
            self._next = self._loop.call_soon(self._read)
        elif self._bytes or self._missed:
            lacking = max(0.0, RESUME_SECONDS - self._allowance)
            self._next = self._loop.call_later(lacking / self._share, self._read)

    @property
    def _flooded(self) -> bool:
        return self._since - self._overflowed < FLOOD_SECONDS

    @property
    def _share(self) -> float:
        return FLOOD_SHARE if self._flooded else SHARE

    def _portion(self) -> bool:
        """Have the adapter read one portion; False: nothing is left, or not now."""
        now = self._loop.time()
        self._allowance = min(BURST_SECONDS, self._allowance + (now - self._since) * self._share)
        self._since = now
        if self._allowance <= 0:
            return False
        if not self._waiting:
            return self._gap()
        taken = bytearray()
        while self._waiting and len(taken) < PORTION_BYTES:
            taken += self._waiting.popleft()
        rest = bytes(taken[PORTION_BYTES:])
        if rest:
            self._waiting.appendleft(rest)
        data = bytes(taken[:PORTION_BYTES])
        self._bytes -= len(data)
        clock = time.perf_counter if self._flooded else time.thread_time
        began = clock()
        self._take(self._adapter.printed(data))
        self._allowance -= clock() - began
        return True

    def _gap(self) -> bool:
        if not self._missed:
            return False
        missed, self._missed = self._missed, 0
        if self._reader is not None:
            self._take(self._reader.missed(missed))
        return True

    def _drawn(self) -> None:
        """Have the adapter look at a picture that is whole and was read."""
        self._drawing = None
        quiet = self._loop.time() - self._written
        if quiet < self._drawn_seconds or self._bytes:
            # In a flood there is no picture to look at soon.
            wait = self._pause_seconds if self._bytes else self._drawn_seconds - quiet
            self._drawing = self._loop.call_later(max(wait, 0.002), self._drawn)
        elif self._looker is not None:
            began = time.thread_time()
            self._take(self._looker.drawn())
            self._allowance -= time.thread_time() - began

    def _look(self) -> None:
        """Tell the adapter once it is quiet, and once more when it stays so."""
        told = self._told == self._written
        wanted = self._still_seconds if told else self._pause_seconds
        quiet = self._loop.time() - self._written
        self._quiet = None
        if quiet < wanted or self._bytes:
            self._quiet = self._loop.call_later(max(wanted - quiet, 0.01), self._look)
        elif not told:
            self._told = self._written
            self._take(self._adapter.paused())
            self._quiet = self._loop.call_later(max(0.01, self._still_seconds - quiet), self._look)
        elif self._reader is not None:
            self._take(self._reader.still())
