"""What ends a driven agent when we are killed outright and can do nothing any more.

Many agents end by themselves when their standard input does; some do not, nor does what they started.
A shell that does nothing but wait for our end sees to it, on every system alike. It is told to leave
when the agent has ended.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from loopguard_cli.runtime.processes import tree

_SCRIPT = Path(__file__).with_name("lifeline.sh")
_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


class Lifeline:
    """Begins before the agent, so that there is no moment without it; ends with `let_go`."""

    def __init__(self, mark: str = "") -> None:
        """``mark``: what only the agent and what it started have in their environment (``NAME=value``)."""
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):  # without it the agent is guarded all the same
            self._process = subprocess.Popen(
                ("/bin/sh", str(_SCRIPT), mark),
                env=_ENVIRONMENT,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def hold(self, group: int) -> None:
        """This is the agent's process group."""
        self._say(b"%d\n" % group)

    def let_go(self) -> None:
        self._say(b"\n")
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with suppress(OSError):
            process.stdin.close()
        process.returncode = 0  # it is collected with the orphans

    def _say(self, word: bytes) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.write(word)
                self._process.stdin.flush()


@contextmanager
def held(environment: Mapping[str, str]) -> Iterator[Lifeline]:
    """For an agent that is started with ``environment`` in this block; let go if it could not be."""
    mark = environment.get(tree.MARK, "")
    line = Lifeline(f"{tree.MARK}={mark}" if mark else "")
    try:
        yield line
    except BaseException:
        line.let_go()
        raise
