"""Kill trials: end an agent, or loopguard, at some point of a run, and look at what is left."""

from __future__ import annotations

import itertools
import os
import re
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import psutil

from loopguard_cli.errors import StoreError
from loopguard_cli.store.ledger import read_ledger
from loopguard_cli.store.lines import Damage
from tests.pty.terminal import Terminal

T = TypeVar("T")

ACTOR = Path(__file__).with_name("actor.py")
MARK = "LOOPGUARD_TRIAL"

GONE_SECONDS = 5.0
"""Nothing of a run may outlive its end longer."""

READY_SECONDS = 60.0
"""A phase is reached by then, also on a busy machine."""

KINDS = ("bridged", "one-shot", "driven", "terminal")
PHASES = ("start", "stream", "tool", "continuation")
TARGETS = (
    ("agent", signal.SIGINT),
    ("agent", signal.SIGTERM),
    ("agent", signal.SIGHUP),
    ("agent", signal.SIGKILL),
    ("loopguard", signal.SIGTERM),
    ("loopguard", signal.SIGHUP),
    ("loopguard", signal.SIGKILL),
)

_SHELL = '"$@"; echo $? > "$TRIAL/part"; mv "$TRIAL/part" "$TRIAL/code"; exec sleep 1000'
"""loopguard is a job of a shell, which has the terminal for itself afterwards."""

_ARGUMENTS = {
    "bridged": ("--", "{folder}/bin/opencode"),
    "one-shot": ("--", "{folder}/bin/opencode", "run", "do it"),
    "driven": ("--agent", "acp", "--", "{folder}/bin/agent"),
    "terminal": ("--agent", "terminal", "--", "{folder}/bin/agent"),
}


class Trial(NamedTuple):
    kind: str
    phase: str
    target: str
    signal: signal.Signals

    def __str__(self) -> str:
        return f"{self.kind}-{self.phase}-{self.target}-{self.signal.name}"

    @property
    def outright(self) -> bool:
        """loopguard itself gets no chance to do anything."""
        return self.target == "loopguard" and self.signal is signal.SIGKILL

    @property
    def stays(self) -> bool:
        """The agent is the person's own and goes on without us."""
        return self.outright and self.kind in ("bridged", "one-shot")


class Outcome(NamedTuple):
    trial: Trial
    problems: tuple[str, ...]
    seconds: float
    """From the signal until nothing was left."""


def all_trials() -> list[Trial]:
    """Each combination once."""
    return [
        Trial(kind, phase, target, number)
        for kind, phase, (target, number) in itertools.product(KINDS, PHASES, TARGETS)
    ]


def carry_out(trial: Trial, folder: Path) -> Outcome:
    """One trial in an empty folder. Raises TimeoutError when its phase is not reached."""
    mark = uuid.uuid4().hex
    environ = _prepare(trial, folder, mark)
    words = [word.format(folder=folder) for word in _ARGUMENTS[trial.kind]]
    argv = ["/bin/sh", "-c", _SHELL, "sh", sys.executable, "-m", "loopguard_cli", "run", *words]
    try:
        with Terminal(argv, cwd=folder / "project", env=environ, rows=24, columns=80) as terminal:
            if trial.kind == "driven" and trial.phase != "start":
                terminal.send("do it\r")
            agent = _reached(trial, folder, terminal)
            target = agent if trial.target == "agent" else _loopguard(terminal, outright=trial.outright)
            began = time.monotonic()
            target.send_signal(trial.signal)  # psutil compares the start time first
            problems = [*_judged(trial, folder, terminal, agent, mark)]
            seconds = time.monotonic() - began
    finally:
        for process in marked(mark):
            with suppress(psutil.Error):
                process.kill()
    return Outcome(trial, tuple(problems), seconds)


def _prepare(trial: Trial, folder: Path, mark: str) -> dict[str, str]:
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    for name in ("project", "bin"):
        (folder / name).mkdir()
    for name in ("opencode", "agent"):
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ACTOR}" "$@"\n')
        program.chmod(0o755)
    return {
        **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(runtime),
        "LANG": "C.UTF-8",
        MARK: mark,
        "TRIAL": str(folder),
        "TRIAL_KIND": trial.kind,
        "TRIAL_PHASE": trial.phase,
    }


def _reached(trial: Trial, folder: Path, terminal: Terminal) -> psutil.Process:
    """The agent, once it is where the trial wants it."""
    place = folder / trial.phase
    if not within(READY_SECONDS, place.exists):
        raise TimeoutError(f"{trial}: the phase was not reached\n{terminal.text}")
    return psutil.Process(int((folder / "agent").read_text()))


def _judged(
    trial: Trial, folder: Path, terminal: Terminal, agent: psutil.Process, mark: str
) -> Iterator[str]:
    code = folder / "code"
    expected = 128 + trial.signal
    if trial.stays:
        yield from _stays(folder, agent)
        expected = 128 + signal.SIGTERM
    if not within(READY_SECONDS, code.exists):
        yield "loopguard did not end"
        return
    shell = terminal.process.pid
    if not within(GONE_SECONDS, lambda: not _left(mark, shell)):
        yield "left behind: " + ", ".join(" ".join(_command(process)) for process in _left(mark, shell))
    terminal.settle()
    yield from (f"terminal: {change}" for change in terminal.changed_modes)
    if (found := int(code.read_text())) != expected:
        yield f"exit status {found}, expected {expected}"
    yield from ledger_problems(folder / "project" / ".loopguard")


def _stays(folder: Path, agent: psutil.Process) -> Iterator[str]:
    """The agent reacts, and is still the job that the shell waits for; then it is ended."""
    with suppress(psutil.Error):
        agent.send_signal(signal.SIGUSR1)
    if not within(GONE_SECONDS, (folder / "pong").exists):
        yield "the agent is not usable any more"
    if (folder / "code").exists() or not agent.is_running():
        yield "the shell waits for it no more"
    with suppress(psutil.Error):
        agent.terminate()


def _loopguard(terminal: Terminal, *, outright: bool) -> psutil.Process:
    """What the shell has started and a person would signal; killed outright: the supervisor itself."""
    (job,) = psutil.Process(terminal.process.pid).children()
    below = [child for child in job.children() if child.cmdline()[1:4] == ["-m", "loopguard_cli", "run"]]
    return below[0] if outright and below else job


def ledger_problems(folder: Path) -> Iterator[str]:
    """What is wrong with the ledger in ``folder``."""
    try:
        items = list(read_ledger(folder))
    except StoreError as error:
        yield f"ledger: {error}"
        return
    damaged = [item for item in items if isinstance(item, Damage)]
    if not items:
        yield "ledger: empty"
    if damaged:
        yield f"ledger: {damaged[0].reason}"


def _left(mark: str, shell: int) -> list[psutil.Process]:
    return [process for process in marked(mark) if process.pid != shell]


def marked(mark: str) -> list[psutil.Process]:
    """What runs with this trial's mark in its environment."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _command(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return [re.sub(r".*/", "", word) for word in process.cmdline()[:3]]
    return ["?"]


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Whether it comes true in time."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
