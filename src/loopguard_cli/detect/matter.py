"""What a repeated piece of text consists of, and from when on its repetition counts."""

from __future__ import annotations

import re
from enum import Enum

import msgspec

from loopguard_cli.detect.substance import looks_like_code


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


SHORT_UNIT = 60

_FLOORS = {
    Matter.PROSE: (Floor(3, 1_024), Floor(4, 1_024)),
    Matter.DATA: (Floor(6, 8_192), Floor(12, 32_768)),
    Matter.MARKS: (Floor(6, 4_096), Floor(12, 8_192)),
    Matter.UNBROKEN: (Floor(16, 360), Floor(32, 1_024)),
    Matter.BLANKS: (Floor(128, 256), Floor(256, 1_024)),
    Matter.TAGS: (Floor(16, 180), Floor(40, 180)),
    Matter.ITEM: (Floor(32, 1_024), Floor(96, 2_048)),
    Matter.CLOSERS: (Floor(90, 180), Floor(150, 300)),
    Matter.DIGITS: (Floor(64, 768), Floor(128, 2_048)),
    Matter.PICTURES: (Floor(64, 180), Floor(128, 512)),
}
"""Nudge and abort."""
_SHORT = (Floor(4, 180), Floor(10, 180))

RUN = 3
"""A unit of so few marks is no box and no table; rulers end within a few lines."""
_RUN = (Floor(64, 1_024), Floor(64, 3_072))

LONG_CODE = 400
"""Rows of data are shorter, and nobody writes longer pieces of code again and again."""
_LONG_CODE = (Floor(4, 2_048), Floor(8, 6_144))
_LINES_OF_CODE = (Floor(6, 2_048), Floor(32, 4_096))
_LINE_OF_CODE = (Floor(6, 2_048), Floor(64, 3_072))
_FIELD = (Floor(6, 2_048), Floor(128, 3_072))
"""Of short lines and cells: boards and grids have up to 100 of them."""
FIELD = 45
"""Characters of a unit that may be a field."""
JUNK = 16
"""Characters of a piece of a number, or of digits among letters, that repeats itself."""
PICTURE = 12
"""Characters of a few emoji."""

_LETTERS = re.compile(r"[^\W\d_]{2,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_CONSTANTS = re.compile(
    r"\b(?:0x[0-9a-f]*|[0-9a-f]*\d[0-9a-f]*|[a-f]{2}|[a-f]{4}|[a-f]{8}|x[0-9a-f]{2}|null|none|nil|nan|true|false"
    r"|undefined|void|inf|na|px|em|rem|nop|\w)\b",
    re.IGNORECASE,
)
_GLUED = re.compile(r"[^\W\d_/.,:;!?|+=~-]{2,}")
_SEPARATED = re.compile(r"[/.,:;!?|+=~_-]+")
_HEXADECIMAL = frozenset("abcdef")
_PICTURE = re.compile(r"[\u2600-\u27bf\ufe0f\u200d\U0001f300-\U0001faff]+")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE)
_TABLE_ROW = re.compile(r"\|[^|\n]*\||^[^|\n]*\|[^|\n]*$")
_CLOSING = re.compile(r"[\s;,]*[\]})][\s;,\]})]*")
_CLOSING_TAG = re.compile(r"</[A-Za-z][\w:.-]*\s*>")
_SPECIAL = re.compile(
    r"<[|\uff5c][^<>\n]{0,40}[|\uff5c]>|<(?:pad|unk|eos|bos|sep|cls|mask|s|end_of_turn|start_of_turn"
    r"|extra_id_\d+|unused\d+)>|\[/?(?:INST|TOOL_CALLS|PAD|SEP|CLS|MASK|UNK)\]"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff]")


def matter_of(unit: str) -> Matter:
    """What ``unit``, standing in a row of its like, consists of (fences not considered)."""
    row = unit if len(unit) > SHORT_UNIT else unit * (SHORT_UNIT // len(unit) + 2)
    if unit.isspace():
        return Matter.BLANKS if "\n" in unit else Matter.MARKS
    if "\ufffd" in unit:
        return Matter.UNBROKEN  # what is left of letters that nobody chose
    if not any(char.isalnum() for char in unit):
        if len(unit) <= PICTURE and _CLOSING.fullmatch(unit):
            return Matter.CLOSERS
        few = len(unit) <= PICTURE and "\n" not in unit
        return Matter.PICTURES if few and _PICTURE.fullmatch("".join(unit.split())) else Matter.MARKS
    if (at := max(unit.find("<"), unit.find("["))) >= 0:
        turned = _SPECIAL.sub("", unit[at:] + unit[:at])
        if not any(char.isalnum() for char in _CLOSING_TAG.sub("", turned)):
            return Matter.TAGS
        unit = turned if len(turned) < len(unit) else unit
        row = unit if len(unit) > SHORT_UNIT else unit * (SHORT_UNIT // len(unit) + 2)
    broken = any(char.isspace() for char in unit) or _UNSPACED.search(unit) is not None
    if not broken and len(unit) <= SHORT_UNIT and _is_glued(row):
        return Matter.UNBROKEN
    if len(unit) <= JUNK and unit.isalnum() and any(map(str.isdigit, unit)):
        return Matter.DIGITS
    if not broken or not _LETTERS.search(_CONSTANTS.sub(" ", row)):
        return Matter.DATA
    if "```" in unit or "~~~" in unit:
        return Matter.PROSE  # whole fenced blocks, not what stands in one
    if len(unit) <= SHORT_UNIT and _TABLE_ROW.search(unit):
        return Matter.CODE
    if len(unit) <= SHORT_UNIT and _ITEM.search(row):
        return Matter.ITEM
    begin = unit.find("\n") + 1
    lines = [line.strip() for line in (unit[begin:] + unit[:begin]).splitlines() if line.strip()]
    # A verse may end with a comma.
    coded = sum(line.startswith("|") or looks_like_code(line.casefold().removesuffix(",")) for line in lines)
    return Matter.CODE if 2 * coded > len(lines) else Matter.PROSE


def _is_glued(row: str) -> bool:
    """Whether ``row`` is made of words in small letters with nothing or separators between them:
    no base64, no numbers, no constants, no single letter."""
    if row != row.lower() or any(char.isdigit() for char in row):
        return False
    letters = set(_SEPARATED.sub("", row))
    if len(letters) < 2 or letters <= _HEXADECIMAL or not all(char.isalpha() for char in letters):
        return False
    return _GLUED.search(_CONSTANTS.sub(" ", row)) is not None


def floors_of(matter: Matter, unit: int, lines: int) -> tuple[Floor, Floor]:
    """From when on a cycle of units of so many characters and line breaks is worth a nudge, and an abort."""
    if matter is Matter.PROSE and unit <= SHORT_UNIT:
        return _SHORT
    if matter is Matter.MARKS and unit <= RUN:
        return _RUN
    if matter is Matter.CODE:
        if unit >= LONG_CODE:
            return _LONG_CODE
        if lines > 1:
            return _LINES_OF_CODE
        return _LINE_OF_CODE if unit > FIELD else _FIELD
    return _FLOORS[matter]
