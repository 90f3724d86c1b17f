"""Cutting a typed line into words: quotes, escapes, and where each word stood.

A quote opens only at the border of a word (or right behind ``--name=``) and only if its partner
closes at the border of a word; every other quote or apostrophe is an ordinary character.
"""

from __future__ import annotations

import re

import msgspec

_FLAG = re.compile(r"--[^\s=]*=?")


class Word(msgspec.Struct, frozen=True):
    """One word of a line."""

    text: str
    """Without its quotes."""
    start: int
    end: int
    quoted: bool = False
    """Wholly quoted: never a flag."""
    flag: str = ""
    """``--name`` when it is one."""
    value: str | None = None
    """What stood behind ``--name=``."""


def split(line: str) -> list[Word]:
    """The words of ``line``, left to right."""
    words: list[Word] = []
    at = 0
    while True:
        while at < len(line) and line[at].isspace():
            at += 1
        if at == len(line):
            return words
        words.append(_word(line, at))
        at = words[-1].end


def unquote(text: str) -> str:
    """``text`` without a pair of quotes that wraps all of it."""
    text = text.strip()
    if len(text) < 2 or text[0] not in "\"'":
        return text
    quoted = _quoted(text, 0)
    return quoted[0].strip() if quoted is not None and quoted[1] == len(text) else text


def quote(text: str) -> str:
    """``text`` as one word that `split` gives back unchanged."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _word(line: str, start: int) -> Word:
    if (quoted := _quoted(line, start)) is not None:
        return Word(quoted[0], start, quoted[1], quoted=True)
    flag = _FLAG.match(line, start)
    if flag is None:
        end = _border(line, start)
        return Word(line[start:end], start, end)
    if not flag[0].endswith("="):
        return Word(flag[0], start, flag.end(), flag=flag[0])
    if (quoted := _quoted(line, flag.end())) is not None:
        value, end = quoted
    else:
        end = _border(line, flag.end())
        value = line[flag.end() : end]
    return Word(line[start:end], start, end, flag=flag[0][:-1], value=value)


def _border(line: str, at: int) -> int:
    while at < len(line) and not line[at].isspace():
        at += 1
    return at


def _quoted(line: str, start: int) -> tuple[str, int] | None:
    """Content and end of the quoted word that starts at ``start``; None when there is none."""
    if start >= len(line) or line[start] not in "\"'":
        return None
    quote, content, at = line[start], [], start + 1
    while at < len(line):
        char = line[at]
        if char == "\\" and quote == '"' and line[at + 1 : at + 2] in ('"', "\\"):
            content.append(line[at + 1])
            at += 2
            continue
        if char == quote and (at + 1 == len(line) or line[at + 1].isspace()):
            return "".join(content), at + 1
        content.append(char)
        at += 1
    return None
