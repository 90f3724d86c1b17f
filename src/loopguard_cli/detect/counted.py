"""char-cycle for texts that are one but for their numbers: an item counted on, an object with other ids."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loopguard_cli.detect.matter import Floor, Matter
from loopguard_cli.detect.periodic import FAR, CharCycle
from loopguard_cli.detect.repetition import Repetition

_COUNTED = (Floor(20, 1_024), Floor(60, 3_072))
_COUNTED_CODE = (Floor(24, 2_048), Floor(48, 4_096))
"""Of text and of code that is the same but for its numbers."""
OBJECT = 4
"""Lines of code that are more than a row, a rule or a statement with a number of its own."""
MOST_NUMBERS = 2
_ONE_DIGIT = str.maketrans("123456789", "000000000")
_ONE_DIGIT_OF_ASCII = bytes.maketrans(b"123456789", b"000000000")
_NUMBER = re.compile(r"0+(?:[.,:]0+)*")


class CountedCycle(CharCycle):
    """The same text with other numbers in it, over and over: all digits are one.

    Numbers of one length make a cycle exact; from 10 to 99 there are as many as the floors ask for.
    It need not be seen at once, so that little is spent on it.
    """

    STRIDE = FAR
    EVERY = 1

    def feed(self, text: str, event: int) -> Sequence[Repetition]:
        """``text``: exactly one stride."""
        read = _with_one_digit(text)
        if read == text and not self.unit:
            return self.pass_over(text)
        return CharCycle.feed(self, read, event)  # by its name: super() is slow in Python 3.11

    def floors(self, matter: Matter, unit: str) -> tuple[Floor, Floor] | None:
        numbers = len(_NUMBER.findall(unit + unit[:1])) if "0" in unit else 0
        if not 0 < numbers <= max(MOST_NUMBERS, self.lines):
            return None  # without any it is the plain cycle's; with many, a reckoning
        if matter is Matter.CODE:
            return _COUNTED_CODE if self.lines >= OBJECT else None
        return _COUNTED if matter in (Matter.PROSE, Matter.ITEM) else None


def _with_one_digit(text: str) -> str:
    if text.isascii():  # bytes are several times faster
        return text.encode().translate(_ONE_DIGIT_OF_ASCII).decode()
    return text.translate(_ONE_DIGIT)
