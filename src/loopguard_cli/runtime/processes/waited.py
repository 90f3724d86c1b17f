"""The supervisor's side of `waiter`: how it comes to be below it, and what it tells it."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from loopguard_cli.agents.base import Adapter, Driven, Hooked, OnTerminal, Relayed
from loopguard_cli.runtime.processes import tree, waiter

TAKEN_SECONDS = 0.3
"""Until a shell that waits for us no more has taken the terminal."""


START_SECONDS = 5.0
"""For the agent to be started, at the longest; signals that come meanwhile wait for so long."""


class Waited:
    """We are below a waiter. It hears from us which agent it would be left with."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        line.setblocking(False)

    def tell(self, agent: int, settings: list[Any] | None, *, screen: bool) -> None:
        """This is the agent now; ``settings``: those of the terminal before it, to be put back after it.

        ``screen``: it owns the screen.
        """
        with suppress(OSError):
            self._line.send(f"{(agent, settings, screen)!r}\n".encode())

    def watch(self, lost: Callable[[], None]) -> None:
        """Have ``lost`` called once the waiter is gone, and a shell could have taken the terminal."""
        loop = asyncio.get_running_loop()

        def gone() -> None:
            loop.remove_reader(self._line)
            loop.call_later(TAKEN_SECONDS, lost)

        loop.add_reader(self._line, gone)

    def let_go_on(self) -> None:
        """It has stopped with us, and somebody else than the shell lets us go on."""
        with suppress(OSError):
            os.kill(os.getppid(), signal.SIGCONT)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._line)
        self._line.close()


def needed(adapter: Adapter) -> bool:
    """The agent is to have the person's terminal for itself, and could outlive us there.

    Those that we drive, or that are on a terminal of ours, end with us.
    """
    if sys.platform != "linux" or isinstance(adapter, Driven):
        return False
    drawn = adapter.capabilities.screen and isinstance(adapter, OnTerminal | Hooked)
    if drawn and not isinstance(adapter, Relayed):
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return os.isatty(0)


def below_a_waiter() -> Waited | None:
    """Whoever called us waits for a waiter from now on, and we are its child. None: it was not possible.

    To be called while there are no threads, and nothing is held that depends on the process number.
    """
    ours, its = socket.socketpair()
    tree.adopt_orphans()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waiter.SIGNALS)
    sys.stdout.flush()
    sys.stderr.flush()
    supervisor = 0
    try:
        supervisor = os.fork()
    except OSError:
        ours.close()
        its.close()
        return None
    finally:
        if not supervisor:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if supervisor:
        _become_it(supervisor, its.detach())
    its.close()
    return Waited(ours)


def _become_it(supervisor: int, line: int) -> None:
    words = [str(supervisor), str(line)]
    # The supervisor is about to start the agent: until it has, or is gone, it shall have the processor.
    select.select([line], [], [], START_SECONDS)
    try:
        os.set_inheritable(line, True)
        os.execv(sys.executable, [sys.executable, "-I", "-S", str(Path(waiter.__file__)), *words])
    except OSError:
        os.closerange(3, line)
        waiter.main(words)
