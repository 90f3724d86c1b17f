"""Sizes, stops and signals mean to a guarded program what they mean to it alone."""

from __future__ import annotations

import re
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.pty.guarded import Desk, need


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


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


ANSWERING = "import os; print('pid', os.getpid(), flush=True); input(); print('done', flush=True)"


@pytest.mark.parametrize("wait", [True, False], ids=["for long", "for a moment"])
def test_a_program_that_is_stopped_by_somebody_else(desk: Desk, *, wait: bool) -> None:
    """Not from the keyboard, and without a shell: it goes on when it is told to, and loopguard with it."""
    with desk.terminal(desk.script("w.py", ANSWERING), guarded=True) as terminal:
        found = terminal.wait_for(lambda text: re.search(r"pid (\d+)", text))
        assert isinstance(found, re.Match)
        agent, loopguard = psutil.Process(int(found[1])), psutil.Process(terminal.process.pid)
        agent.suspend()
        if wait:
            until = time.monotonic() + 30
            while loopguard.status() != psutil.STATUS_STOPPED:
                assert time.monotonic() < until, "it goes on without its agent"
        agent.resume()
        terminal.send("\r")
        terminal.wait_for("done")
        assert terminal.wait() == 0
        assert terminal.changed_modes == []


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
