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


DIFFERENT, ALIKE, STEADY, EQUAL = Sameness
"""By themselves, as the kinds of `detect.tools`."""

_SEPARATORS = r"\s\"',;={}()\[\]<>|"
_FIELDS = re.compile(rf"[{_SEPARATORS}]+")
_STAMP = re.compile(rf"([^{_SEPARATORS}]+)[{_SEPARATORS}]")
_DURATION = re.compile(
    r"\d+(?:\.\d+)?(?:(?:ms|µs|us|ns|secs?|s|mins?|m|h|d)(?:\d+(?:\.\d+)?(?:ms|s|m|h))*)?$"
)
_FRACTION = re.compile(
    r"(?<!\d)\d++[.,]\d+(?:[eE][+-]?\d+)?(?![\d.]|\s?(?:s|ms|µs|us|secs?|seconds?|m|min)\b)"
)
"""A figure with a fraction that is no duration and no version."""
_POINT = re.compile(r"[.,]\d(?<=\d[.,]\d)")
"""What each of these has, and is found faster by."""
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
        if one.count("\n", end) != other.count("\n", other_end):
            return DIFFERENT
        if not differences.of_two_moments(one, other):
            differences.go_through(one[end:].split("\n"), other[other_end:].split("\n"))
    if differences.degree < least:
        return DIFFERENT
    if differences.places <= FIELDS or differences.digits_only:
        return differences.degree
    # A time on every line, say: so many of one kind. The rest may differ in digits only.
    equal = without_digits(one[begin:]) == without_digits(other[begin:])
    return differences.degree if equal else DIFFERENT


class _Differences:
    """The places in which two texts differ, line by line."""

    __slots__ = ("_head", "_least", "_rival", "degree", "digits_only", "places")

    def __init__(self, least: Sameness) -> None:
        self._least = least
        self.degree = STEADY
        """The weakest agreement so far."""
        self.places = 0
        self.digits_only = False
        """It is known that the whole texts differ in nothing but digits."""
        self._head = self._rival = ""
        """Volatile beginnings of the two latest lines, with the separator behind them."""

    def of_two_moments(self, one: str, other: str) -> bool:
        """Whole texts differ in nothing but the time at the beginning of their lines, the same for all
        lines; of the first line that is known. Their last lines, which may be cut, are looked at by
        themselves."""
        head, rival = self._head, self._rival
        last, other_last = one.rfind("\n"), other.rfind("\n")
        if last < 0 or not (head and one.startswith(head)):
            return False
        begun, other_begun = f"\n{head}", f"\n{rival}"
        if rival + one[len(head) : last].replace(begun, other_begun) != other[:other_last]:
            return False
        self.places = one.count(begun, 0, last) + 1
        line, another = one[last + 1 :], other[other_last + 1 :]
        equal = without_digits(line) == without_digits(another)
        self.digits_only = equal and without_digits(head) == without_digits(rival)
        if line != another and self.places <= FIELDS:
            self.end_with(line, another)
        return True

    def go_through(self, lines: list[str], others: list[str]) -> None:
        """Look at the lines of two texts, until the matter is settled."""
        head, rival = self._head, self._rival
        for line, another in zip(lines, others, strict=True):
            if line == another:
                continue
            if (
                head
                and line.startswith(head)
                and another.startswith(rival)
                and line[len(head) :] == another[len(rival) :]
                and len(line) <= LONG
            ):
                # As most lines of a log, it begins as the one before; `_stamped` says the same, but later.
                self.places += 1
                if self.places > FIELDS:
                    return
            elif self.end_with(line, another):
                return
            else:
                head, rival = self._head, self._rival

    def end_with(self, line: str, another: str) -> bool:
        """Look at two lines that differ. True if that settles it: too little agreement, or enough places."""
        if self._stamped(line, another):
            self.places += 1
            return self.degree < self._least or self.places > FIELDS
        if len(line) > LONG:
            line, another = _around(line, another)
        fields, rivals = _FIELDS.split(line), _FIELDS.split(another)
        if len(fields) != len(rivals):
            self.degree = DIFFERENT
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
    if all(word[0].lower() in _MEASURES for word in _LETTERS.finditer(one[:LONG])):
        return True
    read = one[:READ]
    if _POINT.search(read) is None:
        return False
    figures = _FRACTION.findall(read)
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
        if one.startswith(other[low:middle], low):
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
        return STEADY
    if field.isalpha() and rival.isalpha():
        return DIFFERENT
    if _SHARE.match(field) and _SHARE.match(rival):
        return DIFFERENT
    if _gets_on(fields, at, rival, before):
        return DIFFERENT
    numbers = field.isdigit() and rival.isdigit()
    alike = numbers or without_digits(field) == without_digits(rival)
    if alike:
        after = fields[at + 1] if at + 1 < len(fields) else ""
        timed = after in _UNITS or (not field[-1:].isdigit() and _DURATION.match(field))
        counted = before == "line" and field.endswith(":")
        if timed or counted:
            return STEADY
    if _is_duration(field) and _is_duration(rival):
        return STEADY  # an age: "59s", then "1m2s"
    if not numbers and (of_one_class(field, rival) or mask_volatile(field) == mask_volatile(rival)):
        return STEADY
    return ALIKE if alike else DIFFERENT


def _is_duration(field: str) -> bool:
    return field[:1].isdigit() and not field[-1:].isdigit() and _DURATION.match(field) is not None
