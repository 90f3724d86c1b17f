"""Numbers as people type them into flags."""

from __future__ import annotations

import re
from decimal import Decimal

LARGEST = 2**53 - 1
"""Programs in other languages read our JSON; beyond this they would read another number."""

_DECIMAL = re.compile(r"\+?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_BASED = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_BUDGET = re.compile(r"(\d+(?:\.\d+)?)([kKmM]?)", re.ASCII)
_MONEY = re.compile(r"\$?(\d+(?:\.\d+)?)", re.ASCII)


def positive_integer(text: str) -> int | None:
    """A whole number from 1 in any usual notation (``7``, ``+7``, ``7.0``, ``1e2``, ``0x10``), else None."""
    text = text.strip()
    if _BASED.fullmatch(text):
        value = Decimal(int(text, 0)) if len(text) < 60 else Decimal(0)
    elif _DECIMAL.fullmatch(text):
        value = Decimal(text)
    else:
        return None
    return int(value) if value == value.to_integral_value() and 1 <= value <= LARGEST else None


def token_budget(text: str) -> int | None:
    """Tokens: a number with an optional ``k`` or ``m`` behind it, rounded half up; else None."""
    found = _BUDGET.fullmatch(text.strip())
    if found is None:
        return None
    scale = {"": 1, "k": 1_000, "m": 1_000_000}[found[2].lower()]
    tokens = int(Decimal(found[1]) * scale + Decimal("0.5"))
    return tokens if 1 <= tokens <= LARGEST else None


def money(text: str) -> float | None:
    """US dollars above zero, else None."""
    found = _MONEY.fullmatch(text.strip())
    value = float(found[1]) if found else 0.0
    return value if 0 < value < 1e9 else None
