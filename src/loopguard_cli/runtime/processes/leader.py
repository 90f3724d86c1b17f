"""Leads the session of an agent's pseudo-terminal. Run by path, as a process of its own.

Job control needs it: a stop by ^Z is dropped for a process group without a parent in its session,
so an agent that led the session itself could never be suspended. It also outlives a supervisor that
was killed outright: then it puts the person's terminal right and ends what was left on ours.

    leader.py SUPERVISOR-PID PERSON-FD REPORT-FD PROGRAM [ARGUMENT]...

The terminal is standard input. PERSON-FD is the person's terminal or -1. When the agent stops or
goes on, ``S`` or ``C`` is written to REPORT-FD and the supervisor gets SIGCHLD, as for a child of
its own; a supervisor that stopped with its agent is let go on with it, whoever let it. Signals are
passed on to the agent; the exit status is the agent's. Imports only what the interpreter has loaded
anyway, so that the start costs little.
"""

import errno
import os
import signal
import sys
import termios

PASSED_ON = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
    signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT,
)  # fmt: skip

STAGES = (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL)
"""What everything on the terminal gets once the supervisor is gone, one a second."""

WAKE_SECONDS = (0.05, 0.2, 1.0)
"""After the agent goes on. A supervisor that was just about to stop itself does not hear of it at once."""

NOT_EXECUTABLE, NOT_FOUND = 126, 127


class Leader:
    def __init__(self, supervisor: int, person: int, report: int) -> None:
        self._supervisor = supervisor
        self._person = person
        self._report = report
        # Ours began with those of the person's, which the supervisor has changed since.
        self._settings = termios.tcgetattr(0) if person >= 0 else None
        self._agent = 0
        self._alone = False
        self._stages = list(STAGES)
        self._wakes: list[float] = []

    def lead(self, argv: list[str]) -> int:
        """Run the agent to its end; returns its wait status."""
        # Giving the terminal away must not stop us; nor may anything that is typed.
        for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
        self._agent = os.fork()
        if self._agent == 0:
            self._become(argv)
        self._give_terminal(self._agent)
        for number in PASSED_ON:
            signal.signal(number, self._pass_on)
        signal.signal(signal.SIGALRM, self._ring)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        if os.getppid() != self._supervisor:
            self._abandoned()
        status = self._wait()
        while self._alone and self._stages and below(os.getpid()):
            signal.pause()
        return status

    def _become(self, argv: list[str]) -> None:
        """In the child: become the agent, as if started by a shell."""
        self._give_terminal(os.getpid())
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            try:  # noqa: SIM105 - contextlib is not loaded here
                signal.signal(number, signal.SIG_DFL)
            except (OSError, ValueError):
                pass
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for fd in (self._person, self._report):
            if fd >= 0:
                os.close(fd)
        code = NOT_EXECUTABLE
        try:
            os.execvp(argv[0], argv)
        except OSError as error:
            code = NOT_FOUND if error.errno == errno.ENOENT else NOT_EXECUTABLE
            os.write(2, f"loopguard: cannot execute {argv[0]!r}: {error.strerror}\n".encode())
        finally:
            os._exit(code)

    def _give_terminal(self, pid: int) -> None:
        """Both sides do it, so that it holds whichever goes on first."""
        try:
            os.setpgid(pid, pid)
            os.tcsetpgrp(0, pid)
        except OSError:
            pass

    def _wait(self) -> int:
        while True:
            pid, status = os.waitpid(-1, os.WUNTRACED | os.WCONTINUED)
            if pid != self._agent:
                continue  # lost its parent and came to us
            if os.WIFSTOPPED(status):
                self._wakes = []
                self._tell(b"S")
            elif os.WIFCONTINUED(status):
                self._wakes = list(WAKE_SECONDS)
                self._tell(b"C")
                self._wake()
            else:
                self._agent = 0
                return status

    def _wake(self) -> None:
        try:
            if os.getppid() == self._supervisor:
                os.kill(self._supervisor, signal.SIGCONT)
        except OSError:
            return
        if self._wakes:
            signal.setitimer(signal.ITIMER_REAL, self._wakes.pop(0))

    def _ring(self, *_: object) -> None:
        if self._alone:
            self._end()
        elif self._wakes:
            self._wake()

    def _tell(self, what: bytes) -> None:
        try:
            os.write(self._report, what)
            if os.getppid() == self._supervisor:
                os.kill(self._supervisor, signal.SIGCHLD)
        except OSError:
            pass

    def _pass_on(self, number: int, _frame: object) -> None:
        if number == signal.SIGHUP and _hung_up():
            self._abandoned()
        elif self._agent:
            _signal_group(self._agent, number)

    # --- without a supervisor ----------------------------------------------------------------

    def _abandoned(self) -> None:
        """The supervisor was killed: nobody reads the agent's terminal, or restores the person's."""
        if self._alone:
            return
        self._alone = True
        if self._settings is not None:
            try:
                termios.tcsetattr(self._person, termios.TCSANOW, self._settings)
                sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
                from modes import RESET  # type: ignore[import-not-found, unused-ignore]

                os.write(self._person, RESET.encode())
            except (OSError, ImportError, termios.error):
                pass
        self._end()

    def _end(self) -> None:
        if not self._stages:
            return
        number = self._stages.pop(0)
        for pid in below(os.getpid()):
            signal_checked(pid, number)
            signal_checked(pid, signal.SIGCONT)
        if self._stages:
            signal.alarm(1)


def _hung_up() -> bool:
    """The supervisor's end of the terminal is closed. Its parent number would still be right for a moment."""
    try:
        termios.tcgetattr(0)
    except (OSError, termios.error):
        return True
    return False


def _signal_group(group: int, number: int) -> None:
    try:  # noqa: SIM105 - contextlib is not loaded here
        os.killpg(group, number)
    except OSError:
        pass


def below(root: int) -> list[int]:
    """Everything that descends from ``root`` and runs, as far as the system tells (Linux)."""
    parents = {}
    try:
        for name in os.listdir("/proc"):  # noqa: PTH208
            if name.isdigit() and (parent := _parent(int(name))):
                parents[int(name)] = parent
    except OSError:
        return []
    return [pid for pid in parents if pid != root and _descends(pid, root, parents)]


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != root:
        pid = parents[pid]
    return pid == root


def _parent(pid: int) -> int:
    """0 for what has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return 0
    return 0 if state in (b"Z", b"X") else int(parent)


def signal_checked(pid: int, number: int) -> None:
    """Signal a process below us, and none that has come to its number meanwhile."""
    try:
        handle = os.pidfd_open(pid)  # type: ignore[attr-defined, unused-ignore]
        try:
            if pid in below(os.getpid()):
                signal.pidfd_send_signal(handle, number)  # type: ignore[attr-defined, unused-ignore]
        finally:
            os.close(handle)
    except (OSError, AttributeError):
        pass


def main(arguments: list[str]) -> None:
    supervisor, person, report = (int(word) for word in arguments[:3])
    status = Leader(supervisor, person, report).lead(arguments[3:])
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the agent has left one if it wanted to
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main(sys.argv[1:])
