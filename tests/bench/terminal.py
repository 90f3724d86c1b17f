"""What the terminal in between costs, in one run, taking turns with `script` and with nothing in between."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.bench.section import Row, percentile

TITLE = "A program on a terminal"

SIZE = 100 << 20
ROUNDS = 11
"""Two programs, a shell, a copy and a reader share the cores: one round is worth little."""
KEYS = 400
LOOPGUARD = (sys.executable, "-m", "loopguard_cli", "run", "--agent", "terminal", "--")
LINE = "The quick brown fox jumps over the lazy dog and says so on every line."
FLOOD = f"yes '{LINE}' | head -c {SIZE}"
FLOODED = SIZE + SIZE // len(f"{LINE}\n")
"""So many bytes come out: a terminal makes two of the end of a line."""
ECHO = "import os, tty; tty.setraw(0); os.write(1, b'ready')\nwhile os.write(1, os.read(0, 1)) and True: pass"


def spawn(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[int, int]:
    """Process number and our end of a new terminal."""
    pid, master = pty.fork()
    if pid == 0:
        os.execvpe(argv[0], list(argv), dict(environ))
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    return pid, master


def drained(argv: Sequence[str], environ: Mapping[str, str], size: int = sys.maxsize) -> tuple[float, int]:
    """Seconds from the first to the last byte, or until there were ``size``; how many there were by then."""
    pid, master = spawn(argv, environ)
    began = last = 0.0
    total = 0
    while True:
        try:
            data = os.read(master, 1 << 16)
        except OSError:
            break
        if not data:
            break
        if total < size:
            last = time.perf_counter()
            began = began or last
            total += len(data)
    os.waitpid(pid, 0)
    os.close(master)
    return last - began, total


def key_times(argv: Sequence[str], environ: Mapping[str, str]) -> list[float]:
    """Seconds until each of `KEYS` keys came back."""
    pid, master = spawn(argv, environ)
    seen = b""
    while b"ready" not in seen:
        seen += os.read(master, 4096)
    times = []
    for number in range(KEYS):
        key = bytes([97 + number % 26])
        began = time.perf_counter()
        os.write(master, key)
        while not select.select([master], [], [], 5)[0] or key not in os.read(master, 4096):
            pass
        times.append(time.perf_counter() - began)
        time.sleep(0.002)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    with suppress(OSError):
        while os.read(master, 4096):
            pass
    os.waitpid(pid, 0)
    os.close(master)
    return times


def environment(folder: Path) -> dict[str, str]:
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    return {**os.environ, "HOME": str(folder), "XDG_RUNTIME_DIR": str(runtime), "TERM": "xterm-256color"}


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        environ = environment(Path(name))
        before = Path.cwd()
        os.chdir(name)
        try:
            return [*_throughput(environ), *_latency(environ), _start_up(environ)]
        finally:
            os.chdir(before)


def _throughput(environ: Mapping[str, str]) -> Iterator[Row]:
    if shutil.which("script") is None:
        return
    ways = {"script": ("script", "-q", "-c", FLOOD, "/dev/null"), "guarded": (*LOOPGUARD, "sh", "-c", FLOOD)}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS):
        # By turns, and each as often the first: whatever else the machine does meets both.
        for name in sorted(ways, reverse=bool(number % 2)):
            seconds, total = drained(ways[name], environ, FLOODED)
            rates[name].append(total / seconds / 1e6)
    script, guarded = (statistics.median(rates[name]) for name in ways)
    yield Row("100 MB of output, `script -q -c`", script, "MB/s")
    yield Row("100 MB of output, guarded", guarded, "MB/s")
    yield Row("guarded beside `script`", guarded / script, "times", 0.9, at_least=True)


def _latency(environ: Mapping[str, str]) -> Iterator[Row]:
    echo = (sys.executable, "-IS", "-c", ECHO)
    alone, guarded = key_times(echo, environ), key_times((*LOOPGUARD, *echo), environ)
    for name, share, budget in (("p50", 0.5, None), ("p99", 0.99, 5.0)):
        added = percentile(guarded, share) - percentile(alone, share)
        yield Row(f"a key comes back later, {name}", added * 1e3, "ms", budget)


def _start_up(environ: Mapping[str, str]) -> Row:
    added = _started(LOOPGUARD, environ) - _started((), environ)
    return Row("`true` on a terminal takes longer", added * 1e3, "ms", 400)


def _started(before: Sequence[str], environ: Mapping[str, str]) -> float:
    def once() -> float:
        began = time.perf_counter()
        drained((*before, "true"), environ)
        return time.perf_counter() - began

    return statistics.median(once() for _ in range(5))
