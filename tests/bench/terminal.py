"""What the terminal in between costs: ``python -m tests.bench.terminal [--json]``.

Throughput of `SIZE` bytes as a ratio to ``script -q -c``, and how much later a key comes back than
without us (p50, p99), all in one run, taking turns.
"""

from __future__ import annotations

import argparse
import fcntl
import json
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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

SIZE = 100 << 20
ROUNDS = 3
KEYS = 400
LOOPGUARD = (sys.executable, "-m", "loopguard_cli", "run", "--agent", "terminal", "--")
FLOOD = f"yes 'The quick brown fox jumps over the lazy dog and says so on every line.' | head -c {SIZE}"
ECHO = "import os, tty; tty.setraw(0); os.write(1, b'ready')\nwhile os.write(1, os.read(0, 1)) and True: pass"


def spawn(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[int, int]:
    """Process number and our end of a new terminal."""
    pid, master = pty.fork()
    if pid == 0:
        os.execvpe(argv[0], list(argv), dict(environ))
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    return pid, master


def drained(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[float, int]:
    """Seconds from the first to the last byte, and how many there were."""
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


def measure() -> dict[str, float]:
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        environ = environment(Path(name))
        guarded, script = [], []
        for _ in range(ROUNDS if shutil.which("script") else 0):
            seconds, total = drained(("script", "-q", "-c", FLOOD, "/dev/null"), environ)
            script.append(total / seconds)
            seconds, total = drained((*LOOPGUARD, "sh", "-c", FLOOD), environ)
            guarded.append(total / seconds)
        if script:
            results["MB/s, script"] = max(script) / 1e6
            results["MB/s, guarded"] = max(guarded) / 1e6
            results["throughput, ratio to script"] = max(guarded) / max(script)
        echo = (sys.executable, "-IS", "-c", ECHO)
        plain, ours = key_times(echo, environ), key_times((*LOOPGUARD, *echo), environ)
        for name, at in (("p50", 50), ("p99", 99)):
            added = statistics.quantiles(ours, n=100)[at - 1] - statistics.quantiles(plain, n=100)[at - 1]
            results[f"added key latency {name}, ms"] = added * 1e3
        results["added start-up, ms"] = 1e3 * (_started(LOOPGUARD, environ) - _started((), environ))
    return results


def _started(before: Sequence[str], environ: Mapping[str, str]) -> float:
    def once() -> float:
        began = time.perf_counter()
        drained((*before, "true"), environ)
        return time.perf_counter() - began

    return statistics.median(once() for _ in range(5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    results = measure()
    if asked.json:
        json.dump(results, sys.stdout, indent=2)
    else:
        for name, value in results.items():
            print(f"{name:32} {value:10.2f}")  # noqa: T201


if __name__ == "__main__":
    main()
