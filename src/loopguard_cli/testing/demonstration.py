"""The scenes of ``loopguard demo``: a scripted model misbehaves, and what came of it is verified.

Each scene is one ``loopguard run`` in folders of its own. Nothing is taken on trust: a scene holds
when files show what ran, and the model's own record shows what it read and when the agent hung up.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from loopguard_cli.core.measures import counted
from loopguard_cli.exit_codes import ExitCode
from loopguard_cli.testing import opencode
from loopguard_cli.testing.agent import sandbox as stand_in
from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.model import ScriptedModel
from loopguard_cli.testing.script import Call, Reply, Say, Turn, reply, say, turn

SCENE_SECONDS = 240.0
"""A scene that takes longer has failed; the slowest needs 15 where nothing else runs."""

_BLOCKED = "[ANTI-LOOP]"
_CONTINUED = "[ANTI-LOOP STREAM]"
_LOOP = "Let me look at the log to see why it failed. The log should tell what went wrong with the build. "


class Sandbox(Protocol):
    """Where an agent plays: `testing.opencode` or `testing.agent.sandbox`."""

    @property
    def home(self) -> Path: ...
    @property
    def project(self) -> Path: ...
    def environment(self) -> dict[str, str]: ...


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that had to be seen."""

    what: str
    ok: bool
    seen: str
    """The evidence."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One scene, played."""

    scene: str
    command: str
    exit_code: int | None
    """None: it did not end in time."""
    checks: tuple[Check, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


class Demonstrated(msgspec.Struct, frozen=True, kw_only=True):
    """All scenes, as ``demo --json`` prints them."""

    ok: bool
    agent: str
    program: str
    """Of the agent; empty for our own stand-in."""
    scenes: tuple[Outcome, ...]


class Played(msgspec.Struct, frozen=True):
    """What the checks of a scene look at."""

    exit_code: int | None
    chats: Sequence[Exchange]
    home: Path

    def runs(self, name: str) -> int:
        """How often the call that notes ``name`` ran."""
        file = self.home / name
        return len(file.read_text().splitlines()) if file.exists() else 0

    def read(self, step: int) -> str:
        """What the model read as the result of its reply number ``step``."""
        following = self.chats[step + 1 : step + 2]
        return next((result for e in following for result in e.request.results), "")


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    story: str
    prompt: str
    turns: tuple[Turn, ...]
    checks: Callable[[Played], list[Check]]

    @property
    def command(self) -> str:
        """What a person would type."""
        return f"loopguard run -- opencode run '{self.prompt}'"


class Cast(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that plays."""

    name: str
    program: Path | None = None
    """The real OpenCode; None: the stand-in."""

    def sandbox(self, root: Path, base_url: str) -> tuple[Sandbox, Path]:
        """Folders below ``root`` and the program to run in them."""
        if self.program is None:
            own = stand_in.Sandbox(root, base_url)
            return own, own.program
        return opencode.Sandbox(root, base_url), self.program


def play(scene: Scene, cast: Cast, show: Callable[[str], None]) -> Outcome:
    """Play one scene; ``show`` gets every line the run prints, as it comes."""
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="lg-", ignore_cleanup_errors=True) as folder,
        ScriptedModel(scene.turns) as model,
    ):
        root = Path(folder)
        sandbox, program = cast.sandbox(root, model.url)
        runtime = root / "run"
        runtime.mkdir(mode=0o700)
        environment = {**sandbox.environment(), "XDG_RUNTIME_DIR": str(runtime)}
        command = (sys.executable, "-m", "loopguard_cli", "run", "--", str(program), "run", scene.prompt)
        code = _run(command, sandbox.project, environment, show)
        played = Played(code, model.chats(), sandbox.home)
        return Outcome(
            scene=scene.title,
            command=scene.command,
            exit_code=code,
            checks=tuple(scene.checks(played)),
            seconds=round(time.monotonic() - started, 1),
        )


def _run(
    command: Sequence[str], folder: Path, environment: dict[str, str], show: Callable[[str], None]
) -> int | None:
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        assert process.stdout
        alarm = _Alarm(process)
        try:
            for line in process.stdout:
                show(line.rstrip())
            process.wait()
        finally:
            alarm.cancel()
            if process.poll() is None:
                process.terminate()  # loopguard takes its agent along
        return None if alarm.rang else process.returncode


class _Alarm:
    """Ends a run that does not end by itself."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.rang = False
        self._process = process
        self._timer = threading.Timer(SCENE_SECONDS, self._ring)
        self._timer.daemon = True
        self._timer.start()

    def _ring(self) -> None:
        self.rang = True
        self._process.terminate()

    def cancel(self) -> None:
        self._timer.cancel()


# --- the scenes ------------------------------------------------------------------------------


def _note(file: str) -> Call:
    # Not in the project, where the agent would report it as an edit, and so as progress.
    command = f"echo ran >> $HOME/{file}"
    return Call(tool="bash", args={"command": command, "description": f"Adds a line to {file}"})


def _endless() -> Reply:
    return reply(Say(text="I begin with the log. "), Say(text=_LOOP, times=None, pace=0.03, chunk=16))


def _blocked(played: Played) -> list[Check]:
    refusal = played.read(2)
    return [
        Check(
            what="the third identical call was not run",
            ok=played.runs("tests.log") == 2,
            seen=f"the call writes a line to a file each time; the file has {played.runs('tests.log')}",
        ),
        Check(what="the model was told why", ok=refusal.startswith(_BLOCKED), seen=refusal),
        Check(
            what="a different call went through",
            ok=played.runs("fix.log") == 1,
            seen=f"its file has {counted(played.runs('fix.log'), 'line')}",
        ),
        _ended(played, 0),
    ]


def _resumed(played: Played) -> list[Check]:
    first = played.chats[0] if played.chats else None
    second = played.chats[1] if len(played.chats) > 1 else None
    rest = "".join(m.text for m in second.request.messages if m.role == "assistant") if second else ""
    return [
        Check(
            what="the stream was cut off",
            ok=first is not None and first.end is End.CLIENT_CLOSED,
            seen=_cut_off(first),
        ),
        Check(
            what="the model was asked to go on with the task",
            ok=second is not None and second.request.user.startswith(_CONTINUED),
            seen=second.request.user if second else "it was not asked again",
        ),
        Check(
            what="it does not read its own loop again",
            ok=second is not None and rest.count(_LOOP.strip()) <= 1,
            seen=f"of its own words it was shown {len(rest)} characters",
        ),
        Check(
            what="the task was resumed",
            ok=played.runs("fix.log") == 1,
            seen=f"its next call ran {counted(played.runs('fix.log'), 'time')}",
        ),
        _ended(played, 0),
    ]


def _exhausted(played: Played) -> list[Check]:
    continued = [e for e in played.chats if e.request.user.startswith(_CONTINUED)]
    return [
        Check(
            what="every loop was cut off",
            ok=bool(played.chats) and all(e.end is End.CLIENT_CLOSED for e in played.chats),
            seen=", ".join(e.end for e in played.chats),
        ),
        Check(
            what="it was continued twice and no more",
            ok=len(continued) == 2,
            seen=counted(len(continued), "continuation"),
        ),
        _ended(played, ExitCode.LOOP),
    ]


def _cut_off(exchange: Exchange | None) -> str:
    if exchange is None or exchange.ended_at is None:
        return "it was not"
    third = exchange.sent_at(exchange.text.find(_LOOP) + 3 * len(_LOOP))
    if third is None:
        return f"{exchange.end} after {len(exchange.text)} characters"
    return f"{exchange.end} {1000 * (exchange.ended_at - third):.0f} ms after the third repetition"


def _ended(played: Played, code: int) -> Check:
    return Check(
        what=f"the run ended with exit status {code:d}",
        ok=played.exit_code == code,
        seen=f"it was {played.exit_code}",
    )


SCENES = (
    Scene(
        title="A call that repeats",
        story="The model runs the same command three times, then another one.",
        prompt="make the tests pass",
        turns=(turn(*[reply(_note("tests.log"))] * 3, reply(_note("fix.log")), say("The tests pass now.")),),
        checks=_blocked,
    ),
    Scene(
        title="Prose that goes in circles",
        story="The model announces and announces, and never acts.",
        prompt="find out why the build fails",
        turns=(
            turn(reply(_note("fix.log")), say("A header was missing; it builds now."), match=r"^\[ANTI-LOOP"),
            turn(_endless()),
        ),
        checks=_resumed,
    ),
    Scene(
        title="A model that cannot be helped",
        story="It loops again after each continuation, until the allowance is used up.",
        prompt="find out why the build fails",
        turns=(turn(_endless()),),
        checks=_exhausted,
    ),
)


def cast(explicit: str | None, *, only_stand_in: bool = False) -> Cast | None:
    """Who plays. None when ``explicit`` names a program that is not there."""
    program = None if only_stand_in else opencode.find(explicit)
    if program is None and explicit:
        return None
    name = "opencode" if program else "stand-in"
    return Cast(name=name, program=program)
