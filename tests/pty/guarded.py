"""Programs on a terminal, with loopguard in between and without."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from tests.pty.terminal import TAKE_TERMINAL, Terminal

LOOPGUARD = (sys.executable, "-m", "loopguard_cli", "run")


class Desk:
    """A folder to work in, and an environment that has nothing of the person's in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        runtime = folder / "runtime"
        runtime.mkdir(mode=0o700)
        self.env = {
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(runtime),
            "TMPDIR": str(runtime),
            "LANG": "C.UTF-8",
            "PS1": "> ",
            "ENV": "",
        }
        self.project = folder / "project"
        self.project.mkdir()

    @contextmanager
    def terminal(
        self, argv: Sequence[str], *, guarded: bool, options: Sequence[str] = ()
    ) -> Iterator[Terminal]:
        words = (*LOOPGUARD, *options, "--", *argv) if guarded else argv
        with Terminal(words, cwd=self.project, env=self.env, rows=24, columns=80) as terminal:
            yield terminal

    @contextmanager
    def drained(self, argv: Sequence[str], *, when_done: bool = False) -> Iterator[Iterator[bytes]]:
        """What a guarded program writes, as it comes; ``when_done``: read only once it has ended."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-IS", "-c", TAKE_TERMINAL, *LOOPGUARD, "--", *argv],
            cwd=self.project,
            env=self.env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        try:
            if when_done:
                supervisor = psutil.Process(process.pid)
                while not supervisor.children():
                    pass
                psutil.wait_procs(supervisor.children(), timeout=30)
            yield _chunks(master)
        finally:
            os.close(master)
            process.wait(30)

    def script(self, name: str, source: str) -> list[str]:
        """A Python program; its command line."""
        path = self.folder / name
        path.write_text(source)
        return [sys.executable, "-I", str(path)]


def _chunks(master: int) -> Iterator[bytes]:
    with suppress(OSError):  # EIO: nobody has it open any more
        while data := os.read(master, 1 << 16):
            yield data


def need(program: str) -> str:
    """The program's name; the test is skipped where it is not installed."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    return program
