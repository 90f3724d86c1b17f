"""What is left of a driven agent when its supervisor was killed outright."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from loopguard_cli.runtime.processes.lifeline import Lifeline

PATIENCE = 30.0

KILLED = """
import os, signal, sys
from loopguard_cli.runtime.processes.lifeline import Lifeline
line = Lifeline(*sys.argv[2:])
line.hold(int(sys.argv[1]))
print(line._process.pid, flush=True)
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def group() -> Iterator[subprocess.Popen[bytes]]:
    """A program that ignores the end of its input and polite signals, with a child of its own."""
    script = "trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000"
    agent = subprocess.Popen(("/bin/sh", "-c", script), stdout=subprocess.PIPE, process_group=0)
    yield agent
    with suppress(ProcessLookupError):
        os.killpg(agent.pid, signal.SIGKILL)
    agent.communicate()


def child_of(group: subprocess.Popen[bytes]) -> psutil.Process:
    assert group.stdout
    return psutil.Process(int(group.stdout.readline()))


def test_the_whole_group_ends_with_a_supervisor_that_is_killed(group: subprocess.Popen[bytes]) -> None:
    child = child_of(group)
    supervisor = subprocess.Popen(
        (sys.executable, "-c", KILLED, str(group.pid)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert supervisor.stdout
    supervisor.stdout.readline()
    supervisor.communicate(b"\n")
    assert supervisor.returncode == -signal.SIGKILL
    assert group.wait(PATIENCE) == -signal.SIGKILL
    assert not psutil.wait_procs([child], timeout=PATIENCE)[1]


def test_what_an_agent_left_that_ended_at_once_ends_too() -> None:
    """In a session of its own, and with nobody above it any more who leads to it."""
    mark = f"MARK={os.getpid()}:{os.urandom(8).hex()}"
    name, _, value = mark.partition("=")
    script = "setsid sleep 1000 > /dev/null & echo $!"
    agent = subprocess.Popen(
        ("/bin/sh", "-c", script),
        stdout=subprocess.PIPE,
        process_group=0,
        env={**os.environ, name: value},
    )
    left = child_of(agent)
    agent.communicate()
    supervisor = subprocess.Popen(
        (sys.executable, "-c", KILLED, str(agent.pid), mark), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert supervisor.stdout
    supervisor.stdout.readline()
    assert left.is_running()
    supervisor.communicate(b"\n")
    assert not psutil.wait_procs([left], timeout=PATIENCE)[1]


def test_a_group_that_is_let_go_lives_on(group: subprocess.Popen[bytes]) -> None:
    child = child_of(group)
    line = Lifeline()
    line.hold(group.pid)
    held = line._process
    assert held is not None
    shell = psutil.Process(held.pid)
    line.let_go()
    assert not psutil.wait_procs([shell], timeout=PATIENCE)[1]
    assert group.poll() is None
    assert child.is_running()
