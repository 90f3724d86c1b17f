"""What is seen of a process tree."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from loopguard_cli.core.events import Event, Sampled
from loopguard_cli.runtime.processes.evidence import Evidence

AGENT = """
import subprocess, sys, time
children = []
for line in sys.stdin:
    word = line.strip()
    if word == "start":
        children.append(subprocess.Popen(["cat"], stdin=subprocess.PIPE))
    elif word == "end":
        child = children.pop()
        child.stdin.close()
        child.wait()
    elif word == "burn":
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass
    print("done", flush=True)
"""


class Agent:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.wanted = True
        self.evidence = Evidence(lambda: self.wanted)

    def do(self, what: str) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def look(self) -> list[Event]:
        return [*self.evidence.look(self.process.pid)]

    def seen(self) -> Sampled:
        (event,) = self.look()
        assert isinstance(event, Sampled)
        return event


@pytest.fixture
def agent() -> Iterator[Agent]:
    agent = Agent()
    with agent.process:
        agent.do("nothing")
        assert agent.look() == [], "the first look learns what there is"
        yield agent
        agent.process.kill()


def test_processes_that_come_and_go(agent: Agent) -> None:
    agent.do("start")
    seen = agent.seen()
    assert (seen.below, seen.came_or_went) == (1, 1)
    assert agent.seen().came_or_went == 0
    agent.do("end")
    seen = agent.seen()
    assert (seen.below, seen.came_or_went) == (0, 1)


def test_processor_time_of_its_own(agent: Agent) -> None:
    agent.do("burn")
    seen = agent.seen()
    assert seen.own_cpu >= 0.15
    assert seen.below_cpu == 0


def test_nothing_is_looked_at_while_nobody_wants_it(agent: Agent) -> None:
    agent.wanted = False
    assert agent.look() == []
    agent.wanted = True
    assert agent.look() == [], "what was done meanwhile is not of this sample"
    assert agent.seen().came_or_went == 0


def test_an_agent_that_is_gone(agent: Agent) -> None:
    agent.process.kill()
    agent.process.wait()
    assert agent.look() == []


def test_another_agent_process_is_learned_anew(agent: Agent) -> None:
    other = Agent()
    with other.process:
        assert [*agent.evidence.look(other.process.pid)] == []
        other.process.kill()
