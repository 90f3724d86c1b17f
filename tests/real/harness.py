"""Starts the real OpenCode, guarded or not, and collects what it did.

A `World` is one scripted model, one home and one project. Every process started in it carries the
world's mark in its environment, which is how `World.check_survivors` finds what outlived it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Protocol, Self, TypeVar

import psutil
from tests.pty.terminal import Terminal

from loopguard_cli.testing.conversation import Request
from loopguard_cli.testing.model import ScriptedModel
from loopguard_cli.testing.opencode import Sandbox
from loopguard_cli.testing.script import Call, Reply, Script, Turn

T = TypeVar("T")

LOOPGUARD = (sys.executable, "-m", "loopguard_cli")

RUN_SECONDS = 150.0
"""No scenario takes longer, not even beside others on a busy machine."""

_MARK = "LOOPGUARD_TEST_MARK"


class Result(NamedTuple):
    code: int
    out: str
    err: str


class Started:
    """A running program whose output is read all the time."""

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: str | None = None,
        more: bool = False,
    ) -> None:
        """``stdin`` is written at once; with ``more`` its standard input stays open until `hang_up`."""
        self.process = subprocess.Popen(
            [str(word) for word in argv],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        self._changed = threading.Condition()
        self._lines: dict[str, list[str]] = {"out": [], "err": []}
        streams = (("out", self.process.stdout), ("err", self.process.stderr))
        self._open = len(streams)
        self._readers = [threading.Thread(target=self._read, args=stream) for stream in streams]
        for reader in self._readers:
            reader.start()
        if stdin is not None:
            assert self.process.stdin
            self.process.stdin.write(stdin)
            self.process.stdin.flush()
            if not more:
                self.process.stdin.close()

    def _read(self, name: str, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                with self._changed:
                    self._lines[name].append(line)
                    self._changed.notify_all()
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def _text(self, name: str) -> str:
        return "".join(self._lines[name])

    @property
    def out(self) -> str:
        with self._changed:
            return self._text("out")

    @property
    def err(self) -> str:
        with self._changed:
            return self._text("err")

    def wait_for(self, text: str, *, stream: str = "err", timeout: float = 120.0) -> None:
        """Wait until the program wrote ``text``. Raises `TimeoutError` with all it wrote."""
        with self._changed:
            self._changed.wait_for(lambda: text in self._text(stream) or not self._open, timeout)
            if text not in self._text(stream):
                raise TimeoutError(f"{text!r} not written within {timeout:g} s\n{self._both()}")

    def hang_up(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, timeout: float = RUN_SECONDS) -> Result:
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"still running after {timeout:g} s\n{self._both()}") from error
        for reader in self._readers:
            reader.join(timeout)
        return Result(code, self._text("out"), self._text("err"))

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for reader in self._readers:
            reader.join()

    def __str__(self) -> str:
        with self._changed:
            return f"{self.process.args!r}\n{self._both()}"

    def _both(self) -> str:
        return f"--- out\n{self._text('out')}\n--- err\n{self._text('err')}"


class AgentSandbox(Protocol):
    """Folders for one agent, and the environment that keeps it in them."""

    def __init__(self, root: Path, base_url: str) -> None: ...
    @property
    def home(self) -> Path: ...
    @property
    def project(self) -> Path: ...
    def configure(self, keys: Mapping[str, Any]) -> None: ...
    def environment(self) -> dict[str, str]: ...


class World:
    """Use it as a context manager; leaving it ends what it started and removes its folders."""

    sandbox: type[AgentSandbox] = Sandbox
    """Where the agent lives."""

    def __init__(
        self, opencode: Path, behaviour: Script | Callable[[Request], Reply] | Sequence[Turn] = ()
    ) -> None:
        self.opencode = opencode
        self.model = ScriptedModel(behaviour)
        self._mark = uuid.uuid4().hex
        self._started: list[Started | Terminal] = []
        # Not below pytest's folder: its long names would not leave room for the path of a socket.
        self.root = Path(tempfile.mkdtemp(prefix="lg-"))
        self._sandbox = self.sandbox(self.root, self.model.url)
        self.runtime = self.root / "run"
        self.runtime.mkdir(mode=0o700)
        self.traces = self.root / "traces"
        self.traces.mkdir()

    def __enter__(self) -> Self:
        self.model.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.check_survivors()
            else:
                for report in self.home.rglob("loopguard-crash-*"):
                    error.add_note(report.read_text())
                for started in self._started:
                    error.add_note(started.text if isinstance(started, Terminal) else str(started))
        finally:
            for process in self.processes():
                process.kill()
            for started in self._started:
                started.close()
            self.model.close()
            shutil.rmtree(self.root, ignore_errors=True)

    # --- folders -----------------------------------------------------------------------------

    @property
    def project(self) -> Path:
        return self._sandbox.project

    @property
    def home(self) -> Path:
        return self._sandbox.home

    def count(self, name: str) -> int:
        """How often a call of `trace` with this name ran."""
        file = self.traces / name
        return len(file.read_text().splitlines()) if file.exists() else 0

    def script(self, name: str, body: str) -> Path:
        """A shell script that can be started."""
        file = self.root / name
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
        return file

    def configure(self, **keys: Any) -> None:
        """Add keys to the person's own OpenCode configuration."""
        self._sandbox.configure(keys)

    # --- programs ----------------------------------------------------------------------------

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        environment = self._sandbox.environment()
        environment["PATH"] = f"{self.opencode.parent}{os.pathsep}{environment['PATH']}"
        return {
            **environment,
            "XDG_RUNTIME_DIR": str(self.runtime),
            "TRACES": str(self.traces),
            _MARK: self._mark,
            **(extra or {}),
        }

    def start(
        self,
        *argv: str | Path,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        more: bool = False,
    ) -> Started:
        started = Started(argv, cwd=self.project, env=self.environment(env), stdin=stdin, more=more)
        self._started.append(started)
        return started

    def run(
        self, *argv: str | Path, env: Mapping[str, str] | None = None, stdin: str | None = None
    ) -> Result:
        return self.start(*argv, env=env, stdin=stdin).wait()

    @staticmethod
    def guard_command(*agent: str | Path, options: Sequence[str] = ()) -> list[str | Path]:
        return [*LOOPGUARD, "run", *options, "--", *agent]

    def guard(
        self,
        *agent: str | Path,
        options: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
    ) -> Started:
        """``loopguard run <options> -- <agent>`` without a terminal."""
        return self.start(*self.guard_command(*agent, options=options), env=env, stdin=stdin)

    def ask(self, *command: str) -> Result:
        """Another ``loopguard`` command, as from a second terminal in the project."""
        return self.run(*LOOPGUARD, *command)

    def screen(self, *argv: str | Path, env: Mapping[str, str] | None = None) -> Terminal:
        terminal = Terminal(argv, cwd=self.project, env=self.environment(env))
        self._started.append(terminal)
        return terminal

    def guard_screen(
        self, *agent: str | Path, options: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> Terminal:
        """``loopguard run <options> -- <agent>`` on a terminal of its own."""
        return self.screen(*self.guard_command(*agent, options=options), env=env)

    def wait_until(self, holds: Callable[[], bool], timeout: float = 120.0) -> None:
        """For what only the file system or the process table shows. Raises `TimeoutError`."""
        deadline = time.monotonic() + timeout
        tick = threading.Event()
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError(f"did not come true within {timeout:g} s")
            tick.wait(0.02)

    # --- processes ---------------------------------------------------------------------------

    def processes(self) -> list[psutil.Process]:
        """Every live process of this world."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def check_survivors(self, timeout: float = 5.0) -> None:
        """Fails if anything is still there after ``timeout`` seconds, in which it may go by itself."""
        waited = psutil.wait_procs(self.processes(), timeout=timeout)[1]
        left = [process for process in waited if self._is_ours(process)]  # and not one that nobody reaps
        assert not left, f"survived the run: {[_cmdline(process) for process in left]}"

    def named(self, name: str) -> list[psutil.Process]:
        """The processes of this world whose program, or its first argument, has this file name."""
        return [p for p in self.processes() if name in [Path(word).name for word in _cmdline(p)[:2]]]

    def agent(self) -> psutil.Process:
        """The one OpenCode process."""
        (process,) = [p for p in self.processes() if _program(p).startswith("opencode")]
        return process

    def supervisor(self) -> psutil.Process:
        """The one loopguard process."""
        (process,) = [p for p in self.processes() if _cmdline(p)[:3] == list(LOOPGUARD)]
        return process

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get(_MARK) == self._mark and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False


def _program(process: psutil.Process) -> str:
    """The file name of what a process really executes."""
    try:
        return Path(process.exe()).name
    except psutil.Error:
        return ""


def _cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def trace(name: str, **more: Any) -> Call:
    """A shell call without output whose runs `World.count` counts.

    The trace lies outside the project, where OpenCode would take it for an edit of the task.
    """
    return Call(
        tool="bash", args={"command": f"echo x >> $TRACES/{name}", "description": "Does one step", **more}
    )
