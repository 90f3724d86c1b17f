"""A program on a terminal cannot be told from one that loopguard runs."""

from __future__ import annotations

import hashlib
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
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


@pytest.mark.parametrize("program", ["top", "htop"])
def test_a_screen_of_processes(desk: Desk, program: str) -> None:
    need(program)
    for guarded in (False, True):
        with desk.terminal([program], guarded=guarded) as terminal:
            terminal.wait_for(lambda text: "PID" in text and "USER" in text and len(text.splitlines()) > 20)
            terminal.send("q")
            assert terminal.wait() == 0
            assert terminal.changed_modes == []


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


# --- bytes --------------------------------------------------------------------------------------

MODES = (
    "\x1b[?1049h\x1b[?1000;1006h\x1b[?2004h\x1b[>1u\x1b[?1004h\x1b]0;title\x07\x1bPq#0;2;0;0;0\x1b\\"
    "\x1b[38;2;1;2;3mrgb\x1b[0m\x1b[48:5:200mcolon\x1b[m\x1b[6n\x1b[c\x1b]52;c;aGk=\x07\x1b_Gi=1;\x1b\\"
    "\x1b[<u\x1b[?2004l\x1b[?1006;1000;1004l\x1b[?1049l"
)


def test_colours_and_protocols_come_out_byte_by_byte(desk: Desk) -> None:
    palette = "".join(f"\x1b[48;5;{number}m \x1b[38;5;{number}m{number:3}" for number in range(256))
    everything = bytes(range(256))
    written = MODES.encode() + palette.encode() + everything + b"\xff\xfe\xc3"
    source = f"import os, tty; tty.setraw(1); data = {written!r}\nwhile data: data = data[os.write(1, data):]"
    argv = desk.script("colours.py", source)
    raw = []
    for guarded in (False, True):
        with desk.terminal(argv, guarded=guarded) as terminal:
            assert terminal.wait() == 0
            raw.append(terminal.raw)
    alone, guarded_bytes = raw
    assert alone == written
    assert guarded_bytes.startswith(written)


READER = """
import hashlib, os, sys, tty
tty.setraw(0)
count = int(sys.argv[1])
os.write(1, b"ready")
data = b""
while len(data) < count:
    data += os.read(0, 65536)
os.write(1, hashlib.sha256(data).hexdigest().encode() + b"!")
"""


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(bytes(range(256)) * 4, id="every byte"),
        pytest.param(b"\x1b[200~one\rtwo\x1b[201~\r", id="a paste"),
        pytest.param(b"\x1b[<0;10;5M\x1b[<0;10;5m\x1b[M !!", id="the mouse"),
        pytest.param(b"\x1b[97;5u\x1b[27;2;13~\x1b[1;5A\x1bOP\x1b[57414;1:3u", id="keyboard protocols"),
        pytest.param("\u00e9\u4f60\U0001f600\ud55c".encode(), id="characters"),
        pytest.param(b"\x1b[200~" + b"pasted line of text\r" * 52_430 + b"\x1b[201~", id="a paste of 1 MB"),
    ],
)
def test_keys_come_in_byte_by_byte(desk: Desk, keys: bytes) -> None:
    argv = [*desk.script("reader.py", READER), str(len(keys))]
    with desk.terminal(argv, guarded=True) as terminal:
        terminal.wait_for("ready")
        terminal.write(keys)
        terminal.wait_for(hashlib.sha256(keys).hexdigest(), timeout=60)
        assert terminal.wait() == 0


@pytest.mark.slow
def test_nothing_of_100_mb_is_lost(desk: Desk) -> None:
    size = 100 << 20
    source = f"""
import hashlib, os, tty
tty.setraw(1)
digest, left, block = hashlib.sha256(), {size}, bytes(range(256)) * 256
while left:
    piece = block[:left]
    digest.update(piece)
    left -= len(piece)
    while piece:
        piece = piece[os.write(1, piece):]
open("digest", "w").write(digest.hexdigest())
"""
    argv = desk.script("flood.py", source)
    digest, left = hashlib.sha256(), size
    with desk.drained(argv) as chunks:
        for chunk in chunks:
            digest.update(chunk[:left])
            left -= len(chunk[:left])
    assert left == 0
    assert digest.hexdigest() == (desk.project / "digest").read_text()


def test_a_slow_terminal_gets_the_last_words(desk: Desk) -> None:
    source = "import os, tty; tty.setraw(1)\nfor n in range(4000): os.write(1, b'%063d\\n' % n)"
    argv = desk.script("burst.py", source)
    with desk.drained(argv, when_done=True) as chunks:
        got = b"".join(chunks)
    assert [int(line) for line in got.split(b"\n")[:4000]] == list(range(4000))


# --- size, job control, signals -------------------------------------------------------------------


def test_the_size_is_there_before_the_program_and_follows(desk: Desk) -> None:
    source = (
        "import os, signal\n"
        "def tell(*_): os.write(1, ('now %s %s ' % os.get_terminal_size()).encode())\n"
        "signal.signal(signal.SIGWINCH, tell)\n"
        "tell()\n"
        "while True: signal.pause()\n"
    )
    with desk.terminal(desk.script("size.py", source), guarded=True) as terminal:
        terminal.wait_for("now 80 24")
        terminal.resize(30, 100)
        terminal.wait_for("now 100 30")


