"""The line at the bottom of the terminal: what the agent writes stands as if there were no line."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyte
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.pty.terminal import Terminal

from loopguard_cli.agents import choose
from loopguard_cli.agents.base import BridgeAddress, Setup
from loopguard_cli.runtime.telling import statusline
from loopguard_cli.runtime.telling.statusline import MIN_ROWS, StatusLine, possible
from loopguard_cli.testing.agent import sandbox
from loopguard_cli.testing.model import ScriptedModel
from loopguard_cli.testing.script import Call, reply, say, turn

ROWS, COLUMNS = 14, 60


class Window:
    """A pseudo-terminal, what is on it, and a line at its bottom."""

    def __init__(self) -> None:
        self._master, self.fd = pty.openpty()
        attributes = termios.tcgetattr(self.fd)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(self.fd, termios.TCSANOW, attributes)
        self.screen = pyte.HistoryScreen(COLUMNS, ROWS, history=1000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self.line = StatusLine(self.fd, plain=True)
        self.line._foreground = lambda: True  # type: ignore[method-assign]
        self.resize(ROWS, COLUMNS)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def write(self, text: str) -> None:
        os.write(self.fd, text.replace("\n", "\r\n").encode())
        self.look()

    def show(self, text: str) -> list[str]:
        self.line.show(text)
        return self.look()

    def hide(self) -> list[str]:
        self.line.hide()
        return self.look()

    def look(self) -> list[str]:
        while select.select([self._master], [], [], 0)[0]:
            self._stream.feed(os.read(self._master, 65536))
        return [line.rstrip() for line in self.screen.display]

    def wait_for(self, wanted: Callable[[list[str]], bool]) -> list[str]:
        """For what another process draws."""
        until = time.monotonic() + 30
        while not wanted(lines := self.look()):
            assert time.monotonic() < until, lines
            select.select([self._master], [], [], 1.0)
        return lines

    def close(self) -> None:
        self.line.hide()
        os.close(self._master)
        os.close(self.fd)


@pytest.fixture(autouse=True)
def _collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Here is no run that collects what was started for a line with its orphans."""
    started: list[int] = []

    class Heir(statusline._Heir):
        def __init__(self, fd: int, row: int) -> None:
            super().__init__(fd, row)
            started.append(self._process.pid)

    monkeypatch.setattr(statusline, "_Heir", Heir)
    yield
    for pid in started:
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


@pytest.fixture
def window(_collected: None) -> Iterator[Window]:
    made = Window()
    yield made
    made.close()


def test_it_has_the_last_row_and_no_other(window: Window) -> None:
    window.write("first\nsecond")
    shown = window.show("3 calls")
    assert shown == ["first", "second", *[""] * (ROWS - 3), "3 calls"]
    # The agent was in the middle of a line, and still is.
    window.write(", goes on\n")
    assert window.show("4 calls") == ["first", "second, goes on", *[""] * (ROWS - 3), "4 calls"]
    assert window.hide() == ["first", "second, goes on", *[""] * (ROWS - 2)]
    assert window.screen.margins is None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("ab \n", max_size=40) | st.just(None), max_size=40))
def test_what_the_agent_writes_stands_as_without_it(written: list[str | None]) -> None:
    """None: the line is drawn anew."""
    window = Window()
    plain = pyte.HistoryScreen(COLUMNS, ROWS - 1, history=1000, ratio=0.5)
    stream = pyte.ByteStream(plain)
    try:
        window.show("begin")
        for piece in written:
            if piece is None:
                shown = window.show("here")
                assert shown[-1] == "here"
            else:
                window.write(piece)
                stream.feed(piece.replace("\n", "\r\n").encode())
        expected = [line.rstrip() for line in plain.display]
        assert window.look()[:-1] == expected
        assert (window.screen.cursor.y, window.screen.cursor.x) == (plain.cursor.y, plain.cursor.x)
        assert window.hide() == [*expected, ""]
    finally:
        window.close()


def test_a_resized_window_has_it_in_its_last_row_and_nowhere_else(window: Window) -> None:
    window.write("text\n")
    window.show("calls")
    window.resize(ROWS + 6, COLUMNS)
    window.hide()  # as the signal has it
    assert window.show("calls") == ["text", *[""] * (ROWS + 4), "calls"]
    window.hide()
    window.resize(ROWS, COLUMNS + 20)
    assert [line for line in window.show("calls") if line][-1:] == ["calls"]
    assert window.look().count("calls") == 1


