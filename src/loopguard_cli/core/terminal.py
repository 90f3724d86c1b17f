"""How a program that only has a terminal is steered."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class InterruptKey(StrEnum):
    ESCAPE = "escape"
    CONTROL_C = "ctrl-c"


class TerminalSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Programs that are guarded by what they write to the terminal (agent ``terminal``)."""

    interrupt: InterruptKey = InterruptKey.ESCAPE
    """The key that stops the program's turn: ``escape`` or ``ctrl-c``, which ends many programs."""
