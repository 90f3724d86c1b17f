"""What a repeated piece of text consists of, and from when on its repetition counts."""

from __future__ import annotations

from enum import Enum

import msgspec


class Matter(Enum):
    """What a repeated unit consists of."""

    PROSE = "prose"
    CODE = "code"
    """Words in fenced code, in a table or in markup."""
    DATA = "data"
    """Numbers, hexadecimal digits, constants, unbroken strings."""
    MARKS = "marks"
    """Neither letters nor digits."""
    UNBROKEN = "unbroken"
    """Words without space between them: a path that goes on, a word glued to itself."""
    BLANKS = "blanks"
    """Line breaks and other white space."""
    TAGS = "tags"
    """Nothing but closing tags, or marks of a model's own vocabulary."""
    ITEM = "item"
    """One item of a list."""
    CLOSERS = "closers"
    """Nothing but closing brackets."""
    DIGITS = "digits"
    """A number, or an id, that does not end."""
    PICTURES = "pictures"
    """Emoji."""


class Floor(msgspec.Struct, frozen=True):
    """From when on a cycle counts."""

    copies: int
    chars: int

    def reached(self, unit: int, run: int) -> bool:
        return run >= self.chars and run >= self.copies * unit
