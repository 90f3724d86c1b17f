"""The agent's process on a pseudo-terminal of ours, started like the person's own terminal is set."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import termios
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from loopguard_cli.agents.base import LaunchPlan
from loopguard_cli.runtime.processes import tree
from loopguard_cli.runtime.processes.child import Child

_DEFAULT_SIZE = (24, 80)
_SIZE_BYTES = 8


class ScreenChild(Child):
    """The leader of the agent's terminal (`runtime.processes.leader`) and our end of that terminal."""

    group = True

    def _start(self, plan: LaunchPlan, environment: Mapping[str, str]) -> int:
        from ptyprocess import PtyProcess, PtyProcessError

        _check(plan.argv[0], environment)
        person = next((fd for fd in (0, 1, 2) if os.isatty(fd)), -1)
        if person >= 0:
            person = os.dup(person)
        self._reports, report = os.pipe()
        for fd in (person, report):
            if fd >= 0:
                os.set_inheritable(fd, True)
        settings = termios.tcgetattr(person) if person >= 0 else None
        size = _raw_size()

        def prepare() -> None:
            """In the new process, before the program is there: the terminal is as the person's is."""
            tree.adopt_orphans()  # in our place, should we be killed; holds across the start of the program
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            if settings is not None:
                termios.tcsetattr(0, termios.TCSANOW, settings)

        leader = Path(__file__).with_name("leader.py")
        words = (sys.executable, "-I", "-S", leader, os.getpid(), person, report, *plan.argv)
        try:
            self._terminal = PtyProcess.spawn(
                [str(word) for word in words],
                env=dict(environment),
                dimensions=window_size(),
                preexec_fn=prepare,
                pass_fds=[fd for fd in (person, report) if fd >= 0],
            )
        except PtyProcessError as error:
            raise OSError(str(error)) from error
        finally:
            os.close(report)
            if person >= 0:
                os.close(person)
        os.set_blocking(self._terminal.fd, False)
        os.set_blocking(self._reports, False)
        return int(self._terminal.pid)

    @property
    def master(self) -> int:
        return int(self._terminal.fd)

    def poll(self) -> bool:
        with suppress(BlockingIOError):
            for report in os.read(self._reports, 64):
                self.stopped = report == ord("S")
        return super().poll()

    def send(self, number: int) -> None:
        """The leader passes everything on but the one signal that it cannot catch."""
        if number == signal.SIGKILL and self.code is None:
            import psutil

            with suppress(psutil.Error):
                for process in psutil.Process(self.pid).children(recursive=True):
                    with suppress(psutil.Error):
                        process.kill()
        super().send(number)

    def _ended(self, code: int) -> None:
        """ptyprocess would wait for the process when it is collected; it is ours to wait for."""
        self._terminal.terminated = True

    def resize(self) -> None:
        """Give the agent's terminal the size of the person's, in cells and in pixels."""
        with suppress(OSError):
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, _raw_size())

    def hang_up(self) -> None:
        if self._terminal.closed:
            return
        self._terminal.fileobj.close()
        self._terminal.closed = True
        self._terminal.fd = -1
        os.close(self._reports)


def window_size() -> tuple[int, int]:
    """Rows and columns of the person's terminal."""
    size = _raw_size()
    rows, columns = (int.from_bytes(size[at : at + 2], sys.byteorder) for at in (0, 2))
    return rows, columns


def _raw_size() -> bytes:
    """As the system has it: rows, columns and two sizes in pixels, 16 bits each."""
    for fd in (0, 1, 2):
        with suppress(OSError):
            size: bytes = fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(_SIZE_BYTES))
            if any(size[:2]) and any(size[2:4]):
                return size
    rows, columns = (number.to_bytes(2, sys.byteorder) for number in _DEFAULT_SIZE)
    return rows + columns + bytes(4)


def _check(program: str, environment: Mapping[str, str]) -> None:
    """Raises FileNotFoundError or PermissionError as starting the program would."""
    if shutil.which(program, path=environment.get("PATH", os.defpath)) is None:
        here = os.sep in program and Path(program).exists()
        raise PermissionError(13, "permission denied") if here else FileNotFoundError(2, "not found")
