"""Kill trials with the real agents: the same as `trials`, one of each, and resumed where they were left.

``python -m tests.reliability.real [--only AGENT]... [--results FILE] [--write]``. What FILE holds is not
tried again. An agent that is not installed is left out, and said.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from loopguard_cli.testing import claude, codex, copilot, gemini, opencode, pi
from loopguard_cli.testing.conversation import Request
from loopguard_cli.testing.script import Call, Hold, Reply, Say, reply
from tests.pty.terminal import Terminal
from tests.real.harness import LOOPGUARD, AgentSandbox, World
from tests.real.installed import installed
from tests.real.test_prose import CONTAINERS
from tests.reliability.trials import PHASES, TARGETS, ledger_problems, within

COMMAND = "true; sleep 3600"
BASH = {"command": COMMAND, "description": "Waits", "timeout": 600_000}
TASK = "Do the task."

REACHED_SECONDS = 120.0
ENDED_SECONDS = 40.0
GONE_SECONDS = 5.0

_SHELL = '"$@"; echo $? > "$TRIAL/part"; mv "$TRIAL/part" "$TRIAL/code"; exec sleep 1000'


class Agent(NamedTuple):
    name: str
    """Of its program."""
    arguments: tuple[str, ...]
    sandbox: type[AgentSandbox]
    shell: str
    """Its tool for commands."""
    args: dict[str, Any]
    options: tuple[str, ...] = ()
    """Of loopguard."""
    ready: str = ""
    """On its screen, when a prompt can be typed."""
    stays: bool = False
    """It is the person's own: it goes on when loopguard is killed outright."""

    @property
    def id(self) -> str:
        words = [word for word in self.arguments if word not in (TASK, *_QUIETLY)]
        return " ".join((self.name, *words)) + (" (screen)" if self.ready and not self.options else "")


_QUIETLY = ("--skip-git-repo-check", "--auth-type", "openai", "--yolo", "--allow-all-tools")
_ACP = ("--agent", "acp", "--permissions", "allow")
_GEMINI = {"command": COMMAND}

AGENTS = (
    Agent("opencode", (), opencode.Sandbox, "bash", BASH, ready="Ask anything", stays=True),
    Agent("opencode", ("run", TASK), opencode.Sandbox, "bash", BASH, stays=True),
    Agent("claude", (), claude.Sandbox, "Bash", BASH, ready="for shortcuts"),
    Agent("claude", ("-p", TASK), claude.Sandbox, "Bash", BASH),
    Agent("codex", ("exec", "--skip-git-repo-check", TASK), codex.Sandbox, "exec_command", {"cmd": COMMAND}),
    Agent("gemini", ("--yolo", "-p", TASK), gemini.Sandbox, "run_shell_command", _GEMINI, stays=True),
    Agent("pi", ("-p", TASK), pi.Sandbox, "bash", _GEMINI, stays=True),
    Agent("copilot", ("--allow-all-tools", "-p", TASK), copilot.Sandbox, "bash", BASH),
    Agent("qwen", ("--auth-type", "openai", "--yolo", "-p", TASK), opencode.Sandbox, "run_shell_command",
          {"command": COMMAND, "is_background": False}),
    Agent("opencode", ("acp",), opencode.Sandbox, "bash", BASH, options=_ACP, ready="- "),
    Agent("claude-agent-acp", (), claude.Sandbox, "Bash", BASH, options=_ACP, ready="- "),
    Agent("codex-acp", (), codex.Sandbox, "exec_command", {"cmd": COMMAND}, options=_ACP, ready="- "),
    Agent("gemini", ("--acp",), gemini.Sandbox, "run_shell_command", _GEMINI, options=_ACP, ready="- "),
    Agent("pi-acp", (), pi.Sandbox, "bash", _GEMINI, options=_ACP, ready="- "),
)  # fmt: skip


class Trial(NamedTuple):
    agent: Agent
    phase: str
    target: str
    signal: signal.Signals

    def __str__(self) -> str:
        return f"{self.agent.id}: {self.phase}, {self.target} {self.signal.name}"

    @property
    def outright(self) -> bool:
        return self.target == "loopguard" and self.signal is signal.SIGKILL


