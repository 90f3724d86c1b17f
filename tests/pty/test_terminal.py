"""The pseudo-terminal itself."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pty.terminal import Terminal


def program(tmp_path: Path, source: str) -> Terminal:
    return Terminal([sys.executable, "-c", source], cwd=tmp_path, env=dict(os.environ), rows=10, columns=40)


@pytest.fixture
def echo(tmp_path: Path) -> Iterator[Terminal]:
    with program(
        tmp_path, "print('ready'); print('got', input()); print(open('/dev/tty').isatty())"
    ) as terminal:
        yield terminal


def test_shows_reads_and_ends(echo: Terminal) -> None:
    echo.wait_for("ready")
    echo.send("hello\r")
    assert echo.wait() == 0
    assert "got hello" in echo.text
    assert "True" in echo.text, "it has a controlling terminal"
    assert echo.changed_modes == []


def test_waiting_in_vain_shows_the_screen(echo: Terminal) -> None:
    echo.wait_for("ready")
    with pytest.raises(TimeoutError, match="ready"):
        echo.wait_for("never", timeout=0.01)


def test_waiting_for_a_program_that_ends(tmp_path: Path) -> None:
    with program(tmp_path, "print('bye')") as terminal, pytest.raises(TimeoutError, match="ended") as raised:
        terminal.wait_for("never", timeout=60)
    assert "bye" in str(raised.value)


def test_control_c_reaches_the_program(tmp_path: Path) -> None:
    # A handler of its own, and no traceback: an interrupt may find the interpreter anywhere.
    source = "import os, signal, time; signal.signal(signal.SIGINT, lambda *_: os._exit(7)); "
    with program(tmp_path, source + "print('ready', flush=True); time.sleep(60)") as terminal:
        terminal.wait_for("ready")
        terminal.send("\x03")
        assert terminal.wait() == 7


def test_size(tmp_path: Path) -> None:
    source = "import os; print(os.get_terminal_size()); input(); print(os.get_terminal_size())"
    with program(tmp_path, source) as terminal:
        terminal.wait_for("columns=40, lines=10")
        terminal.resize(12, 50)
        terminal.send("\r")
        terminal.wait_for("columns=50, lines=12")


@pytest.mark.parametrize(
    ("written", "left"),
    [
        (r"\x1b[?1049h\x1b[?25l", ["mode 1049 on", "mode 25 off"]),
        (r"\x1b[?1049h\x1b[?25l\x1b[?1049l\x1b[?25h", []),
        (r"\x1b[?1000;1006h\x1b[?1000l", ["mode 1006 on"]),
        (r"\x1b[>1u", ["keyboard protocol pushed 1 times"]),
        (r"\x1b[>1u\x1b[<u", []),
    ],
)
def test_modes_left_behind(tmp_path: Path, written: str, left: list[str]) -> None:
    with program(tmp_path, f"print('{written}')") as terminal:
        terminal.wait()
        assert terminal.changed_modes == left


def test_settings_left_behind(tmp_path: Path) -> None:
    with program(tmp_path, "import tty; tty.setraw(0)") as terminal:
        terminal.wait()
        assert terminal.changed_modes == ["terminal settings"]


def test_sequences_the_screen_does_not_know_leave_no_text(tmp_path: Path) -> None:
    source = r"import sys; [(sys.stdout.write(c), sys.stdout.flush()) for c in "
    source += r"'a\x1bPq\x1b\\b\x1b[>1uc\x1b[?2026$pd\x1b[38:2:1:2:3me\x1b]0;title\x07f']"
    with program(tmp_path, source) as terminal:
        terminal.wait()
        assert terminal.text == "abcdef"
