"""What signals to us mean for the agent: job control, resizing, interrupts, the end of the run."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress

from loopguard_cli.runtime.checks import Jobs
from loopguard_cli.runtime.processes import tree
from loopguard_cli.runtime.processes.process import Process
from loopguard_cli.runtime.processes.terminal import Terminal
from loopguard_cli.runtime.processes.waited import Waited

STOPPED_SECONDS = 0.05
"""An agent that is stopped for so long was suspended; debuggers and the like only stop it for a moment."""

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Signals:
    """The signal handlers of one run. ``give_up`` is told the number of the signal that ends it."""

    def __init__(
        self, terminal: Terminal, jobs: Jobs, give_up: Callable[[int], None], waiter: Waited | None
    ) -> None:
        self.leave: Callable[[], None] | None = None
        """Takes what is ours off the terminal: another job gets it, or its size has changed."""
        self._process: Process | None = None
        self._terminal = terminal
        self._jobs = jobs
        self._give_up = give_up
        self._waiter = waiter
        self._suspending: asyncio.TimerHandle | None = None
        self._suspended = False
        self._stopping: asyncio.Handle | None = None
        """We are to stop, unless let go on before we come to it: on a busy machine, ``fg`` may be faster."""

    def watch(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCHLD, self._on_child)
        loop.add_signal_handler(signal.SIGINT, self._on_interrupt)
        loop.add_signal_handler(signal.SIGCONT, self._on_continue)
        loop.add_signal_handler(signal.SIGWINCH, self._on_resize)
        for number in _ENDING:
            loop.add_signal_handler(number, self._on_end, number)
        if self._waiter is not None:
            self._waiter.watch(self._on_waiter_lost)

    def attend(self, process: Process, *, screen: bool) -> None:
        """From now on this is the agent; ``screen``: it owns the screen."""
        self._process = process
        loop = asyncio.get_running_loop()
        if self._waiter is not None and process.stays:
            self._waiter.tell(process.child.pid, self._terminal.remembered, screen=screen)
        if process.driven:
            # It is not in our group and would run on while we are stopped.
            loop.add_signal_handler(signal.SIGTSTP, self._on_stop)
        elif self.leave is not None:
            loop.add_signal_handler(signal.SIGTSTP, self._on_typed_stop)

    def close(self) -> None:
        loop = asyncio.get_running_loop()
        if self._suspending is not None:
            self._suspending.cancel()
        self._stay()
        others = (signal.SIGCHLD, signal.SIGINT, signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH)
        for number in (*others, *_ENDING):
            with suppress(ValueError):
                loop.remove_signal_handler(number)
        if self._waiter is not None:
            self._waiter.close()

    def _on_child(self) -> None:
        process = self._process
        child = process.child if process is not None else None
        spare = {*self._jobs.pids, *([child.pid] if child and child.code is None else [])}
        stopped = child is not None and child.poll()
        tree.reap(spare)
        if stopped and process is not None and not process.driven and self._suspending is None:
            loop = asyncio.get_running_loop()
            self._suspending = loop.call_later(STOPPED_SECONDS, self._follow, process)

    def _follow(self, process: Process) -> None:
        """The agent alone was suspended: our shell waits for us, so we stop as well."""
        self._suspending = None
        if not process.child.poll() or not self._terminal.foreground():
            return
        process.suspended()
        if process.child.poll():
            self._suspended = True
            self._leave()
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            process.resumed()  # meanwhile somebody has let it go on

    def _on_stop(self) -> None:
        """^Z, or a request to stop."""
        self._stopping = asyncio.get_running_loop().call_soon(self._stop)

    def _on_typed_stop(self) -> None:
        """^Z, which the agent has got as well; the system knows whether anybody could let us go on."""
        self._stopping = asyncio.get_running_loop().call_soon(self._stop_as_typed)

    def _stay(self) -> None:
        if self._stopping is not None:
            self._stopping.cancel()
            self._stopping = None

    def _stop(self) -> None:
        if self._process is not None:
            self._process.suspended()
        self._leave()
        os.kill(os.getpid(), signal.SIGSTOP)

    def _leave(self) -> None:
        if self.leave is not None:
            self.leave()

    def _stop_as_typed(self) -> None:
        self._leave()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTSTP, self._on_typed_stop)

    def _on_continue(self) -> None:
        self._stay()
        if self._waiter is not None:
            self._waiter.let_go_on()
        process = self._process
        if process is None or process.child.code is not None:
            return
        # Somebody else than our shell may have let it go on, and `leader` us: then it runs already.
        if process.child.poll() or self._suspended:
            self._suspended = False
            process.resumed()

    def _on_resize(self) -> None:
        self._leave()
        if self._process is not None:
            self._process.resized()

    def _on_interrupt(self) -> None:
        """^C goes to the whole foreground group, so the agent has it already; `kill -INT` has not."""
        process = self._process
        running = process is not None and process.child.code is None
        typed = self._terminal.keyboard_interrupts()
        if process is None or not running or not process.interrupted(typed=typed):
            self._give_up(signal.SIGINT)

    def _on_waiter_lost(self) -> None:
        """Somebody has killed it. A shell then has the terminal, and the agent could not be used any more."""
        if not self._terminal.foreground():
            self._on_end(signal.SIGHUP)

    def _on_end(self, number: int) -> None:
        self._give_up(number)
        if self._process is not None:
            self._process.child.send(number)