class TrialWorld(World):
    def __init__(self, trial: Trial, program: Path) -> None:
        self.sandbox = trial.agent.sandbox
        self._name = trial.agent.name
        super().__init__(program, _behaviour(trial))

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        more: dict[str, str] = {}
        if self._name == "qwen":
            more = {"OPENAI_BASE_URL": self.model.url, "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}
        elif self._name == "copilot":
            more = {"COPILOT_PKG_CACHE_HOME": str(self.opencode.parents[2] / "unpacked")}
        return super().environment({**more, "TRIAL": str(self.root), **(extra or {})})

    def supervisor(self) -> psutil.Process:
        """The innermost of those with that name: a waiter, too, has it for a moment."""
        found = [process for process in self.processes() if _is_loopguard(process)]
        (one,) = [process for process in found if not any(map(_is_loopguard, process.children()))]
        return one

    def agents(self) -> list[psutil.Process]:
        """What the supervisor has started as the agent."""
        with suppress(psutil.Error, ValueError):
            for child in self.supervisor().children():
                words = " ".join(_command(child))
                if "lifeline.sh" in words or _is_loopguard(child) or not words:
                    continue
                return child.children() if "leader.py" in words else [child]
        return []

    def sleeping(self) -> bool:
        return any(_command(process) == ["sleep", "3600"] for process in self.processes())

    def spoken(self) -> int:
        """Answers of the model that have begun."""
        return sum(bool(chat.text) for chat in self.model.chats())


def _behaviour(trial: Trial) -> Callable[[Request], Reply]:
    work = reply(Say(text="I am at work on what you asked for. "), Hold())
    seen: list[str] = []

    def behave(request: Request) -> Reply:
        seen.append(request.user)
        if trial.phase == "tool":
            return reply(Say(text="First a command. "), Call(tool=trial.agent.shell, args=trial.agent.args))
        if trial.phase == "continuation" and len(seen) == 1:
            return reply(Say(text="I begin. "), Say(text=CONTAINERS, times=60, pace=0.02, chunk=12))
        return work

    return behave


class Outcome(NamedTuple):
    trial: str
    problems: Sequence[str]
    seconds: float
    code: int


def carry_out(trial: Trial, program: Path) -> Outcome:
    """One trial. Raises TimeoutError when its phase is not reached."""
    agent = trial.agent
    with TrialWorld(trial, program) as world:
        command = world.guard_command(agent.name, *agent.arguments, options=agent.options)
        terminal = world.screen("/bin/sh", "-c", _SHELL, "sh", *command)
        process = _reached(trial, world, terminal)
        shell = terminal.process.pid
        (job,) = psutil.Process(shell).children()
        loopguard = world.supervisor() if trial.outright else job
        began = time.monotonic()
        (process if trial.target == "agent" else loopguard).send_signal(trial.signal)
        problems = [*_judged(trial, world, terminal, job, process)]
        seconds = time.monotonic() - began
        place = world.root / "code"
        code = int(place.read_text()) if place.exists() else -1
        terminal.close()
        for left in world.processes():
            left.kill()
        psutil.wait_procs(world.processes(), timeout=GONE_SECONDS)
    return Outcome(str(trial), problems, round(seconds, 2), code)


def _reached(trial: Trial, world: TrialWorld, terminal: Terminal) -> psutil.Process:
    ready: Callable[[], bool] = {
        "start": lambda: bool(world.agents()),
        "stream": lambda: world.spoken() >= 1,
        "tool": world.sleeping,
        "continuation": lambda: world.spoken() >= 2,  # the one that was cut off, and this
    }[trial.phase]
    if trial.agent.ready and trial.phase != "start":
        terminal.wait_for(trial.agent.ready, REACHED_SECONDS)
        until, again = time.monotonic() + REACHED_SECONDS, 0.0
        while not world.model.chats() and time.monotonic() < until:
            if time.monotonic() > again:  # what comes too soon is lost on some
                terminal.send(f"{TASK}\r" if not again else "\r")
                again = time.monotonic() + 10
            time.sleep(0.1)
    agents: list[psutil.Process] = []

    def reached() -> bool:
        agents[:] = world.agents()
        return bool(agents) and ready()

    if not within(REACHED_SECONDS, reached):
        raise TimeoutError(f"{trial}: the phase was not reached\n{terminal.text}")
    return agents[0]


def _judged(
    trial: Trial, world: TrialWorld, terminal: Terminal, job: psutil.Process, agent: psutil.Process
) -> Iterator[str]:
    code, shell = world.root / "code", terminal.process.pid

    def left() -> list[psutil.Process]:
        return [process for process in world.processes() if process.pid != shell]

    goes_on = trial.outright and trial.agent.stays
    if goes_on:
        if within(1.0, code.exists) or not agent.is_running():
            yield "the agent does not go on"
        with suppress(psutil.Error):
            job.terminate()
    elif trial.target == "agent" and not within(ENDED_SECONDS / 2, code.exists):
        yield "note: the agent took the signal otherwise, and went on"
        with suppress(psutil.Error):
            job.terminate()
    if not within(ENDED_SECONDS, code.exists):
        yield "loopguard did not end"
        return
    if not within(GONE_SECONDS, lambda: not left()):
        yield "left behind: " + "; ".join(" ".join(_command(process))[:80] for process in left())
    terminal.settle()
    yield from (f"terminal: {change}" for change in terminal.changed_modes)
    if expected := _expected(trial):
        found = int(code.read_text())
        if found != expected:
            yield f"exit status {found}, expected {expected}"
    yield from ledger_problems(world.project / ".loopguard")


def _expected(trial: Trial) -> int:
    """The exit status, where it is ours to decide; 0: an agent that handles a signal has its own."""
    if trial.signal is signal.SIGKILL:
        return 0 if trial.outright and trial.agent.stays else 128 + signal.SIGKILL
    return 128 + trial.signal if trial.target == "loopguard" and not trial.agent.stays else 0


def _is_loopguard(process: psutil.Process) -> bool:
    return _command(process)[:4] == [*LOOPGUARD, "run"]


def _command(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []


def trials(only: Sequence[str] = ()) -> Iterator[Trial]:
    for phase in PHASES:
        for target, number in TARGETS:
            for agent in AGENTS:
                if not only or agent.id in only:
                    yield Trial(agent, phase, target, number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="AGENT")
    parser.add_argument("--results", type=Path, default=Path("kill-trials.jsonl"))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no trial after so long")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md")
    given = parser.parse_args()
    done = read(given.results)
    until = time.monotonic() + given.seconds
    for trial in trials(given.only):
        program = _program(trial.agent.name)
        if str(trial) in done or program is None or time.monotonic() > until:
            continue
        try:
            outcome = carry_out(trial, program)
        except Exception as error:
            outcome = Outcome(str(trial), [f"{type(error).__name__}: {error}"], 0.0, -1)
        done[outcome.trial] = outcome
        with given.results.open("a") as file:
            file.write(json.dumps(outcome._asdict()) + "\n")
        sys.stderr.write(f"{outcome.trial}: {outcome.code} {'; '.join(outcome.problems)[:300]}\n")
    text = section(done)
    if given.write:
        from tests.reliability.__main__ import PAGE, put

        put(PAGE, text, HEADING)
    sys.stdout.write(text)
    return int(any(problem for outcome in done.values() for problem in outcome.problems))


def _program(name: str) -> Path | None:
    try:
        return installed(name)
    except pytest.skip.Exception as error:
        sys.stderr.write(f"{error}\n")
        return None


def read(path: Path) -> dict[str, Outcome]:
    """Of several outcomes of a trial the last one."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {outcome.trial: outcome for outcome in (Outcome(**json.loads(line)) for line in lines)}


HEADING = "## Kill trials with the real agents"


def section(done: Mapping[str, Outcome]) -> str:
    heads = [f"{target} {number.name}" for target, number in TARGETS]
    rows = ["| agent | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for agent in AGENTS:
        cells = []
        for target, number in TARGETS:
            names = [str(Trial(agent, phase, target, number)) for phase in PHASES]
            tried = [done[name] for name in names if name in done]
            clean = sum(not _bad(outcome) for outcome in tried)
            cells.append(f"{clean} of {len(tried)}")
        rows.append(f"| `{agent.id}` | " + " | ".join(cells) + " |")
    bad = [f"- {o.trial}: {p.splitlines()[0]}" for o in done.values() for p in _bad(o)]
    notes = [o.trial for o in done.values() if any(p.startswith("note:") for p in o.problems)]
    lines = [
        HEADING,
        "",
        "`python -m tests.reliability.real` does the same with the real agents, installed from npm and",
        f"answered by a scripted model, each on a terminal: {len(done)} trials of {len([*trials()])} so far,",
        f"{_by_phase(done)}. The exit status is held to 128 + the signal where it is ours",
        "to decide: for SIGKILL, and for what ends loopguard while it drives the agent. An agent of the",
        "person's own that handles a signal has a status of its own.",
        "",
        *rows,
        "",
        f"In {len(notes)} trials the agent took a signal otherwise and went on; it was then ended by way of",
        "loopguard, and all the above had to hold.",
        "",
        "Not clean:" if bad else "All of them were clean.",
        *(["", *bad] if bad else []),
        "",
    ]
    return "\n".join(lines)


def _by_phase(done: Mapping[str, Outcome]) -> str:
    return ", ".join(f"{sum(f': {phase}, ' in name for name in done)} in {phase}" for phase in PHASES)


def _bad(outcome: Outcome) -> list[str]:
    return [problem for problem in outcome.problems if not problem.startswith("note:")]


if __name__ == "__main__":
    sys.exit(main())
