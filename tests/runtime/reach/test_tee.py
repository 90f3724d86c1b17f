"""What is read along of a terminal, and what it may cost."""

from __future__ import annotations

import asyncio

from loopguard_cli.agents.base import Answer
from loopguard_cli.runtime.reach.tee import PORTION_BYTES, WAITING_BYTES, Tee

SECONDS = 30.0


class Reader:
    """An adapter that notes what it gets to read."""

    def __init__(self) -> None:
        self.portions: list[bytes] = []
        self.gap = 0
        self.told = asyncio.Event()

    def printed(self, data: bytes) -> Answer:
        assert not self.gap, "what follows a gap is read behind it"
        self.portions.append(data)
        return Answer()

    def paused(self) -> Answer:
        self.told.set()
        return Answer()

    def drawn(self) -> Answer:
        return Answer()

    def sized(self, _rows: int, _columns: int) -> Answer:
        return Answer()

    def keyed(self, _data: bytes) -> Answer:
        return Answer()

    def still(self) -> Answer:
        return Answer()

    def missed(self, count: int) -> Answer:
        self.gap = count
        self.told.set()
        return Answer()


async def read(pieces: list[bytes], *, skipped: int = 0) -> Reader:
    reader = Reader()
    tee = Tee(reader, lambda _: None)
    wanted = True
    for piece in pieces:
        if wanted:
            wanted = tee.put(piece)
        else:
            skipped += len(piece)
    if skipped:
        tee.skip(skipped)
    await asyncio.wait_for(reader.told.wait(), SECONDS)
    tee.close()
    return reader


def test_everything_is_read_in_small_portions() -> None:
    pieces = [bytes([number]) * 1000 for number in range(100)]
    reader = asyncio.run(read(pieces))
    assert b"".join(reader.portions) == b"".join(pieces)
    assert max(map(len, reader.portions)) <= PORTION_BYTES
    assert reader.gap == 0


def test_what_is_too_much_is_told_behind_what_was_read() -> None:
    pieces = [b"x" * 4096] * 1000
    reader = asyncio.run(read(pieces))
    assert sum(map(len, reader.portions)) + reader.gap == 4096 * 1000
    assert sum(map(len, reader.portions)) <= WAITING_BYTES
