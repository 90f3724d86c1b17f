"""What is done with the terminal, and how a program that only has one is steered."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class InterruptKey(StrEnum):
    ESCAPE = "escape"
    CONTROL_C = "ctrl-c"


class TerminalSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The terminal, and programs that are guarded by what they write to it (agent ``terminal``)."""

    interrupt: InterruptKey = InterruptKey.ESCAPE
    """The key that stops the program's turn: ``escape`` or ``ctrl-c``, which ends many programs."""
    status_line: bool = True
    """Keep the last row of the terminal for how a headless run stands, once it has lasted a few seconds."""
