"""The person's terminal: remembered before the agent gets it, put right when the agent leaves it broken.

An agent that is killed cannot undo what it switched on. Settings of the line discipline can be read
and put back; the modes inside the terminal cannot be read, so they are all switched off.
"""

from __future__ import annotations

import os
import signal
import termios
from contextlib import suppress
from typing import Any

from loopguard_cli.runtime.processes.modes import RESET


class Terminal:
    """The controlling terminal of the run, if it has one."""

    def __init__(self) -> None:
        self._fd = -1
        self._before: list[Any] | None = None
        with suppress(OSError):
            self._fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        self.remember()

    @property
    def present(self) -> bool:
        return self._fd >= 0

    def remember(self) -> None:
        if self.present:
            with suppress(termios.error):
                self._before = termios.tcgetattr(self._fd)

    @property
    def remembered(self) -> list[Any] | None:
        """The settings that `restore` puts back."""
        return self._before

    def keyboard_interrupts(self) -> bool:
        """A ^C typed now would reach the agent by itself, as a signal to the foreground group."""
        if not self.foreground():
            return False
        try:
            return bool(termios.tcgetattr(self._fd)[3] & termios.ISIG)
        except termios.error:
            return False

    def foreground(self) -> bool:
        """We, and with us the agent, are the terminal's foreground job."""
        try:
            return self.present and os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:
            return False

    def restore(self, *, modes: bool) -> None:
        """Put the settings back; with ``modes`` switch everything off that an agent may have left on.

        A shell that has taken the terminal has set it as it needs it, so then it keeps its settings.
        """
        if not self.present:
            return
        # As a background job we would be stopped for touching the terminal.
        old = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            if self._before is not None and self.foreground():
                with suppress(termios.error):
                    if termios.tcgetattr(self._fd) != self._before:
                        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)
            if modes:
                with suppress(OSError):
                    os.write(self._fd, RESET.encode())
        finally:
            signal.signal(signal.SIGTTOU, old)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
