"""The exit statuses of the ``loopguard`` command, with their meaning.

``loopguard run`` passes the agent's own status through (128+N for a signal) unless one of the
reasons 80 to 84 applies. Those lie in a range that neither shells nor ``sysexits.h`` use.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    meaning: str
    """One sentence, for the manual."""

    def __new__(cls, code: int, meaning: str) -> Self:
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    OK = 0, "Done; for run, the agent ended well or the goal was achieved."
    FAILED = (
        1,
        "The answer is no: a live run refused or there is none to ask, or a measurement missed its bar.",
    )
    USAGE = 2, "The command line, a setting or an input file is wrong; nothing was started."
    LOOP = 80, "The run was stopped because of a loop."
    GOAL_BLOCKED = 81, "The goal ended with a stated blocker."
    GOAL_LIMIT = 82, "The goal stopped at a limit or is paused, or the run reached a hard cap."
    GOAL_REJECTED = 83, "The completion of the goal was rejected."
    UNRESPONSIVE = 84, "The agent stopped answering and was ended."
    INTERNAL = 125, "loopguard itself failed, or cannot use its state folder."
    NOT_EXECUTABLE = 126, "The agent's program may not be executed."
    NOT_FOUND = 127, "The agent's program was not found."
    INTERRUPTED = 130, "Interrupted by Ctrl-C."
    OUTPUT_CLOSED = 141, "Whatever read the output closed it before the end (as head does)."
