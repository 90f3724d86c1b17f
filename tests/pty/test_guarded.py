"""A program on a terminal cannot be told from one that loopguard runs."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.pty.guarded import Desk, need
from tests.pty.terminal import Terminal, emulated

Act = Callable[[Terminal], None]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def same(desk: Desk, argv: list[str], act: Act, leave: str) -> None:
    """Do the same with the program alone and guarded, until ``leave`` ends it.

    The screens before are equal cell by cell, colours, attributes and cursor included; and what stty says
    afterwards is what it said before.
    """
    pictures, codes = [], []
    for guarded in (False, True):
        with desk.terminal(argv, guarded=guarded) as terminal:
            act(terminal)
            pictures.append((terminal.rest(), terminal.text))
            terminal.send(leave)
            code = terminal.wait()
            codes.append(code if code >= 0 else 128 - code)
            assert terminal.changed_modes == []
            assert unsized(terminal.stty) == unsized(terminal.stty_before)
    (alone, text), (guarded_picture, guarded_text) = pictures
    assert guarded_text == text
    assert guarded_picture == alone
    assert codes[1] == codes[0]


def unsized(said: str) -> str:
    """What stty says, but for the size of the window, which is the person's to change."""
    return re.sub(r"rows \d+; columns \d+", "", said)


def seen(desk: Desk, argv: list[str], act: Act, leave: str) -> None:
    """What a guarded program wrote is what came out, byte by byte, and so is the screen, cell by cell.

    For programs whose screens are never twice the same: `script` between us and the program notes what the
    program writes, which a terminal of its own then shows.
    """
    noted = desk.project / "noted"
    words = [need("script"), "-q", "-f", "-c", shlex.join(argv), str(noted)]
    with desk.terminal(words, guarded=True) as terminal:
        act(terminal)
        picture = terminal.rest()
        written = between(noted.read_bytes())
        assert picture == emulated(written, len(picture.rows), len(picture.rows[0]))
        assert any(cell.fg != "default" or cell.reverse for row in picture.rows for cell in row)
        terminal.send(leave)
        assert terminal.wait() == 0
        said = terminal.raw.removeprefix(between(noted.read_bytes()))
        assert re.fullmatch(rb"(loopguard: [^\n]*\n)*", said)
        assert terminal.changed_modes == []
        assert unsized(terminal.stty) == unsized(terminal.stty_before)


def between(noted: bytes) -> bytes:
    """Without the lines of `script` itself."""
    return re.sub(
        rb"\n\nScript done on [^\n]*\n\Z|\nScript done on [^\n]*\n\Z", b"", noted.partition(b"\n")[2]
    )


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
        terminal.rest()
        terminal.resize(30, 100)
        terminal.rest()
        terminal.send(":set hlsearch ruler\r")
        (desk.project / "other.txt").unlink(missing_ok=True)
        terminal.send(":w! other.txt\r")
        terminal.wait_for("written")

    same(desk, [need("vim"), "-u", "NONE", "-N", "-i", "NONE", "file.txt"], act, ":q!\r")
    assert (desk.project / "other.txt").read_text().splitlines()[150] == "from here"


def test_less(desk: Desk) -> None:
    (desk.project / "file.txt").write_text("".join(f"line {number} \u00e9\u4f60\n" for number in range(500)))

    def act(terminal: Terminal) -> None:
        terminal.wait_for("line 3")
        terminal.send(" ")
        terminal.wait_for("line 40")
        terminal.send("/line 333\r")
        terminal.wait_for("line 350")
        terminal.rest()
        terminal.resize(30, 100)
        terminal.wait_for("line 356")

    same(desk, [need("less"), "file.txt"], act, "q")


SCREENS = {"top": ["-d", "999"], "htop": ["-d", "999"]}
"""Drawn when a key is pressed."""


@pytest.mark.parametrize("program", SCREENS)
def test_a_screen_of_processes(desk: Desk, program: str) -> None:
    desk.env["HTOPRC"] = str(desk.folder / "htoprc")

    def act(terminal: Terminal) -> None:
        terminal.wait_for("PID")
        terminal.send("h" if program == "top" else "?")
        terminal.wait_for("Help for" if program == "top" else "Memory bar:")
        terminal.send("q" if program == "top" else "\x1b")
        terminal.wait_for(lambda text: "PID" in text and "Help for" not in text)
        terminal.send("zxy" if program == "top" else "t")  # colours; as a tree
        terminal.resize(30, 100)

    seen(desk, [need(program), *SCREENS[program]], act, "q")


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
    config = desk.folder / "tmux.conf"
    shell = "set -g default-command \"exec env PS1='> ' sh\""
    config.write_text(f"set -g status-right ''\n{shell}\nset -g automatic-rename off\n")
    desk.env["TMUX_TMPDIR"] = str(desk.folder)

    def act(terminal: Terminal) -> None:
        terminal.wait_for(lambda text: text.startswith(">") and "[0]" in text)
        terminal.send("stty size; echo to''gether\r")
        terminal.wait_for("23 80\ntogether\n>")
        terminal.send("printf '\\033[31;44mred on blue\\033[0m '\r")
        terminal.wait_for("red on blue >")
        terminal.send("\x02%")
        terminal.wait_for("\u2502>")
        terminal.send("echo ri''ght\r")
        terminal.wait_for("\u2502right")
        terminal.send('\x02"')
        terminal.wait_for(lambda text: text.count("\u2502>") >= 3 and "\u251c" in text)
        terminal.send("echo be''low\r")
        terminal.wait_for("\u2502below")
        terminal.rest()
        terminal.resize(30, 100)
        terminal.wait_for(lambda text: len(text.splitlines()) == 30)

    same(desk, [need("tmux"), "-f", str(config), "new", "-n", "work"], act, "tmux kill-session\r")


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
        # Not `input`: it may miss what comes just before it begins to wait.
        terminal.send("import time; print('on'); time.sleep(1000)\r")
        terminal.wait_for("\non")
        terminal.send("\x03")
        terminal.wait_for("KeyboardInterrupt")

    same(desk, [sys.executable, "-I", "-q"], act, "\x04")


COLOURS = r"""
import sys
for n in range(256): print(f"\x1b[48;5;{n}m \x1b[0m\x1b[38;5;{n}m{n:3}\x1b[0m", end="\n" * (n % 16 == 15))
for n in range(0, 256, 4): print(f"\x1b[48;2;{n};{255 - n};128m \x1b[0m", end="")
print()
for n in (1, 3, 4, 5, 7, 9): print(f"\x1b[{n};3{n % 8}mattribute {n}\x1b[0m", end=" ")
print("\x1b[?25l\nready")
sys.stdin.readline()
print("\x1b[?25h")
"""


def test_colours(desk: Desk) -> None:
    def act(terminal: Terminal) -> None:
        terminal.wait_for("ready")

    same(desk, desk.script("colours.py", COLOURS), act, "\r")
