"""A program on a terminal cannot be told from one that loopguard runs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pty.guarded import Desk, need
from tests.pty.terminal import Terminal

Act = Callable[[Terminal], None]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def same(desk: Desk, argv: list[str], act: Act, leave: str, mask: str = r"\Z.") -> None:
    """Do the same with the program alone and guarded: the screens before ``leave`` ends it are equal."""
    screens, codes = [], []
    for guarded in (False, True):
        with desk.terminal(argv, guarded=guarded) as terminal:
            act(terminal)
            screens.append(re.sub(mask, "#", terminal.text))
            terminal.send(leave)
            code = terminal.wait()
            codes.append(code if code >= 0 else 128 - code)
            assert terminal.changed_modes == []
    assert screens[1] == screens[0]
    assert codes[1] == codes[0]


# --- well-known programs ------------------------------------------------------------------------


def test_vim(desk: Desk) -> None:
    text = "".join(f"line {number}\n" for number in range(200))
    (desk.project / "file.txt").write_text(text)

    def act(terminal: Terminal) -> None:
        terminal.wait_for("line 3")
        terminal.send("150Gofrom here\x1b:set nu\r")
        terminal.wait_for("151 from here")
        terminal.send("/line 42\r")
        terminal.wait_for(" 43 line 42")
        terminal.send(":w! other.txt\r")
        terminal.wait_for("written")

    same(
        desk,
        [need("vim"), "-u", "NONE", "-N", "-i", "NONE", "file.txt"],
        act,
        ":q!\r",
        mask=r'"other.*written',
    )
    assert (desk.project / "other.txt").read_text().splitlines()[150] == "from here"


def test_less(desk: Desk) -> None:
    (desk.project / "file.txt").write_text("".join(f"line {number} \u00e9\u4f60\n" for number in range(500)))

    def act(terminal: Terminal) -> None:
        terminal.wait_for("line 3")
        terminal.send(" ")
        terminal.wait_for("line 40")
        terminal.send("/line 333\r")
        terminal.wait_for("line 350")

    same(desk, [need("less"), "file.txt"], act, "q")


_FIGURES = r"\[[^\]]*\]|(?:[ :.,%]|\d[KMGT]?)+"
"""What differs from moment to moment on a screen of processes: bars, figures, and the room they take."""
SCREENS = {
    "top": ["-d", "999", "-p"],
    "htop": ["--no-color", "-d", "999", "-p"],
}
"""Frozen: drawn when a key is pressed, of one process that sleeps."""


@pytest.mark.parametrize("program", SCREENS)
def test_a_screen_of_processes(desk: Desk, program: str) -> None:
    desk.env["HTOPRC"] = str(desk.folder / "htoprc")
    with subprocess.Popen(["sleep", "1000"]) as sleeper:

        def act(terminal: Terminal) -> None:
            # Both may fill in what they know of a process a moment after their first picture.
            terminal.wait_for(lambda text: "PID" in text and "sleep" in text)
            terminal.send("h" if program == "top" else "?")
            terminal.wait_for("Help for" if program == "top" else "Memory bar:")
            terminal.send("q" if program == "top" else "\x1b")
            # The process is the last that one of them draws, its keys the last of the other.
            shown = rf"(?s){sleeper.pid} [^\n]*sleep" + (".*Quit$" if program == "htop" else "")
            terminal.wait_for(lambda text: re.search(shown, text))

        try:
            same(desk, [need(program), *SCREENS[program], str(sleeper.pid)], act, "q", mask=_FIGURES)
        finally:
            sleeper.kill()


def test_what_stty_says_is_the_same_before_and_after(desk: Desk) -> None:
    """Also where the person has settings of their own, and the program leaves others behind."""
    (desk.project / "file.txt").write_text("some text\n")
    vim = f"{sys.executable} -m loopguard_cli run -- {need('vim')} -u NONE -i NONE file.txt"
    shell = f"stty intr ^X -ixon erase ^H; stty -a >before; {vim}; stty -a >after; cat after; read line"
    with desk.terminal(["sh", "-c", shell], guarded=False) as terminal:
        terminal.wait_for("some text")
        terminal.send(":q!\r")
        terminal.wait_for("intr = ^X")
        terminal.send("\r")
        assert terminal.wait() == 0
    before, after = ((desk.project / name).read_text() for name in ("before", "after"))
    assert after == before
    assert "-ixon" in before


def test_tmux(desk: Desk) -> None:
    desk.env["TMUX_TMPDIR"] = str(desk.folder)
    for guarded in (False, True):
        argv = [need("tmux"), "-L", f"guarded-{guarded}", "-f", "/dev/null", "new", "sh"]
        with desk.terminal(argv, guarded=guarded) as terminal:
            terminal.wait_for("[0]")
            terminal.send("stty size; echo to''gether\r")
            terminal.wait_for("23 80\ntogether")
            terminal.send("\x02%")
            terminal.wait_for("\u2502")
            terminal.send("exec echo bye; read x\r")
            terminal.wait_for(lambda text: "\u2502" not in text)
            terminal.send("exit\r")
            assert terminal.wait() == 0
            assert terminal.changed_modes == []


def test_a_shell_with_line_editing(desk: Desk) -> None:
    def act(terminal: Terminal) -> None:
        terminal.wait_for(">")
        terminal.send("echo one two\x01\x1bf\x0b two\x05 three\r")  # ^A, M-f, ^K, ^E
        terminal.wait_for("two three\n>")
        terminal.send("\x12two")  # search backwards
        terminal.wait_for("`two': echo two three")
        terminal.send("\x07\x1b[A\r")
        terminal.wait_for(lambda text: text.count("two three\n") >= 3 and text.endswith(">"))

    same(desk, [need("bash"), "--norc", "--noprofile", "-i"], act, "exit 5\r")


def test_a_python_shell(desk: Desk) -> None:
    def act(terminal: Terminal) -> None:
        terminal.wait_for(">>>")
        terminal.send("6 * 7\r")
        terminal.wait_for("42\n>>>")
        terminal.send("input('? ')\r")
        terminal.wait_for("\n?")
        terminal.send("\x03")
        terminal.wait_for("KeyboardInterrupt")

    same(desk, [sys.executable, "-I", "-q"], act, "\x04")
