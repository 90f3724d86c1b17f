"""Tries an agent that is installed: does it say hello, is its gate really asked, can it be stopped?

Two guarded runs of the real agent against a scripted model, offline and in folders of their own: one
that calls the same thing three times, one that never stops talking. What is reported is what was seen:
the events of the run, what ran, and how the model's answers ended.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from loopguard_cli.core.events import AgentConnected, AnyEvent, Event, TextDelta, ToolAsked
from loopguard_cli.exit_codes import ExitCode
from loopguard_cli.testing import claude, codex, copilot, gemini, opencode, pi
from loopguard_cli.testing.demonstration import Check
from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.model import ScriptedModel
from loopguard_cli.testing.script import Call, Say, Turn, reply, say, turn

RUN_SECONDS = 90.0
"""A run that takes longer has failed; most need less than a tenth of it."""

INSTALLED = "is installed"
"""The first check; without it there are no others."""

_LOOP = "Let me look at the log to see why it failed. "
_CONTINUED = r"(?m)^\[ANTI-LOOP"
_TRIED = "tried.log"


class Sandbox(Protocol):
    """Where the agent plays."""

    @property
    def home(self) -> Path: ...
    @property
    def project(self) -> Path: ...
    def environment(self) -> dict[str, str]: ...


class Subject(NamedTuple):
    """How an agent is made to do what a scripted model says."""

    program: str
    sandbox: Callable[[Path, str], Sandbox]
    arguments: tuple[str, ...]
    """In front of the prompt, for a run without a person."""
    shell: Callable[[str], Call]
    """A call that runs a command."""


SUBJECTS: Mapping[str, Subject] = {
    "opencode": Subject(
        "opencode",
        opencode.Sandbox,
        ("run",),
        lambda command: Call(tool="bash", args={"command": command, "description": "Notes that it ran"}),
    ),
    "claude": Subject(
        "claude",
        claude.Sandbox,
        ("-p",),
        lambda command: Call(tool="Bash", args={"command": command, "description": "Notes that it ran"}),
    ),
    "codex": Subject(
        "codex",
        codex.Sandbox,
        ("exec", "--skip-git-repo-check"),
        lambda command: Call(tool="exec_command", args={"cmd": command}),
    ),
    "gemini": Subject(
        "gemini",
        gemini.Sandbox,
        ("--yolo", "-p"),
        lambda command: Call(tool="run_shell_command", args={"command": command}),
    ),
    "copilot": Subject(
        "copilot",
        copilot.Sandbox,
        ("--allow-all-tools", "-p"),
        lambda command: Call(tool="bash", args={"command": command, "description": "Notes that it ran"}),
    ),
    "pi": Subject("pi", pi.Sandbox, ("-p",), lambda command: Call(tool="bash", args={"command": command})),
}
"""The agents that can be tried, by their name in the registry."""


class _Seen(NamedTuple):
    code: int | None
    """None: it did not end in time."""
    complaint: str
    """The end of what it wrote to standard error."""
    events: Sequence[Event]
    chats: Sequence[Exchange]
    ran: int
    """How often the noted command ran."""


def examine(agent: str, program: Path | None = None) -> Iterator[Check]:
    """What was seen of ``agent``, one check after the other; it takes seconds.

    ``program``: None takes the one on PATH. Raises KeyError for an agent that is not in `SUBJECTS`.
    """
    subject = SUBJECTS[agent]
    found = opencode.find(str(program) if program else subject.program)
    if found is None:
        yield Check(what=INSTALLED, ok=False, seen=f"no {subject.program} on PATH")
        return
    command = subject.shell(f"echo ran >> $HOME/{_TRIED}")
    looping = _run(subject, found, (turn(*[reply(command)] * 3, say("Done.")),))
    yield _hello(looping)
    yield Check(
        what="asks before a call",
        ok=any(isinstance(event, ToolAsked) for event in looping.events),
        seen=f"{sum(isinstance(event, ToolAsked) for event in looping.events)} calls asked about",
    )
    yield Check(
        what="does not execute a third equal call",
        ok=looping.ran == 2,
        seen=f"of three equal calls {looping.ran} ran",
    )
    endless = reply(Say(text=_LOOP, times=None, pace=0.03))
    talking = _run(subject, found, (turn(say("Went on."), match=_CONTINUED), turn(endless)))
    yield Check(
        what="shows its text while it streams",
        ok=any(isinstance(event, TextDelta) for event in talking.events),
        seen=f"{sum(isinstance(event, TextDelta) for event in talking.events)} pieces",
    )
    yield _abort(talking)
    resumed = [chat for chat in talking.chats[1:] if chat.text]
    yield Check(
        what="goes on after that",
        ok=bool(resumed) and talking.code == ExitCode.OK,
        seen=f"{len(resumed)} answer(s) more, exit status {talking.code}",
    )


def _hello(seen: _Seen) -> Check:
    connected = next((event for event in seen.events if isinstance(event, AgentConnected)), None)
    told = f"{connected.agent} {connected.version}".strip() if connected else seen.complaint or "nothing"
    return Check(what="says hello", ok=connected is not None, seen=told)


def _abort(seen: _Seen) -> Check:
    first = seen.chats[0] if seen.chats else None
    if first is None:
        return Check(what="can be stopped", ok=False, seen=seen.complaint or "it asked no model")
    how = f"{first.end} after {len(first.text)} characters"
    return Check(what="can be stopped", ok=first.end is End.CLIENT_CLOSED, seen=how)


def _run(subject: Subject, program: Path, turns: tuple[Turn, ...]) -> _Seen:
    with (
        tempfile.TemporaryDirectory(prefix="lg-", ignore_cleanup_errors=True) as folder,
        ScriptedModel(turns) as model,
    ):
        root = Path(folder)
        sandbox = subject.sandbox(root, model.url)
        runtime, record = root / "run", root / "events.jsonl"
        runtime.mkdir(mode=0o700)
        environment = sandbox.environment()
        # A program that is a script finds its interpreter beside itself, where one was installed with it.
        environment |= {
            "PATH": f"{program.parent}:{environment['PATH']}",
            "XDG_RUNTIME_DIR": str(runtime),
        }
        argv = (
            sys.executable, "-m", "loopguard_cli", "run", "--record", str(record), "--",
            str(program), *subject.arguments, "Do the task.",
        )  # fmt: skip
        code, complaint = _wait(argv, sandbox.project, environment)
        tried = sandbox.home / _TRIED
        ran = len(tried.read_text().splitlines()) if tried.exists() else 0
        return _Seen(code, complaint, _events(record), model.chats(), ran)


def _wait(argv: Sequence[str], folder: Path, environment: dict[str, str]) -> tuple[int | None, str]:
    with subprocess.Popen(
        argv,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            _, said = process.communicate(timeout=RUN_SECONDS)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            process.terminate()  # loopguard takes its agent along
            _, said = process.communicate()
            code = None
    lines = [line for line in said.splitlines() if line.strip()]
    return code, lines[-1] if lines else ""


class _Line(msgspec.Struct):
    event: AnyEvent | None = None


def _events(record: Path) -> list[Event]:
    if not record.exists():
        return []
    lines = [msgspec.json.decode(line, type=_Line) for line in record.read_bytes().splitlines()]
    return [line.event for line in lines if line.event is not None]
