"""When two different calls are variations of one (see `detect.shapes`)."""

from __future__ import annotations

from loopguard_cli.detect.call import Call
from loopguard_cli.detect.shapes import Shape

LEAST_SHARE = 0.75
"""Of the words of the longer variation that the shorter one must have."""


def is_variation(one: Call, other: Call) -> bool:
    """The arguments of ``one`` are those of ``other``, varied."""
    if one.tool != other.tool or one.kind is not other.kind:
        return False
    if one.key == other.key or one.question == other.question:
        return True
    if counted_on(one, other):
        return False
    return one.shape.words == other.shape.words or _says_the_same(one.shape, other.shape)


def counted_on(one: Call, other: Call) -> bool:
    """They differ in numbers, which may well be the point of the call."""
    return one.shape.numbers != other.shape.numbers


def _says_the_same(one: Shape, other: Shape) -> bool:
    """Equal numbers, and no word in the one that adds anything to what the other says."""
    small, large = (one, other) if len(one.said) <= len(other.said) else (other, one)
    return (
        len(small.said) >= LEAST_SHARE * len(large.said)
        and one.numbers == other.numbers
        and small.said <= large.said
    )
