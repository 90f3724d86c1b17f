"""The two words by which an agent claims an end, and what must stand above them.

Only the newest assistant message is read, and only its last non-blank line can be a marker. A claim
of completion needs evidence on the line directly above, a claim of being blocked needs the reason
there. Words in prose, quotes, bullets and code fences never count.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from loopguard_cli.goal.model import MAX_BLOCKER, MAX_EVIDENCE

COMPLETE = "[goal:complete]"
BLOCKED = "[goal:blocked]"
EVIDENCE = "[goal:evidence]"
EVIDENCE_FORM = "<commands run and their results, files checked>"
"""How prompts describe evidence; a reply that only repeats it has none."""


class Signal(StrEnum):
    NONE = "none"
    COMPLETE = "complete"
    BLOCKED = "blocked"


class Claim(msgspec.Struct, frozen=True):
    """What the end of a message says."""

    signal: Signal = Signal.NONE
    accepted: bool = False
    """It has what it needs above it."""
    detail: str = ""
    """The evidence or the reason; empty unless accepted."""


_LINE_END = re.compile(r"\r\n|\n|\r")
_MARKER = re.compile(r"(?:\[goal:(complete|blocked)\]|goal:(complete|blocked))", re.IGNORECASE)
_ANY_MARKER = re.compile(r"\[?\s*goal:(?:complete|blocked|evidence)\s*\]?:?", re.IGNORECASE)
_DASHES = "\u2013\u2014-"
_BRACKETED = re.compile(rf"\[?\s*goal:evidence\s*\][\s:{_DASHES}]+(.*)", re.IGNORECASE)
# Without a closing bracket a dash may belong to a word ("goal:evidence-based").
_BARE = re.compile(
    rf"\[?\s*goal:evidence(?:\s*:[\s:{_DASHES}]*|\s+[:{_DASHES}]*\s*|[{_DASHES}]+\s+)(.*)", re.IGNORECASE
)
_EVIDENCE_ALONE = re.compile(r"\[?\s*goal:evidence\s*\]?\s*:?", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_EMPTY = re.compile(
    r"(?:none|nothing|n/?a|tbd|todo|pending|unknown|see above|"
    r"(?:not(?: yet)? |un)(?:verified|tested|checked|run)|<[^<>]*>)\W*",
    re.IGNORECASE,
)


def read(text: str) -> Claim:
    """What the message ``text`` claims."""
    lines = lines_of(text.strip())
    marker = _MARKER.fullmatch(lines[-1].strip())
    if marker is None:
        return Claim()
    signal = Signal((marker[1] or marker[2]).lower())
    above = lines[:-1]
    fence = _open_fence(above)
    if fence is not None and fence != len(above) - 1:
        return Claim()  # an example of the format, inside a code block that was never closed
    detail = _evidence(above) if signal is Signal.COMPLETE else _reason(above)
    return Claim(signal, bool(detail), detail)


def lines_of(text: str) -> list[str]:
    """The lines of ``text`` as a person sees them: form feeds and the like end none."""
    return _LINE_END.split(text)


def has_substance(text: str) -> bool:
    """At least one letter or digit, and more than a stock phrase for "nothing"."""
    return has_words(text) and _EMPTY.fullmatch(text.strip()) is None


def has_words(text: str) -> bool:
    """At least one letter or digit, in any script."""
    return any(c.isalnum() for c in text)


def _open_fence(lines: list[str]) -> int | None:
    """Index of the line that opened a code block which is still open at the end."""
    opened: int | None = None
    mark = ""
    for number, line in enumerate(lines):
        fence = _FENCE.fullmatch(line)
        if fence is None:
            continue
        if opened is None:
            if fence[1][0] != "`" or "`" not in fence[2]:
                opened, mark = number, fence[1]
        elif fence[1].startswith(mark) and not fence[2].strip():
            opened = None
    return opened


def _evidence(above: list[str]) -> str:
    if not above:
        return ""
    line = above[-1].strip()
    inline = _BRACKETED.fullmatch(line) or _BARE.fullmatch(line)
    if inline is not None:
        return _substance(inline[1], MAX_EVIDENCE)
    if len(above) > 1 and _EVIDENCE_ALONE.fullmatch(above[-2].strip()):
        return _substance(line, MAX_EVIDENCE)
    return ""


def _reason(above: list[str]) -> str:
    line = above[-1].strip() if above else ""
    return "" if _BRACKETED.fullmatch(line) or _BARE.fullmatch(line) else _substance(line, MAX_BLOCKER)


def _substance(text: str, limit: int) -> str:
    text = text.strip()
    if not has_substance(text) or _ANY_MARKER.fullmatch(text) or _FENCE.fullmatch(text):
        return ""
    return text[:limit]
