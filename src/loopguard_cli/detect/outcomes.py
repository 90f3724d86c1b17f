"""Outcomes: what a call returned, and when two outcomes say the same.

Three degrees. *Equal*: the same bytes. *Steady*: equal but for volatile parts (times, ids,
durations, temporary paths, process ids, the line counters of shells); only looked at when the raw
forms differ, because masking costs twenty times as much as hashing. *Alike*: equal but for
numbers; that proves little by itself and feeds soft rules only.
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


_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d\d?:\d\d:\d\d(?:[.,]\d+)?"
)
_UUID = re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b")
_POINTER = re.compile(r"0x[0-9a-fA-F]+")
_HEX = re.compile(r"\b[0-9a-fA-F]{7,64}\b")
_TEMPORARY = re.compile(r"/(?:tmp|var/folders|var/tmp)/[^\s\"':,)]+")
_PROCESS = re.compile(r"\b([Pp][Ii][Dd][ :=#]*)\d+")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[A-Za-z_]{2,}")
_SPACE = re.compile(r"\s+")

_FIELDS = re.compile(r"[\s\"',;={}()\[\]<>|]+")
_DURATION = re.compile(r"\d+(?:\.\d+)?(?:ms|µs|us|ns|secs?|s|mins?|m|h)?$")
_UNITS = frozenset(
    ["ms", "s", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "hours"]
)
_NAMED = frozenset(["pid", "session", "sessionid", "requestid", "traceid"])
"""Words after which a name or number is made up anew each time."""

FIELDS = 48
"""Places in which two texts may differ and still be the same but for these."""

MASKED = 1_024
"""Characters of an error (its head) in which what varies is masked."""

NAME = 4
"""Letters of a tool's name that is not just a word like others."""

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


_EXIT = re.compile(
    r"(?:^|\n)\W*(?:command |process )?(?:exited|exit|failed|returned)(?: with)?(?: exit)?"
    r"[ _-]?(?:code|status)?\W{1,3}[1-9]\d{0,2}\W*(?:\n|$)",
    re.IGNORECASE,
)
"""A line that tells the status with which a command ended, as agents add it to what it printed."""

_ERROR_HEAD = re.compile(
    r"\W*(?:tool_use_error\W+)?(?:error|fatal|failed|failure|exception|invalid|unknown|cannot"
    r"|could not|unable|no such (?:file|directory|tool)|file (?:not found|does not exist)"
    r"|(?:permission|access) denied)\b",
    re.IGNORECASE,
)

_COMPLAINT = re.compile(
    r"\b(?:not found|does(?: not|n't) (?:match|exist|apply|appear)|did(?: not|n't) (?:match|apply|appear)"
    r"|no match|occurs? \d+ times|unavailable|not available|no such|is required|not allowed|denied)\b",
    re.IGNORECASE,
)


def reads_as_failure(text: str, *, shell: bool, changes: bool) -> bool:
    """The answer says of itself that the call failed, though the agent did not mark it so.

    What a command prints may be about errors; only its exit status counts. A short answer of a tool
    that was to change something (``changes``) fails with any complaint, others with their first word.
    """
    if shell:
        return _EXIT.search(text[:ANSWER]) is not None or _EXIT.search(text[-ANSWER:]) is not None
    if len(text) > 2 * ANSWER:
        return False
    return _ERROR_HEAD.match(text) is not None or (changes and _COMPLAINT.search(text) is not None)


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


def agreement(one: str, other: str, least: Sameness = Sameness.ALIKE) -> Sameness:
    """How far two texts that are not equal agree: STEADY, ALIKE or DIFFERENT.

    Only lines, and in them fields, that differ are looked at. The first that agrees less than
    ``least`` ends it, so that texts about different things cost next to nothing; and what differs
    in more than `FIELDS` places is different.
    """
    lines, others = one.split("\n"), other.split("\n")
    if len(lines) != len(others):
        return Sameness.DIFFERENT
    found = Sameness.STEADY
    looked_at = 0
    for line, another in zip(lines, others, strict=True):
        if line == another:
            continue
        fields, rivals = _FIELDS.split(line), _FIELDS.split(another)
        if len(fields) != len(rivals):
            return Sameness.DIFFERENT
        for at, (field, rival) in enumerate(zip(fields, rivals, strict=True)):
            if field == rival:
                continue
            looked_at += 1
            found = min(found, _field_agreement(fields, at, rival))
            if found < least or looked_at > FIELDS:
                return Sameness.DIFFERENT
    return found


def _field_agreement(fields: list[str], at: int, rival: str) -> Sameness:
    field = fields[at]
    before = fields[at - 1].strip(":").lower() if at else ""
    if before in _NAMED:
        return Sameness.STEADY
    numbers = field.isdigit() and rival.isdigit()
    if not numbers and mask_volatile(field) == mask_volatile(rival):
        return Sameness.STEADY
    if not numbers and _DIGITS.sub("", field) != _DIGITS.sub("", rival):
        return Sameness.DIFFERENT
    after = fields[at + 1] if at + 1 < len(fields) else ""
    timed = after in _UNITS or (not field[-1:].isdigit() and _DURATION.match(field))
    counted = before == "line" and field.endswith(":")
    return Sameness.STEADY if timed or counted else Sameness.ALIKE


def mask_volatile(text: str) -> str:
    """``text`` with times, ids, pointers, process ids and temporary paths replaced by their class."""
    if not text:
        return text
    text = _TIME.sub("<time>", _UUID.sub("<id>", text))
    text = _TEMPORARY.sub("<temp>", _POINTER.sub("<pointer>", text))
    return _PROCESS.sub(r"\1<pid>", _HEX.sub(_id_or_word, text))


def _id_or_word(match: re.Match[str]) -> str:
    """Hexadecimal with both digits and letters is an id; a number or a word is not."""
    text = match.group()
    return text if text.isdigit() or text.isalpha() else "<id>"


def mask_error(text: str, tool: str = "") -> str:
    """The head of an error without volatile parts, numbers, the tool's name and the form of white space."""
    if len(tool) >= NAME:
        text = text.replace(tool, "<tool>")
    return _SPACE.sub(" ", _DIGITS.sub("#", mask_volatile(text[:MASKED]))).strip()


def words(text: str) -> list[str]:
    """The words of ``text`` in their order."""
    return _WORD.findall(text)
