"""Shapes: arguments without their numbers, the order of their parts and their spacing.

Two calls of one tool with equal shapes are *variations*: a counter counted on, the parts of a
command line shuffled, a regular expression's branches in another order, a limit raised. Numbers
often name what a call is about (a pull request, an order), so where they differ, the calls are
only about the same thing if they put the same *question*: the arguments without what merely says
when, for the how-manieth time or from where to where.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from loopguard_cli.detect.keys import canonical, digest, identifying
from loopguard_cli.detect.masking import has_digit

CONSIDERED = 2_048
"""Characters of the arguments that count; in what is longer, small variations mean nothing."""

TOLD = 512
"""Characters up to which a string is a command or a question, and not a text."""

_TOKEN = re.compile(r"[A-Za-z_]{2,}|\d+")


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_ANEW = _set(
    "attempt attempts try tries retry retries iteration round seq sequence nonce cachebust requestid "
    "traceid correlationid callid idempotencykey timestamp ts now time datetime asof reason rationale "
    "intent description explanation thought thoughts note comment timeout timeoutms timeoutseconds ttl"
)
"""Names (lower case, letters only) of arguments that are made up anew with each call."""

_WHERE = _set(
    "offset limit start end from to line lines startline endline linecount lineoffset nlines viewrange "
    "viewstart viewcount range count head tail page pagesize perpage maxresults numresults maxlines "
    "maxcount headfrom headlimit depth context skip take size"
)
"""Names of arguments that say from where to where; numbers only."""

_NOT_LETTER = re.compile(r"[^a-z]+")
_NUMBERS = re.compile(r"[\d\s,.:-]*")
_BESIDE = re.compile(
    # a moment
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b1\d{9}(?:\d{3})?\b"
    # how much of something a command is to show
    r"|(?<=\s)-(?:n|c|m|A|B|C)?\s*[+-]?\d+(?=\s|$)|(?<=[\s'\"])\d+(?:,\d+)?p(?=['\"\s]|$)"
    r"|(?<=\s)--(?:lines|bytes|max-count|limit|offset|skip|attempt|try|retry|retries)[= ]\d+"
    # where what it says goes to
    r"|\s*2>&1"
    # how long it is waited before
    r"|\bsleep\s+\d+(?:\.\d+)?[smhd]?\b"
    # for the how-manieth time
    r"|\b(?:attempt|try|retry|round|iteration|take)[\s=:_-]*#?\d+"
    # an address made another one, so that no cache answers
    r"|(?<=[?&])(?:_|ts?|timestamp|now|cb|nc|no_?cache|cache_?bust(?:er)?|nonce|rand(?:om)?|refresh|reload)=[\w.-]*",
    re.IGNORECASE,
)
"""Parts of strings that have nothing to do with what is asked."""
_FRAGMENT = re.compile(r"(https?://[^\s#\"'<>]+)#[^\s\"'<>]*")
"""A place in a page; what is fetched is the page."""


class Shape(msgspec.Struct, frozen=True):
    """What is left of the arguments."""

    words: tuple[str, ...]
    """All words, sorted, with repetitions; numbers left out."""
    numbers: frozenset[str]
    """The numbers without repetitions."""
    said: frozenset[str]
    """The words without repetitions."""


def tokens(text: str) -> list[str]:
    """The words and numbers of ``text``, in their order."""
    return _TOKEN.findall(text)


def shape_of(tool: str, args: Mapping[str, Any]) -> Shape:
    text = canonical(identifying(tool, args)).decode("utf-8", "replace")
    tokens = _TOKEN.findall(text[:CONSIDERED])
    words = sorted(token for token in tokens if not token[0].isdigit())
    numbers = frozenset(token for token in tokens if token[0].isdigit())
    return Shape(tuple(words), numbers, frozenset(words))


def question_of(tool: str, args: Mapping[str, Any]) -> str:
    """Digest of what is asked, whenever and from where to where."""
    return digest(canonical(_asked(identifying(tool, args))))


def named_of(tool: str, args: Mapping[str, Any]) -> frozenset[str]:
    """The numbers in what is asked: they may name something."""
    text = canonical(_asked(identifying(tool, args))).decode("utf-8", "replace")
    return frozenset(token for token in _TOKEN.findall(text[:CONSIDERED]) if token[0].isdigit())


def _asked(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) > TOLD else _without_beside(value)
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_asked(part) for part in value]
    if isinstance(value, Mapping):
        return {name: _asked(part) for name, part in value.items() if not _is_beside(name, part)}
    return value


@lru_cache(maxsize=256)
def _without_beside(value: str) -> str:
    """Commands are run again and again; and nothing is beside the point where there is neither a number
    nor a parameter."""
    if "://" in value and "#" in value:
        value = _FRAGMENT.sub(r"\1", value)
    return _BESIDE.sub("", value) if "=" in value or has_digit(value) else value


def _is_beside(name: object, value: Any) -> bool:
    """The argument has nothing to do with what is asked."""
    plain = _plain(str(name))
    return plain in _ANEW or (plain in _WHERE and _is_number(value))


@lru_cache(maxsize=512)
def _plain(name: str) -> str:
    return _NOT_LETTER.sub("", name.lower())


def _is_number(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_number(part) for part in value)
    return (
        value is None
        or isinstance(value, (int, float))
        or (isinstance(value, str) and bool(_NUMBERS.fullmatch(value)))
    )
