"""Tries an agent that is installed: does it say hello, is its gate really asked, can it be stopped?

Two guarded runs of the real agent against a scripted model, offline and in folders of their own: one
that calls the same thing three times, one that never stops talking. What is reported is what was seen:
the events of the run, what ran, and how the model's answers ended.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from loopguard_cli.core.events import AgentConnected, AnyEvent, Event, TextDelta, ToolAsked
from loopguard_cli.core.measures import counted
from loopguard_cli.exit_codes import ExitCode
from loopguard_cli.testing.demonstration import Check
from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.model import ScriptedModel
from loopguard_cli.testing.script import Reply, Say, Turn, Wait, reply, say, turn
from loopguard_cli.testing.subjects import SUBJECTS, Subject

RUN_SECONDS = 90.0
"""A run that takes longer has failed; most need less than a tenth of it."""

INSTALLED = "is installed"
"""The first check; without it there are no others."""

_LOOP = "Let me look at the log to see why it failed. "
_CONTINUED = r"(?m)^\[ANTI-LOOP"
_TASK = "Do the task."
_TRIED = "tried.log"
_THINKING = 1.0
"""Seconds that a model takes for an answer, where an abort has to come before the next call."""
_NOTHING: Reply = say("Nothing.")


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
    found = shutil.which(str(program) if program else subject.program)
    if found is None:
        yield Check(what=INSTALLED, ok=False, seen=f"no {subject.program} on PATH")
        return
    trial = _Trial(subject, Path(found).absolute())
    yield from trial.of_calls()
    yield from trial.of_text()


class _Trial:
    """One agent, tried twice."""

    def __init__(self, subject: Subject, program: Path) -> None:
        self._subject = subject
        self._program = program

    def of_calls(self) -> Iterator[Check]:
        subject = self._subject
        command = subject.shell(f"echo ran >> $HOME/{_TRIED}")
        if subject.gated:
            times, again = 3, reply(command)
        else:
            times, again = 6, reply(Wait(seconds=_THINKING), command)
        # Some agents end their turn with a refusal, and what we say of it begins the next.
        seen = self._run(turn(say("Went on."), match=_CONTINUED), turn(*[again] * times, say("Done.")))
        yield _hello(seen)
        if not subject.gated:
            yield Check(
                what="is cut off before a fourth equal call",
                ok=2 <= seen.ran <= 3,
                seen=f"it asks nobody; of {times} equal calls {seen.ran} ran",
            )
            return
        asked = sum(isinstance(event, ToolAsked) for event in seen.events)
        yield Check(what="asks before a call", ok=asked > 0, seen=f"{counted(asked, 'call')} asked about")
        yield Check(
            what="does not execute a third equal call",
            ok=seen.ran == 2,
            seen=f"of {times} equal calls {seen.ran} ran",
        )

    def of_text(self) -> Iterator[Check]:
        endless = reply(Say(text=_LOOP, times=None, pace=0.03))
        seen = self._run(turn(say("Went on."), match=_CONTINUED), turn(endless))
        pieces = sum(isinstance(event, TextDelta) for event in seen.events)
        yield Check(what="shows its text while it streams", ok=pieces > 0, seen=counted(pieces, "piece"))
        yield _abort(seen)
        resumed = [chat for chat in seen.chats[1:] if chat.text]
        yield Check(
            what="goes on after that",
            ok=bool(resumed) and seen.code == ExitCode.OK,
            seen=f"{counted(len(resumed), 'answer')} more, exit status {seen.code}",
        )

    def _run(self, *turns: Turn) -> _Seen:
        subject, program = self._subject, self._program
        aside = (turn(_NOTHING, match=subject.aside),) if subject.aside else ()
        with (
            tempfile.TemporaryDirectory(prefix="lg-", ignore_cleanup_errors=True) as folder,
            ScriptedModel((*aside, *turns)) as model,
        ):
            root = Path(folder)
            sandbox = subject.sandbox(root, model.url)
            if subject.configuration:
                sandbox.configure(subject.configuration)
            runtime, record = root / "run", root / "events.jsonl"
            runtime.mkdir(mode=0o700)
            environment = sandbox.environment()
            # A program that is a script finds its interpreter beside itself, where one was installed with it.
            environment |= {
                "PATH": f"{program.parent}:{environment['PATH']}",
                "XDG_RUNTIME_DIR": str(runtime),
            }
            options = (*subject.options, "--record", str(record))
            prompt = () if subject.piped else (_TASK,)
            argv = (
                sys.executable, "-m", "loopguard_cli", "run", *options, "--",
                str(program), *subject.arguments, *prompt,
            )  # fmt: skip
            code, complaint = _wait(argv, sandbox.project, environment, _TASK if subject.piped else "")
            tried = sandbox.home / _TRIED
            ran = len(tried.read_text().splitlines()) if tried.exists() else 0
            chats = [chat for chat in model.chats() if not subject.is_aside(chat.request.user)]
            return _Seen(code, complaint, _events(record), chats, ran)


def _hello(seen: _Seen) -> Check:
    connected = next((event for event in seen.events if isinstance(event, AgentConnected)), None)
    told = f"{connected.agent} {connected.version}".strip() if connected else seen.complaint or "nothing"
    return Check(what="says hello", ok=connected is not None, seen=told)


def _abort(seen: _Seen) -> Check:
    first = seen.chats[0] if seen.chats else None
    if first is None:
        return Check(what="can be stopped", ok=False, seen=seen.complaint or "it asked no model")
    how = f"{first.end} after {counted(len(first.text), 'character')}"
    return Check(what="can be stopped", ok=first.end is End.CLIENT_CLOSED, seen=how)


def _wait(
    argv: Sequence[str], folder: Path, environment: dict[str, str], typed: str
) -> tuple[int | None, str]:
    with subprocess.Popen(
        argv,
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE if typed else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            _, said = process.communicate(typed or None, timeout=RUN_SECONDS)
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
