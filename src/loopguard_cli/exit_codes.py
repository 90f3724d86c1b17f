"""The exit statuses of the ``loopguard`` command; docs/exit-codes.md explains each.

``loopguard run`` passes the agent's own status through (128+N for a signal) unless one of the
reasons 80 to 84 applies. Those lie in a range that neither shells nor ``sysexits.h`` use.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1
    """The answer is no: a live run refused, or there is none; `eval` is below its bar."""
    USAGE = 2
    """The command line, a configuration value or an input file is wrong; nothing was started."""
    LOOP = 80
    """The run was stopped because of a loop."""
    GOAL_BLOCKED = 81
    """The goal ended with a stated blocker."""
    GOAL_LIMIT = 82
    """The goal stopped at a limit, or is paused."""
    GOAL_REJECTED = 83
    """The completion claim was rejected."""
    UNRESPONSIVE = 84
    """The agent stopped answering and was ended."""
    INTERNAL = 125
    """loopguard itself failed, or cannot use its state folder."""
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127
    INTERRUPTED = 130
    """Ctrl-C while one of our own commands was running."""
