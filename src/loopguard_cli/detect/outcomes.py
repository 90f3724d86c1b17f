"""Outcomes: what a call returned, and when two outcomes say the same.

Three degrees. *Equal*: the same bytes. *Steady*: equal once volatile parts are masked (times, ids,
durations, temporary paths, process ids, the line counters of shells); only looked at when the raw
forms differ, because masking costs twenty times as much as hashing. *Alike*: equal once every
number is masked; that proves little by itself and feeds soft rules only.
"""

from __future__ import annotations

import re
from enum import IntEnum

from loopguard_cli.core.events import ToolFinished
from loopguard_cli.detect.keys import digest

WHOLE = 65_536
"""Outputs up to this many characters are hashed whole, longer ones by head, tail and length."""

KEPT = 4_096
"""Characters of an output that are kept for masking (its head)."""


ANSWER = 200
"""Characters of a plain answer about how something is getting on; what is longer is content."""


class Sameness(IntEnum):
    """How far two outcomes agree."""

    DIFFERENT = 0
    ALIKE = 1
    STEADY = 2
    EQUAL = 3


_VOLATILE = re.compile(
    r"(?P<uuid>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)"
    r"|(?P<time>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d\d?:\d\d:\d\d(?:[.,]\d+)?\b"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? [A-Z][a-z]{2} +\d+\b|\b\d{10}(?:\.\d+|\d{3})?\b)"
    r"|(?P<pointer>\b0x[0-9a-fA-F]{4,}\b)"
    r"|(?P<id>\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{7,64}\b)"
    r"|(?P<temp>(?:/private)?/(?:tmp|var/folders|var/tmp)/[^\s\"':,)]+)"
    r"|(?P<duration>\b\d+(?:\.\d+)?\s?(?:ms|µs|us|ns|secs?|seconds?|s|mins?|minutes?|hours?)\b)"
    r"|(?P<pid>\b(?:pid|PID)\b[ :=#]*\d+)"
    r"|(?P<session>\bsession[ :=]+[\w-]*-[\w-]+)"
    r"|(?P<line>\bline \d+(?=:))"
)
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[A-Za-z_]{2,}")
_SPACE = re.compile(r"\s+")

_CANCELLED = re.compile(
    r"sibling tool call errored|user doesn't want to proceed|user rejected|tool use was rejected"
    r"|request interrupted|tool execution (?:was )?aborted|operation (?:was )?(?:cancell?ed|aborted)\b"
    r"|^\W*(?:aborted|cancell?ed)\W*$",
    re.IGNORECASE,
)

_PENDING = re.compile(
    r"\b(?:still (?:running|working|pending|in progress)|running|in[_ -]progress|pending|queued|waiting"
    r"|not (?:yet )?ready|starting|doing|rolling out|no new output|in flight|building|deploying"
    r"|processing)\b",
    re.IGNORECASE,
)


def raw_digest(event: ToolFinished) -> str:
    """Identity of the whole outcome: success or failure, and what came back."""
    mark = "ok" if event.ok else "no"
    if event.output_digest:
        return f"{mark}:{event.output_digest}"
    text = event.output
    if len(text) > WHOLE:
        text = f"{len(text)}:{text[: WHOLE // 2]}{text[-WHOLE // 2 :]}"
    return f"{mark}:{digest(text.encode('utf-8', 'surrogatepass'))}"


def is_cancelled(event: ToolFinished) -> bool:
    """The call was ended by somebody or something else and says nothing about itself."""
    if event.cancelled:
        return True
    return not event.ok and len(event.output) < 600 and _CANCELLED.search(event.output) is not None


def says_pending(text: str) -> bool:
    """The answer itself says that something is still under way."""
    return len(text) <= ANSWER and _PENDING.search(text) is not None


def mask_volatile(text: str) -> str:
    """``text`` with what changes by itself replaced by the name of its class."""
    return _VOLATILE.sub(lambda match: f"<{match.lastgroup}>", text)


def mask_numbers(text: str) -> str:
    """``text`` without volatile parts, numbers and the form of white space."""
    return _SPACE.sub(" ", _DIGITS.sub("#", mask_volatile(text))).strip()


def words(text: str) -> list[str]:
    """The words of ``text`` in their order."""
    return _WORD.findall(text)
