"""Where the sentences of a text end."""

from __future__ import annotations

import re
from sys import maxsize

from loopguard_cli.core.holding import CLOSERS, ENDS, FINAL, MAX_CLOSERS

_BOUNDARY = re.compile(
    rf"[{ENDS}{FINAL}](?:(?<=[{FINAL}])|[{CLOSERS}]{{0,{MAX_CLOSERS}}}(?=\s))",
)

# A point after these ends no sentence.
_ABBREVIATIONS = frozenset([
    "vs", "cf", "resp", "approx", "fig", "dr", "mr", "mrs", "ms", "prof", "st", "ca", "nr", "bzw", "ggf",
    "evtl", "inkl", "vgl",
])  # fmt: skip
_LONGEST_ABBREVIATION = 8

_LONGEST_WAIT = 300
"""Beyond this length nothing is waited for any more."""
_INITIAL = re.compile(r"(?:^|[^\w.])[a-z]\. [A-Z]$")


class Marks:
    """Where sentences may end in a text: each mark is found once, in order."""

    __slots__ = ("_rest", "end", "start")

    def __init__(self, text: str) -> None:
        self._rest = _BOUNDARY.finditer(text)
        self.start = self.end = -1
        """Of the present mark with what closes the sentence."""

    def seek(self, at: int) -> None:
        """Go to the first mark from ``at`` on."""
        while self.start < at:
            match = next(self._rest, None)
            if match is None:
                self.start = self.end = maxsize
                return
            self.start, self.end = match.span()


def first_end(text: str, at: int) -> int:
    """Where the first sentence from ``at`` on may end; beyond the text if none does."""
    match = _BOUNDARY.search(text, at)
    return match.end() if match is not None else maxsize


def ends_at(text: str, at: int, point: int) -> bool:
    """Whether the point at ``point`` (white space follows) ends the sentence that began at ``at``."""
    if point - at > _LONGEST_WAIT:
        return True
    last = text[point - 1] if point > at else " "
    if last.isspace():
        return False
    if last.isdigit():
        return not text[at:point].strip().isdigit()  # the number of a list item
    word = text[max(at, point - _LONGEST_ABBREVIATION) : point].rpartition(" ")[2].lstrip("(")
    if len(word) == 1:
        # Not after the "x" of "x. y", nor after the "B" of "z. B.".
        return not word.islower() and _INITIAL.search(text[max(at, point - 5) : point]) is None
    if len(word) == 3 and word[1] == ".":
        return False
    return word.lower() not in _ABBREVIATIONS
