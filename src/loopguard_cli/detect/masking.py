"""Masking: texts without what is made up anew each time (times, ids, pointers, temporary paths)."""

from __future__ import annotations

import re
from functools import lru_cache

MASKED = 1_024
"""Characters of an error (its head) in which what varies is masked."""

NAME = 4
"""Letters of a tool's name that is not just a word like others."""

_VOLATILE = re.compile(
    r"(?P<id>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)"
    r"|(?P<time>\d{4}-\d\d-\d\d(?:[T ]\d\d[:_]\d\d(?:[:_]\d\d(?:[.,_]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d\d?:\d\d:\d\d(?:[.,]\d+)?)"
    r"|(?P<temporary>/(?:tmp|var/folders|var/tmp)/[^\s\"':,)]+)"
    r"|(?P<pointer>0x[0-9a-fA-F]+)"
    r"|(?P<process>\b[Pp][Ii][Dd][ :=#]*\d+|^\[\d+\]\s+\d+$)"
    r"|(?P<hex>\b[0-9a-fA-F]{7,64}\b)"
)
_DIGIT = re.compile(r"\d")
_DIGIT_OF_ASCII = re.compile(r"[0-9]")
"""The same in ASCII, and several times faster."""
_DIGITS = re.compile(r"\d+")
_DECIMALS = b"0123456789"
_WORD = re.compile(r"[A-Za-z_]{2,}")


def has_digit(text: str) -> bool:
    return (_DIGIT_OF_ASCII if text.isascii() else _DIGIT).search(text) is not None


def mask_volatile(text: str) -> str:
    """``text`` with times, ids, pointers, process ids and temporary paths replaced by their class."""
    return "\n".join(map(_masked, text.split("\n"))) if "\n" in text else _masked(text)


@lru_cache(maxsize=1_024)
def _masked(line: str) -> str:
    """Looping calls bring nearly the same lines again and again; most are masked only once."""
    return _VOLATILE.sub(_class, line)


def without_digits(text: str) -> bytes:
    """``text`` in UTF-8 without its ASCII digits, to be compared."""
    return text.encode("utf-8", "surrogatepass").translate(None, _DECIMALS)


def mask_error(text: str, tool: str = "") -> str:
    """The head of an error without volatile parts, numbers, the tool's name and the form of white space."""
    if len(tool) >= NAME:
        text = text.replace(tool, "<tool>")
    return _error_head(text[:MASKED])


@lru_cache(maxsize=64)
def _error_head(head: str) -> str:
    """What varies in repeated errors mostly stands further down, or in a single line."""
    return " ".join(filter(None, map(_error_line, head.split("\n"))))


@lru_cache(maxsize=1_024)
def _error_line(line: str) -> str:
    return " ".join(_DIGITS.sub("#", _masked(line)).split())


def of_one_class(one: str, other: str) -> bool:
    """Both are wholly volatile, and of the same class: two times, two ids."""
    of_first = _class_of(one)
    return of_first != "" and of_first == _class_of(other)


@lru_cache(maxsize=1_024)
def _class_of(text: str) -> str:
    """What ``text`` wholly is, where that is volatile; else empty."""
    match = _VOLATILE.fullmatch(text)
    found = _class(match) if match is not None else text
    return found if found != text else ""


def words(text: str) -> list[str]:
    """The words of ``text`` in their order."""
    return _WORD.findall(text)


def _class(match: re.Match[str]) -> str:
    text = match.group()
    if match.lastgroup == "hex" and (text.isdigit() or text.isalpha()):
        # Hexadecimal with both digits and letters is an id; a number or a word is not.
        return text
    return f"<{'id' if match.lastgroup == 'hex' else match.lastgroup}>"
