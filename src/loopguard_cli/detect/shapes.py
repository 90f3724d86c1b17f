"""Shapes: arguments without their numbers, the order of their parts and their spacing.

Two calls of one tool with equal shapes are *variations*: a counter counted on, the parts of a
command line shuffled, a regular expression's branches in another order, a limit raised.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from loopguard_cli.detect.keys import canonical, identifying

CONSIDERED = 2_048
"""Characters of the arguments that count; in what is longer, small variations mean nothing."""

_TOKEN = re.compile(r"[A-Za-z_]{2,}|\d+")


class Shape(msgspec.Struct, frozen=True):
    """What is left of the arguments."""

    words: tuple[str, ...]
    """All words, sorted, with repetitions; numbers left out."""
    numbers: tuple[str, ...]
    """The numbers in their order."""
    said: frozenset[str]
    """The words without repetitions."""


def shape_of(tool: str, args: Mapping[str, Any]) -> Shape:
    text = canonical(identifying(tool, args)).decode("utf-8", "replace")
    tokens = _TOKEN.findall(text[:CONSIDERED])
    words = sorted(token for token in tokens if not token[0].isdigit())
    numbers = tuple(token for token in tokens if token[0].isdigit())
    return Shape(tuple(words), numbers, frozenset(words))
