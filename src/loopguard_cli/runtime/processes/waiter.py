"""Is what a shell waits for, where the agent has the person's terminal for itself. Run by path.

A shell takes the terminal for itself as soon as the process that it has started is gone. Were that the
supervisor, an agent that outlives it would never get a key again. So the shell's own child becomes this,
and the supervisor is below it. A supervisor that is killed outright leaves the agent to us: we wait for
it, follow it when it is stopped, put the terminal right after it, end what it leaves behind, and exit
as it did.

    waiter.py SUPERVISOR-PID LINE-FD

What is in `SIGNALS` is blocked before the start, so that none gets lost. Linux only: elsewhere an agent
does not become ours when its parent ends. Imports only what the interpreter has loaded anyway.
"""

import os
import signal
import sys
import termios
import time

PASSED_ON = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
TYPED = (signal.SIGINT, signal.SIGQUIT)
ENDING = (signal.SIGTERM, signal.SIGHUP)
SIGNALS = (*PASSED_ON, signal.SIGCONT, signal.SIGCHLD)

FROM_KERNEL = 0x80
"""``si_code`` of what was typed: the whole foreground group has it."""

STOPPED_SECONDS = 0.05
"""What is stopped for so long was suspended (as in `runtime.signals`)."""

INSIST_SECONDS = 2.0
"""Between a signal that ends the run, and each stronger one, for an agent whose supervisor is gone."""


class Waiter:
    def __init__(self, supervisor: int, line: int) -> None:
        self._child = supervisor
        self._line = line
        self._alone = False
        """The supervisor was killed; the child is the agent."""
        self._stopped = False
        self._passed = (0, -INSIST_SECONDS)
        """What is to end the run and was passed on last, and when."""
        self._others: dict[int, int] = {}
        """Wait statuses of what else came to us: the agent may have ended right after its supervisor."""
        self._sterner: list[tuple[float, int]] = []
        """What the agent is to get, and when."""

    def wait(self) -> int:
        """Until the supervisor, or the agent that it left, has ended; returns the exit status."""
        while True:
            number, typed = self._next()
            # First of all: who is to get the signal? A supervisor that was just killed has no use for it.
            while (status := self._look()) is not None:
                if self._alone or not os.WIFSIGNALED(status) or not self._inherit():
                    return self._over(status)
                if self._passed[1] > time.monotonic() - INSIST_SECONDS:
                    self._take(self._passed[0], typed=False)  # it was dying, and has not heeded that
            self._take(number, typed=typed)

    def _over(self, status: int) -> int:
        killed = os.WIFSIGNALED(status)
        if self._alone:
            self._clear_up(killed=killed)
        return 128 + os.WTERMSIG(status) if killed else os.WEXITSTATUS(status)

    def _look(self) -> int | None:
        """The wait status of the child once it has ended; keeps in mind whether it is stopped."""
        if self._child in self._others:
            return self._others.pop(self._child)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                return 1 << 8
            if pid == 0:
                return None
            if pid != self._child:
                self._others[pid] = status
                continue
            if os.WIFSTOPPED(status):
                self._stopped = True
            elif os.WIFCONTINUED(status):
                self._stopped = False
            else:
                return status

    def _next(self) -> tuple[int, bool]:
        """The next signal, and whether it was typed; 0 when something is to be done without one."""
        if self._stopped:
            seconds = STOPPED_SECONDS
        elif self._sterner:
            seconds = max(0.0, self._sterner[0][0] - time.monotonic())
        else:
            seconds = 3600.0
        found = signal.sigtimedwait(SIGNALS, seconds)
        return (0, False) if found is None else (found.si_signo, found.si_code == FROM_KERNEL)

    def _take(self, number: int, *, typed: bool) -> None:
        if number == signal.SIGCONT:
            self._continue()
        elif number == 0 and self._stopped:
            # The shell looks at us alone. Once it has let us go on, the child goes on as well.
            os.kill(os.getpid(), signal.SIGSTOP)
            self._continue()
        elif number in ENDING and self._alone and not self._sterner:
            now = time.monotonic()
            stages = ((0, number), (1, signal.SIGTERM), (2, signal.SIGKILL))
            self._sterner = [(now + times * INSIST_SECONDS, stage) for times, stage in stages]
        elif number in PASSED_ON and not (typed and number in TYPED):
            self._send(number)
            self._passed = (number, time.monotonic()) if number in ENDING else self._passed
        if self._sterner and self._sterner[0][0] <= time.monotonic():
            self._send(self._sterner.pop(0)[1])

    def _continue(self) -> None:
        if self._stopped:
            self._stopped = False
            self._send(signal.SIGCONT)

    def _send(self, number: int) -> None:
        """The child is ours and not waited for, so its number is still its own."""
        try:  # noqa: SIM105 - contextlib is not loaded here
            os.kill(self._child, number)
        except OSError:
            pass

    # --- without a supervisor ----------------------------------------------------------------

    def _inherit(self) -> bool:
        """Stay with the agent that the supervisor has left; False: there is none."""
        self._alone = True
        self._settings = None
        self._screen = False
        try:
            os.set_blocking(self._line, False)
            *_, last = os.read(self._line, 1 << 20).decode().splitlines()
            from ast import literal_eval

            self._child, self._settings, self._screen = literal_eval(last)
            if self._child not in self._others:
                # Whether it is ours, and whether it is stopped: the supervisor may have heard that alone.
                os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                with open(f"/proc/{self._child}/stat", "rb") as file:  # noqa: PTH123
                    self._stopped = file.read().rpartition(b")")[2].split()[0] == b"T"
        except (OSError, ValueError, SyntaxError):
            return False
        return True

    def _clear_up(self, *, killed: bool) -> None:
        """As the supervisor would have."""
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            if self._settings is not None and os.tcgetpgrp(0) == os.getpgrp():
                termios.tcsetattr(0, termios.TCSADRAIN, self._settings)
            if self._settings is not None:
                from modes import ALL_ROWS, RESET  # type: ignore[import-not-found, unused-ignore]

                os.write(0, (RESET if killed and self._screen else ALL_ROWS).encode())
        except (OSError, ImportError, termios.error):
            pass
        try:  # noqa: SIM105 - contextlib is not loaded here
            os.write(2, b"loopguard: was killed; the agent has gone on without a guard until its end\n")
        except OSError:
            pass
        self._end_all()

    def _end_all(self) -> None:
        from leader import below, signal_checked  # type: ignore[import-not-found, unused-ignore]

        for number in (signal.SIGTERM, signal.SIGKILL):
            until = time.monotonic() + INSIST_SECONDS
            for pid in below(os.getpid()):
                signal_checked(pid, number)
                signal_checked(pid, signal.SIGCONT)
            while below(os.getpid()) and time.monotonic() < until:
                self._look()
                time.sleep(0.02)


def main(arguments: list[str]) -> None:
    supervisor, line = (int(word) for word in arguments)
    os._exit(Waiter(supervisor, line).wait())


if __name__ == "__main__":
    main(sys.argv[1:])
