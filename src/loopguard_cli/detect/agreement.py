"""How far two outcomes agree.

*Equal*: the same bytes. *Steady*: equal but for volatile parts (times, ids, durations, temporary
paths, process ids, the line counters of shells). *Alike*: equal but for numbers; that proves
little by itself and feeds soft rules only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum

from loopguard_cli.detect.masking import mask_volatile, of_one_class, without_digits

NEAR = 32
"""Characters within which most texts about different things differ."""

LONG = 256
"""Characters of a line of which only the neighbourhood of what differs is looked at."""


class Sameness(IntEnum):
    """How far two outcomes agree."""

    DIFFERENT = 0
    ALIKE = 1
    STEADY = 2
    EQUAL = 3


_FIELDS = re.compile(r"[\s\"',;={}()\[\]<>|]+")
_DURATION = re.compile(r"\d+(?:\.\d+)?(?:ms|µs|us|ns|secs?|s|mins?|m|h)?$")
_SHARE = re.compile(r"\d+(?:\.\d+)?%[.:]?$")
"""How far something is: if that differs, it gets on."""
_UNITS = frozenset(
    ["ms", "s", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "hours"]
)
_NAMED = frozenset(["pid", "session", "sessionid", "requestid", "traceid"])
"""Words after which a name or number is made up anew each time."""

FIELDS = 24
"""Places in which two texts differ that are looked at one by one."""


def agreement(one: str, other: str, least: Sameness = Sameness.ALIKE) -> Sameness:
    """How far two texts that are not equal agree: STEADY, ALIKE or DIFFERENT.

    Only lines, and in them fields, that differ are looked at. The first that agrees less than
    ``least`` ends it, so that texts about different things cost next to nothing; after `FIELDS`
    places the rest may differ in digits only.
    """
    begin = max(one.rfind("\n", 0, _common(one, other)), 0)
    if one.count("\n", begin) != other.count("\n", begin):
        return Sameness.DIFFERENT
    lines, others = _lines(one, begin), _lines(other, begin)
    found = Sameness.STEADY
    looked_at = 0
    for line, another in zip(lines, others, strict=True):
        if line == another:
            continue
        if len(line) > LONG:
            line, another = _around(line, another)
        fields, rivals = _FIELDS.split(line), _FIELDS.split(another)
        if len(fields) != len(rivals):
            return Sameness.DIFFERENT
        for at, (field, rival) in enumerate(zip(fields, rivals, strict=True)):
            if field == rival:
                continue
            looked_at += 1
            found = min(found, _field_agreement(fields, at, rival))
            if found < least:
                return Sameness.DIFFERENT
            if looked_at > FIELDS:
                # A time on every line, say: so many of one kind, the rest differs in digits or not at all.
                return found if without_digits(one) == without_digits(other) else Sameness.DIFFERENT
    return found


def _lines(text: str, begin: int) -> Iterator[str]:
    """The lines from ``begin`` on, the first by itself: mostly it settles the matter."""
    end = text.find("\n", begin + 1)
    if end < 0:
        yield text[begin:]
    else:
        yield text[begin:end]
        yield from text[end:].split("\n")[1:]


def _around(one: str, other: str) -> tuple[str, str]:
    """What is left of two lines without their common beginning and end, except for the nearest two
    words on both sides."""
    begin = _common(one, other)
    for _ in range(2):
        begin = max(one.rfind(" ", 0, begin), 0)
    one, other = one[begin:], other[begin:]
    end = _common(one[::-1], other[::-1])
    for _ in range(2):
        at = one.find(" ", len(one) - end)
        end = len(one) - at - 1 if at >= 0 else 0
    return one[: len(one) - end], other[: len(other) - end]


def _common(one: str, other: str) -> int:
    """Length of the common beginning."""
    low, high = 0, min(len(one), len(other))
    if one[:NEAR] != other[:NEAR]:
        high = min(high, NEAR)
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _field_agreement(fields: list[str], at: int, rival: str) -> Sameness:
    field = fields[at]
    before = fields[at - 1].strip(":").lower() if at else ""
    if before in _NAMED:
        return Sameness.STEADY
    if _SHARE.match(field) and _SHARE.match(rival):
        return Sameness.DIFFERENT
    numbers = field.isdigit() and rival.isdigit()
    if not numbers and (of_one_class(field, rival) or mask_volatile(field) == mask_volatile(rival)):
        return Sameness.STEADY
    if not numbers and without_digits(field) != without_digits(rival):
        return Sameness.DIFFERENT
    after = fields[at + 1] if at + 1 < len(fields) else ""
    timed = after in _UNITS or (not field[-1:].isdigit() and _DURATION.match(field))
    counted = before == "line" and field.endswith(":")
    return Sameness.STEADY if timed or counted else Sameness.ALIKE
