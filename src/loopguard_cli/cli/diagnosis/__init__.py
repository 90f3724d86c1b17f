"""What ``loopguard doctor`` looks at; one module for each area, each a function that yields findings.

Nothing here repairs anything, and nothing raises: what cannot be found out is a finding too.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Level(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Worth knowing; nothing has to be done."""
    WARNING = "warning"
    """Something will not work as well as it could."""
    PROBLEM = "problem"
    """Something will not work; ``loopguard doctor`` exits with 1."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``loopguard doctor``."""

    area: str
    """``loopguard``, ``terminal``, ``agents``, ``settings``, ``state``, ``runs`` or ``trial``."""
    level: Level
    text: str
    advice: str = ""
    """What to do; never empty for warnings and problems."""