def test_suspended_and_continued_from_a_shell(desk: Desk) -> None:
    (desk.project / "file.txt").write_text("some text\n")
    with desk.terminal([need("bash"), "--norc", "--noprofile", "-i"], guarded=False) as shell:
        shell.wait_for(">")
        program = f"{sys.executable} -m loopguard_cli run -- {need('vim')} -u NONE -i NONE file.txt"
        shell.send(f"clear; {program}\r")
        shell.wait_for("some text")
        shell.send("\x1a")
        shell.wait_for("Stopped")
        shell.send("stty -a | grep -o ' -*icanon'; jobs\r")
        shell.wait_for(" icanon")
        shell.send("clear; fg\r")
        shell.wait_for(lambda text: text.startswith("some text"))
        shell.send("onew\x1b:wq\r")
        shell.wait_for(lambda text: text.splitlines()[-1].startswith(">"))
        assert (desk.project / "file.txt").read_text() == "some text\nnew\n"
        shell.send("exit\r")
        assert shell.wait() == 0
        assert shell.changed_modes == []


def test_a_program_that_is_stopped_by_somebody_else(desk: Desk) -> None:
    """Not from the keyboard, and without a shell: it goes on when it is told to."""
    source = "import os; print('pid', os.getpid(), flush=True); input(); print('done', flush=True)"
    argv = [need("bash"), "--norc", "--noprofile", "-ic"]
    inner = " ".join([sys.executable, "-m", "loopguard_cli", "run", "--", *desk.script("w.py", source)])
    with desk.terminal([*argv, f"{inner}; echo code $?"], guarded=False) as terminal:
        pid = terminal.wait_for(lambda text: re.search(r"pid (\d+)", text))
        assert isinstance(pid, re.Match)
        agent = psutil.Process(int(pid[1]))
        agent.suspend()
        agent.resume()
        terminal.send("\r")
        terminal.wait_for("done")


def test_control_c_is_the_programs(desk: Desk) -> None:
    source = (
        "import os, signal, sys\n"
        "def stop(*_): os.write(1, b'caught'); sys.exit(3)\n"
        "signal.signal(signal.SIGINT, stop); os.write(1, b'ready'); signal.pause()\n"
    )
    with desk.terminal(desk.script("int.py", source), guarded=True) as terminal:
        terminal.wait_for("ready")
        terminal.send("\x03")
        assert terminal.wait() == 3
        assert "caught" in terminal.text
        assert terminal.changed_modes == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_reach_the_program_and_its_status_comes_back(desk: Desk, number: signal.Signals) -> None:
    source = "import sys, tty; tty.setraw(0); print('\\x1b[?1000hready', flush=True); sys.stdin.read()"
    with desk.terminal(desk.script("sig.py", source), guarded=True) as terminal:
        terminal.wait_for("ready")
        terminal.process.send_signal(number)
        assert terminal.wait() == 128 + number
        assert terminal.changed_modes == []


def test_a_program_that_kills_itself(desk: Desk) -> None:
    argv = ["sh", "-c", "kill -SEGV $$"]
    with desk.terminal(argv, guarded=True) as terminal:
        assert terminal.wait() == 128 + signal.SIGSEGV


@pytest.mark.parametrize(
    ("argv", "code"), [(["true"], 0), (["sh", "-c", "exit 42"], 42), (["/nonexistent/x"], 127), (["/"], 126)]
)
def test_exit_statuses(desk: Desk, argv: list[str], code: int) -> None:
    with desk.terminal(argv, guarded=True) as terminal:
        assert terminal.wait() == code
        assert terminal.changed_modes == []


def test_the_terminal_goes_away(desk: Desk) -> None:
    source = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGHUP, lambda *_: open('hup', 'w').close())\n"
        "print('pid', os.getpid(), flush=True)\n"
        "while True: time.sleep(10)\n"
    )
    with desk.terminal(desk.script("hup.py", source), guarded=True) as terminal:
        found = terminal.wait_for(lambda text: re.search(r"pid (\d+)", text))
        assert isinstance(found, re.Match)
        agent = psutil.Process(int(found[1]))
        terminal.hang_up()
        terminal.process.wait(30)
        assert (desk.project / "hup").exists()
        assert gone([agent])


def test_loopguard_is_killed_outright(desk: Desk) -> None:
    """Its terminal is put right all the same, and nothing is left running on ours."""
    source = (
        "import os, signal, subprocess, sys, time, tty\n"
        "for number in (signal.SIGHUP, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)\n"
        "other = subprocess.Popen(['sleep', '1000'])\n"
        "tty.setraw(0)\n"
        "print('\\x1b[?1049h\\x1b[?1003h\\x1b[>1upids', os.getpid(), other.pid, '.', flush=True)\n"
        "while True: time.sleep(10)\n"
    )
    program = [sys.executable, "-m", "loopguard_cli", "run", "--", *desk.script("deaf.py", source)]
    shell = ["sh", "-c", '"$@"; echo ended; read line', "sh", *program]
    with desk.terminal(shell, guarded=False) as terminal:
        found = terminal.wait_for(lambda text: re.search(r"pids (\d+) (\d+)", text))
        assert isinstance(found, re.Match)
        processes = [psutil.Process(int(pid)) for pid in found.groups()]
        (loopguard,) = psutil.Process(terminal.process.pid).children()
        loopguard.kill()
        terminal.wait_for("ended")
        assert gone(processes)
        terminal.settle()
        assert terminal.changed_modes == []


def gone(processes: list[psutil.Process], seconds: float = 5.0) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    until = time.monotonic() + seconds
    while alive and time.monotonic() < until:
        alive = [p for p in alive if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    return not alive