def test_in_a_small_window_every_row_is_the_agents(window: Window) -> None:
    window.resize(MIN_ROWS - 1, COLUMNS)
    assert window.show("calls") == [""] * (MIN_ROWS - 1)
    window.resize(ROWS, COLUMNS)
    window.show("calls")
    window.resize(MIN_ROWS - 1, COLUMNS)
    assert "calls" not in window.show("calls")
    assert window.screen.margins is None


def test_it_is_cut_to_the_width(window: Window) -> None:
    assert window.show("x" * 500)[-1] == "x" * (COLUMNS - 1)


def test_wide_characters_count_twice(window: Window) -> None:
    # pyte keeps an empty cell behind a wide character, and shows it as nothing.
    assert window.show("호" * 500)[-1] == "호" * ((COLUMNS - 1) // 2)


def test_a_halted_terminal_halts_nobody(window: Window) -> None:
    termios.tcflow(window.fd, termios.TCOOFF)
    window.line.show("calls")  # would block
    termios.tcflow(window.fd, termios.TCOON)
    assert window.show("calls")[-1] == "calls"


def test_what_a_halted_terminal_does_not_take_is_given_back_later(window: Window) -> None:
    window.write("text\n")
    window.show("calls")
    termios.tcflow(window.fd, termios.TCOOFF)
    window.line.hide()  # would block
    assert window.look()[-1] == "calls"
    termios.tcflow(window.fd, termios.TCOON)
    assert window.wait_for(lambda lines: lines[-1] == "") == ["text", *[""] * (ROWS - 1)]
    assert window.screen.margins is None


def test_it_has_no_colours_of_the_agents(window: Window) -> None:
    window.write("text\n\x1b[41m")
    window.show("calls")
    rows = window.screen.buffer
    assert {cell.bg for cell in rows[ROWS - 1].values()} == {"default"}
    window.hide()
    assert all(cell.bg == "default" for row in rows.values() for cell in row.values())
    window.resize(ROWS + 2, COLUMNS)
    window.show("calls")
    window.resize(ROWS + 4, COLUMNS)
    window.hide()
    assert all(cell.bg == "default" for row in rows.values() for cell in row.values())
    # The agent goes on in its own.
    window.write("red")
    assert rows[1][0].bg == "red"


def test_an_agent_that_sets_the_region_back_loses_nothing(window: Window) -> None:
    written = [f"line {count}" for count in range(4 * ROWS)]
    for line in written:
        if line == f"line {3 * ROWS}":
            window.write("\x1b7\x1b[r\x1b8")  # the rest of this line goes where ours is
        window.write(f"{line}\n")
        assert window.show("calls")[-1] == "calls"
    shown = window.hide()
    assert window.screen.margins is None
    gone = ["".join(row[x].data for x in range(COLUMNS)).rstrip() for row in window.screen.history.top]
    kept = [line for line in [*gone, *shown] if line]
    assert [line for line in kept if line in written] == written
    assert len(kept) <= len(written) + 1, "ours is left over once at most"


def test_of_two_runs_one_has_it(window: Window) -> None:
    other = StatusLine(window.fd, plain=True)
    other._foreground = lambda: True  # type: ignore[method-assign]
    window.show("first")
    other.show("second")
    assert window.look()[-1] == "first"
    window.hide()
    other.show("second")
    assert window.show("first")[-1] == "second"
    other.hide()
    assert window.look() == [""] * ROWS
    assert window.screen.margins is None


KILLED = """
import os, signal
from loopguard_cli.runtime.telling.statusline import StatusLine
line = StatusLine(0, plain=True)
line._foreground = lambda: True
line.show("calls")
os.kill({}, signal.SIGKILL)
"""


@pytest.mark.parametrize("whom", ["os.getpid()", "-os.getpgrp()"], ids=["process", "group"])
def test_a_run_that_is_killed_outright_gives_it_back(whom: str, window: Window) -> None:
    window.write("first\nsecond")
    argv = [sys.executable, "-c", KILLED.format(whom)]
    code = subprocess.run(argv, stdin=window.fd, check=False, start_new_session=True).returncode
    assert code == -signal.SIGKILL
    # The agent may still run, and is in the middle of a line.
    assert window.wait_for(lambda lines: lines[-1] == "") == ["first", "second", *[""] * (ROWS - 2)]
    assert window.screen.margins is None
    window.write(", goes on")
    assert window.look()[1] == "second, goes on"


def test_without_what_would_give_it_back_it_is_taken_anew(window: Window) -> None:
    window.show("calls")
    heir = window.line._heir
    assert heir is not None
    heir._process.kill()
    heir._process.wait()
    window.show("calls")
    assert window.line._heir is not heir
    assert window.look()[-1] == "calls"


def test_another_job_keeps_its_terminal(window: Window) -> None:
    del window.line._foreground
    assert window.show("calls") == [""] * ROWS


def test_only_where_a_person_looks(window: Window, tmp_path: Path) -> None:
    usual = {"TERM": "xterm"}
    assert possible(window.fd, usual)
    assert not possible(window.fd, {**usual, "CI": "true"})
    assert not possible(window.fd, {"TERM": "dumb"})
    assert not possible(window.fd, {})
    with (tmp_path / "log").open("w") as log:
        assert not possible(log.fileno(), usual)
        assert possible(window.fd, usual, output=log.fileno())
    # Whatever reads it may have the terminal for itself.
    reading, writing = os.pipe()
    assert not possible(window.fd, usual, output=writing)
    os.close(reading)
    os.close(writing)
    attributes = termios.tcgetattr(window.fd)
    attributes[4] = attributes[5] = termios.B1200
    termios.tcsetattr(window.fd, termios.TCSANOW, attributes)
    assert not possible(window.fd, usual)


def _last(text: str) -> str:
    return (text.splitlines() or [""])[-1]


HELD = "echo began; until [ -e go ]; do sleep 0.1; done; echo ended"


@pytest.mark.parametrize("option", [[], ["--set", "terminal.status_line=false"]], ids=["on", "off"])
def test_a_run(option: list[str], tmp_path: Path) -> None:
    """From a shell, suspended and let go on; what is left is what the agent and we have said."""
    with ScriptedModel((turn(reply(Call(tool="bash", args={"command": HELD})), say("All done.")),)) as model:
        box = sandbox.Sandbox(tmp_path, model.url)
        (tmp_path / "run").mkdir(mode=0o700)
        environment = {**box.environment(), "XDG_RUNTIME_DIR": str(tmp_path / "run"), "PS1": "sh> "}
        command = f"{sys.executable} -m loopguard_cli run {' '.join(option)} -- {box.program} run fix"
        argv = ["bash", "--norc", "--noprofile", "-i"]
        with Terminal(argv, cwd=box.project, env=environment, rows=20, columns=100) as shell:
            shell.wait_for("sh>")
            shell.send(f"clear; {command}\r")
            if option:
                shell.wait_for("until [ -e go ]")
            else:
                told = "loopguard: 1 tool call, 0 blocked"
                shell.wait_for(lambda text: _last(text).startswith(told) and text.count("\n") == 19)
                shell.send("\x1a")
                shell.wait_for("Stopped")
                shell.wait_for(lambda text: told not in text)
                shell.send("clear; fg\r")
                shell.wait_for(lambda text: _last(text).startswith(told))
            (box.project / "go").touch()
            shell.wait_for(lambda text: "All done." in text and text.endswith("sh>"))
            lines = shell.text.splitlines()
            assert lines[-2] == "loopguard: 1 tool call, 0 blocked, 0 turns cut off, 0 continuations"
            assert lines.count(lines[-2]) == 1
            assert (b"\x1b[1;19r" in shell.raw) == (not option)
            shell.send("exit\r")
            assert shell.wait() == 0
            assert shell.changed_modes == []


@pytest.mark.parametrize(
    ("argv", "lines"),
    [
        ("opencode run fix", True),
        ("opencode serve", True),
        ("opencode github install", False),
        ("opencode acp", False),
        ("pi -p fix", True),
        ("codex exec fix", True),
        ("claude -p fix", True),
        ("gemini -p fix", False),
    ],
)
def test_only_below_whole_lines(argv: str, lines: bool) -> None:
    setup = Setup(argv=tuple(argv.split()), interactive=True)
    assert choose(setup).launch({}, BridgeAddress(token="word", folder="/f", unix="/s")).whole_lines is lines
