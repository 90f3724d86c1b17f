"""What ends a driven agent when we are killed outright and can do nothing any more.

Many agents end by themselves when their standard input does; some do not, nor does what they started.
A shell that does nothing but wait for our end sees to it, on every system alike. It is told to leave
when the agent has ended.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

_SCRIPT = Path(__file__).with_name("lifeline.sh")
_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


class Lifeline:
    """Holds one process group, from its start to `let_go`."""

    def __init__(self, group: int, mark: str = "") -> None:
        """``mark``: what only the agent and what it started have in their environment (``NAME=value``)."""
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):  # without it the agent is guarded all the same
            self._process = subprocess.Popen(
                ("/bin/sh", str(_SCRIPT), str(group), mark),
                env=_ENVIRONMENT,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def let_go(self) -> None:
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with suppress(OSError):
            process.stdin.write(b"\n")
            process.stdin.close()
        process.returncode = 0  # it is collected with the orphans
