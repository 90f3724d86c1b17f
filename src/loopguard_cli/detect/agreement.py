"""How far two outcomes agree.

*Equal*: the same bytes. *Steady*: equal but for volatile parts (times, ids, durations, temporary
paths, process ids, the line counters of shells). *Alike*: equal but for numbers; that proves
little by itself and feeds soft rules only.
"""

from __future__ import annotations

import re
from enum import IntEnum

from loopguard_cli.detect.masking import mask_volatile, of_one_class, without_digits

NEAR = 32
"""Characters within which most texts about different things differ."""

READ = 512
"""Characters of an output in which a reading is looked for."""

LONG = 256
"""Characters of a line of which only the neighbourhood of what differs is looked at."""


class Sameness(IntEnum):
    """How far two outcomes agree."""

    DIFFERENT = 0
    ALIKE = 1
    STEADY = 2
    EQUAL = 3


_SEPARATORS = r"\s\"',;={}()\[\]<>|"
_FIELDS = re.compile(rf"[{_SEPARATORS}]+")
_STAMP = re.compile(rf"([^{_SEPARATORS}]+)[{_SEPARATORS}]")
_DURATION = re.compile(
    r"\d+(?:\.\d+)?(?:(?:ms|µs|us|ns|secs?|s|mins?|m|h|d)(?:\d+(?:\.\d+)?(?:ms|s|m|h))*)?$"
)
_FRACTION = re.compile(r"\d+[.,]\d+(?:[eE][+-]?\d+)?(?![\d.]|\s?(?:s|ms|µs|us|secs?|seconds?|m|min)\b)")
"""A figure with a fraction that is no duration and no version."""
_LETTERS = re.compile(r"[^\W\d_]+")
_MEASURES = frozenset(
    [
        "b",
        "kb",
        "mb",
        "gb",
        "kib",
        "mib",
        "gib",
        "bytes",
        "hz",
        "khz",
        "mhz",
        "ghz",
        "v",
        "mv",
        "a",
        "ma",
        "w",
        "kw",
        "mw",
        "k",
        "c",
        "f",
        "pa",
        "hpa",
        "bar",
        "m",
        "mm",
        "cm",
        "km",
        "g",
        "kg",
        "mg",
        "n",
        "nm",
        "rpm",
        "fps",
        "ns",
        "us",
        "ms",
        "s",
        "sec",
        "seconds",
        "min",
        "op",
        "ops",
        "db",
        "dbm",
        "px",
        "pct",
        "percent",
        "e",
    ]
)
"""Units, in small letters."""
_SHARE = re.compile(r"\d+(?:\.\d+)?%[.:]?$")
"""How far something is: if that differs, it gets on."""
_UNITS = frozenset(
    ["ms", "s", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "hours"]
)
_TRIES = frozenset(["attempt", "try", "retry", "retrying", "attempts", "tries", "retries"])
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
    end, other_end = _line_end(one, begin), _line_end(other, begin)
    differences = _Differences(least)
    # The first line by itself: mostly it settles the matter.
    if not differences.end_with(one[begin:end], other[begin:other_end]):
        lines, others = one[end:].split("\n"), other[other_end:].split("\n")
        if len(lines) != len(others):
            return Sameness.DIFFERENT
        for line, another in zip(lines, others, strict=True):
            if line != another and differences.end_with(line, another):
                break
    if differences.degree < least:
        return Sameness.DIFFERENT
    if differences.places > FIELDS and without_digits(one) != without_digits(other):
        # A time on every line, say: so many of one kind, but the rest differs in more than digits.
        return Sameness.DIFFERENT
    return differences.degree


