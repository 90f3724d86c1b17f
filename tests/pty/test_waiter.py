"""An agent on the person's own terminal, under an interactive shell, and what becomes of it without us."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from tests.pty.guarded import LOOPGUARD, Desk, need
from tests.pty.terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="agents become ours on Linux alone")

AGENT = """
import os, signal, subprocess, sys
print("pid", os.getpid(), flush=True)
while line := sys.stdin.readline().strip():
    if line == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif line == "start":
        subprocess.Popen(["sleep", "1000"], start_new_session=True, stdin=subprocess.DEVNULL)
    elif line.isdigit():
        sys.exit(int(line))
    print("heard", line, flush=True)
"""


class Sitting:
    """A shell in which a guarded agent runs in the foreground."""

    def __init__(self, terminal: Terminal, shell: psutil.Process) -> None:
        self.terminal = terminal
        self.shell = shell
        found = terminal.wait_for(lambda text: re.search(r"pid (\d+)", text))
        assert isinstance(found, re.Match)
        self.agent = psutil.Process(int(found[1]))
        self.supervisor = self.agent.parent()
        self.waiter = self.supervisor.parent()
        assert self.waiter.parent() == shell

    def says(self, line: str, answer: str) -> None:
        self.terminal.send(f"{line}\r")
        self.terminal.wait_for(answer)

    def usable(self, word: str) -> None:
        """The agent gets what is typed."""
        self.says(word, f"heard {word}")

    def goes_on(self) -> None:
        """Let the shell continue it. What is typed before the terminal is the agent's gets lost."""
        self.terminal.send("fg\r")
        self._until(lambda: self.terminal.foreground == self.waiter.pid and self.terminal.same_settings)

    def prompted(self) -> None:
        """The shell has taken the terminal and set it for its own editing."""
        self._until(lambda: self.terminal.foreground == self.shell.pid and not self.terminal.same_settings)

    def _until(self, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + 20
        while not holds():
            assert time.monotonic() < until, self.terminal.text
            time.sleep(0.01)

    def at_the_prompt(self, word: str) -> None:
        """The shell gets what is typed."""
        self.prompted()
        self.says(f"echo '<{word}'=$?'>'", f"<{word}=")

    def code(self) -> int:
        self.prompted()
        self.terminal.send("echo 'code='$?';'\r")
        found = self.terminal.wait_for(lambda text: re.search(r"code=(\d+);", text))
        assert isinstance(found, re.Match)
        return int(found[1])

    def left(self) -> list[psutil.Process]:
        return psutil.wait_procs(self.shell.children(recursive=True), timeout=5)[1]


@contextmanager
def sitting(folder: Path) -> Iterator[Sitting]:
    desk = Desk(folder)
    program = folder / "opencode"
    program.write_text(f"#!{sys.executable} -I\n{AGENT}")
    program.chmod(0o755)
    argv = [need("bash"), "--norc", "--noprofile", "-i"]
    with desk.terminal(argv, guarded=False) as terminal:
        terminal.wait_for(">")
        terminal.send(" ".join([*LOOPGUARD, "--", str(program)]) + "\r")
        sat = Sitting(terminal, psutil.Process(terminal.process.pid))
        everything = sat.shell.children(recursive=True)
        try:
            yield sat
        finally:
            for process in everything:
                if process.is_running():
                    process.kill()


@pytest.fixture
def sat(tmp_path: Path) -> Iterator[Sitting]:
    with sitting(tmp_path) as sat:
        yield sat


def test_the_agent_of_a_killed_supervisor_stays_usable(sat: Sitting) -> None:
    sat.usable("before")
    sat.usable("start")
    sat.supervisor.kill()
    sat.usable("after")
    sat.terminal.send("\x1a")
    sat.at_the_prompt("shell")
    sat.goes_on()
    sat.usable("again")
    sat.terminal.send("7\r")
    sat.terminal.wait_for("loopguard: was killed")
    assert sat.code() == 7
    assert sat.left() == []


def test_a_killed_agent_after_its_supervisor(sat: Sitting) -> None:
    sat.supervisor.kill()
    sat.usable("after")
    sat.agent.kill()
    assert sat.code() == 128 + signal.SIGKILL
    assert sat.left() == []


def test_an_agent_that_ends_right_after_its_supervisor(sat: Sitting) -> None:
    """While everything is stopped, so that the waiter hears of both at once."""
    sat.agent.suspend()
    sat.at_the_prompt("shell")
    sat.supervisor.kill()
    sat.agent.terminate()
    sat.agent.resume()
    sat.terminal.send("fg\r")
    psutil.wait_procs([sat.waiter], timeout=20)
    assert sat.code() == 128 + signal.SIGTERM


def test_an_agent_that_is_stopped_when_its_supervisor_is_killed(sat: Sitting) -> None:
    sat.agent.suspend()
    sat.supervisor.kill()
    sat.at_the_prompt("shell")
    sat.goes_on()
    sat.usable("again")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_reach_an_agent_without_a_supervisor(sat: Sitting, number: signal.Signals) -> None:
    sat.supervisor.kill()
    sat.usable("after")
    sat.waiter.send_signal(number)
    assert sat.code() == 128 + number
    assert sat.left() == []


def test_an_agent_that_does_not_listen_is_ended_when_it_is_told_to(sat: Sitting) -> None:
    sat.supervisor.kill()
    sat.usable("after")
    sat.agent.suspend()
    sat.prompted()
    sat.waiter.terminate()
    sat.terminal.send("fg\r")
    psutil.wait_procs([sat.waiter], timeout=20)
    assert sat.code() == 128 + signal.SIGTERM
    assert sat.left() == []


def test_a_killed_waiter_leaves_no_agent_that_nobody_can_use(sat: Sitting) -> None:
    sat.usable("before")
    below = [sat.supervisor, sat.agent]
    sat.waiter.kill()
    assert psutil.wait_procs(below, timeout=8)[1] == []
    sat.at_the_prompt("shell")
    assert sat.left() == []


@pytest.mark.parametrize(
    "suspend", [lambda sat: sat.terminal.send("\x1a"), lambda sat: sat.terminal.send("stop\r")]
)
def test_suspended_and_continued(sat: Sitting, suspend: Callable[[Sitting], None]) -> None:
    """By the keyboard, which stops all of the job; or the agent alone stops itself."""
    for number in range(3):
        suspend(sat)
        sat.at_the_prompt(f"shell{number}")
        sat.goes_on()
        sat.usable(f"again{number}")
    sat.terminal.send("5\r")
    assert sat.code() == 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_job(sat: Sitting, number: signal.Signals) -> None:
    sat.waiter.send_signal(number)
    assert sat.code() == 128 + number
    assert sat.left() == []


def test_control_c_is_the_agents(sat: Sitting) -> None:
    sat.terminal.send("\x03")
    sat.terminal.wait_for("KeyboardInterrupt")
    assert sat.code() == 128 + signal.SIGINT
    assert sat.left() == []


def test_the_terminal_goes_away(sat: Sitting) -> None:
    below = [sat.waiter, sat.supervisor, sat.agent]
    sat.terminal.hang_up()
    assert psutil.wait_procs(below, timeout=8)[1] == []


def test_the_terminal_goes_away_from_an_agent_without_a_supervisor(sat: Sitting) -> None:
    sat.supervisor.kill()
    sat.usable("after")
    sat.terminal.hang_up()
    assert psutil.wait_procs([sat.waiter, sat.agent], timeout=8)[1] == []
