"""What makes a line a sentence that says something."""

from __future__ import annotations

import re

from loopguard_cli.core.holding import CLOSERS, ENDS, FINAL

MIN_CHARS = 12
MIN_WORDS = 3

_WIDE = re.compile(
    r"[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff]"
)
# Written without spaces: an ideograph or a kana stands for a word, of the others about four letters do.
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,4}")
# A run of letters and digits that begins with a letter and is no piece of a hex dump.
_WORD = re.compile(
    r"(?<![^\W_])(?!(?:[0-9a-f]{2}|[0-9a-f]{4}|[0-9a-f]{8}|[0-9a-f]{16,})(?![^\W_]))[^\W\d_][^\W_]*"
)
_MARK = re.compile(r"[!-@\[-`{-~]")
_INLINE = re.compile(r"`[^`]*`")
_SYNTAX = re.compile(r"\w\(|[=!<>-][=>]|::")
_TERMINATED = re.compile(rf"[{ENDS}{FINAL}][{CLOSERS}]*$")
# Sentences may name files and addresses; lines that end without a terminator are code sooner.
_FEW_MARKS = 3
_MOST_MARKS = {True: 0.35, False: 0.2}


def looks_like_code(key: str) -> bool:
    """Whether a sentence or line is code, data or a log, from its punctuation and digits."""
    if "`" in key:
        key = _INLINE.sub("it", key)  # a sentence may name code
    ended = _TERMINATED.search(key) is not None
    marks = len(_MARK.findall(key))
    if marks > _MOST_MARKS[ended] * len(key):
        return not (ended and marks <= _FEW_MARKS)  # "(Go)." is a remark
    return not ended and (key.endswith((";", "{", ",", "=", "):")) or _SYNTAX.search(key) is not None)


def substantial(key: str) -> bool:
    """Whether a folded sentence has the 12 characters and three word tokens that the prose rules ask for.

    Source: the infinity guard. Its words for scripts without spaces are ours: a wide character
    counts as two characters, and every ideograph as a word. Lines that look like code are no sentences.
    """
    if key.isascii():
        words = len(_WORD.findall(key)) if len(key) >= MIN_CHARS else 0
    elif len(key) + len(_WIDE.findall(key)) < MIN_CHARS:
        return False
    else:
        words = len(_IDEOGRAPH.findall(key)) + len(_UNSPACED.findall(key))
        words += len(_WORD.findall(_UNSPACED.sub(" ", _IDEOGRAPH.sub(" ", key)) if words else key))
    return words >= MIN_WORDS and not looks_like_code(key)
