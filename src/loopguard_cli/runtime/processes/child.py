"""The agent's process: started, waited for, passed signals on to.

This one is started in our own process group: it shares our terminal and our group, so job control
and the keyboard work as without us. `pipes` and `screen` start theirs differently.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress

from loopguard_cli.agents.base import LaunchPlan
from loopguard_cli.errors import AgentNotExecutable, AgentNotFound


class Child:
    """One agent process. ``code`` is known once ``ended`` is set."""

    group = False
    """It leads a process group of its own; signals go to all of that."""

    def __init__(self, plan: LaunchPlan, environ: Mapping[str, str]) -> None:
        """Raises AgentNotFound, AgentNotExecutable."""
        try:
            self.pid = self._start(plan, {**environ, **plan.environment})
        except FileNotFoundError as error:
            raise AgentNotFound(
                f"cannot find {plan.argv[0]!r}", "install it, or name it with its path"
            ) from error
        except OSError as error:
            raise AgentNotExecutable(
                f"cannot execute {plan.argv[0]!r}: {(error.strerror or str(error)).lower()}"
            ) from error
        self.code: int | None = None
        """Exit status as a shell tells it: 128 + N for signal N."""
        self.signal = 0
        """The signal that killed it."""
        self.stopped = False
        self.ended = asyncio.Event()

    def _start(self, plan: LaunchPlan, environment: Mapping[str, str]) -> int:
        """Start the process; returns its number."""
        with _stdin(plan.stdin) as stdin:
            self._process = subprocess.Popen(plan.argv, env=environment, stdin=stdin)
        return self._process.pid

    def _ended(self, code: int) -> None:
        """Whoever started the process must not wait for it any more."""
        self._process.returncode = code

    def poll(self) -> bool:
        """Look at the process; True when it was stopped since (job control)."""
        if self.code is not None:
            return False
        flags = os.WNOHANG | os.WUNTRACED | os.WCONTINUED
        while True:
            try:
                pid, status = os.waitpid(self.pid, flags)
            except ChildProcessError:
                pid, status = self.pid, 0
            if pid == 0:
                return self.stopped
            if os.WIFSTOPPED(status):
                self.stopped = True
            elif os.WIFCONTINUED(status):
                self.stopped = False
            else:
                self._end(status)
                return False

    def _end(self, status: int) -> None:
        self.stopped = False
        if os.WIFSIGNALED(status):
            self.signal = os.WTERMSIG(status)
            self.code = 128 + self.signal
        else:
            self.code = os.WEXITSTATUS(status)
        self._ended(self.code)
        self.ended.set()

    def send(self, number: int) -> None:
        """Pass a signal on. The process is ours and not reaped, so its number is still its own."""
        if self.code is None:
            with suppress(ProcessLookupError):
                (os.killpg if self.group else os.kill)(self.pid, number)

    async def end(self, grace: float) -> None:
        """Ask it to end, then make it."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.code is not None:
                return
            self.send(number)
            self.send(signal.SIGCONT)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.ended.wait(), grace)


class _stdin:  # noqa: N801 - reads as the standard input it opens
    """The standard input of a plan: inherited, or text in a file without a name."""

    def __init__(self, text: bytes | None) -> None:
        self._file = None
        if text is not None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
            self._file.write(text)
            self._file.seek(0)

    def __enter__(self) -> int | None:
        return self._file.fileno() if self._file else None

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()