class _Differences:
    """The places in which two texts differ, line by line."""

    __slots__ = ("_head", "_least", "_rival", "degree", "places")

    def __init__(self, least: Sameness) -> None:
        self._least = least
        self.degree = Sameness.STEADY
        """The weakest agreement so far."""
        self.places = 0
        self._head = self._rival = ""
        """Volatile beginnings of the two latest lines, with the separator behind them."""

    def end_with(self, line: str, another: str) -> bool:
        """Look at two lines that differ. True if that settles it: too little agreement, or enough places."""
        if self._stamped(line, another):
            self.places += 1
            return self.degree < self._least or self.places > FIELDS
        if len(line) > LONG:
            line, another = _around(line, another)
        fields, rivals = _FIELDS.split(line), _FIELDS.split(another)
        if len(fields) != len(rivals):
            self.degree = Sameness.DIFFERENT
            return True
        for at, (field, rival) in enumerate(zip(fields, rivals, strict=True)):
            if field == rival:
                continue
            self.places += 1
            degree = _field_agreement(fields, at, rival)
            if degree < self.degree:
                self.degree = degree
            if self.degree < self._least or self.places > FIELDS:
                return True
        return False

    def _stamped(self, line: str, another: str) -> bool:
        """They differ in nothing but a time (or an id) at their beginning, as the lines of a log do."""
        head, rival = self._head, self._rival
        if not (head and line.startswith(head) and another.startswith(rival)):
            # Lines of one moment begin alike; this one begins another moment.
            first, second = _STAMP.match(line), _STAMP.match(another)
            if first is None or second is None or not of_one_class(first[1], second[1]):
                return False
            self._head, self._rival = head, rival = first[0], second[0]
        return len(line) <= LONG and line[len(head) :] == another[len(rival) :]


def measures(one: str | None, other: str | None) -> bool:
    """Two outputs are readings of something: nothing but figures, or figures with fractions that differ.

    A counter in a sentence is none: it says that the same was done once more.
    """
    if one is None or other is None:
        return False
    if all(word.lower() in _MEASURES for word in _LETTERS.findall(one[:LONG])):
        return True
    figures = _FRACTION.findall(one[:READ])
    return bool(figures) and figures != _FRACTION.findall(other[:READ])


def _line_end(text: str, begin: int) -> int:
    end = text.find("\n", begin + 1)
    return end if end >= 0 else len(text)


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


def _gets_on(fields: list[str], at: int, rival: str, before: str) -> bool:
    """A part of a whole (``9/120``, ``9 of 120``) that is not the next try."""
    field = fields[at]
    if before in _TRIES:
        return False
    part, slash, whole = field.partition("/")
    if slash:
        another, slash, same = rival.partition("/")
        return bool(slash) and whole == same and all(one.isdigit() for one in (part, another, whole))
    return (
        at + 2 < len(fields)
        and fields[at + 1] == "of"
        and fields[at + 2].isdigit()
        and field.isdigit()
        and rival.isdigit()
    )


def _field_agreement(fields: list[str], at: int, rival: str) -> Sameness:
    field = fields[at]
    before = fields[at - 1].strip(":").lower() if at else ""
    if before in _NAMED:
        return Sameness.STEADY
    if field.isalpha() and rival.isalpha():
        return Sameness.DIFFERENT
    if _SHARE.match(field) and _SHARE.match(rival):
        return Sameness.DIFFERENT
    if _gets_on(fields, at, rival, before):
        return Sameness.DIFFERENT
    numbers = field.isdigit() and rival.isdigit()
    alike = numbers or without_digits(field) == without_digits(rival)
    if alike:
        after = fields[at + 1] if at + 1 < len(fields) else ""
        timed = after in _UNITS or (not field[-1:].isdigit() and _DURATION.match(field))
        counted = before == "line" and field.endswith(":")
        if timed or counted:
            return Sameness.STEADY
    if _is_duration(field) and _is_duration(rival):
        return Sameness.STEADY  # an age: "59s", then "1m2s"
    if not numbers and (of_one_class(field, rival) or mask_volatile(field) == mask_volatile(rival)):
        return Sameness.STEADY
    return Sameness.ALIKE if alike else Sameness.DIFFERENT


def _is_duration(field: str) -> bool:
    return field[:1].isdigit() and not field[-1:].isdigit() and _DURATION.match(field) is not None
