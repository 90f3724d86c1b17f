"""Records what popular tools draw on a terminal while they work for ten minutes. Not a test.

    python -m tests.agents.terminal.recording [TOOL…]

Everything that a tool waits for is on this machine: a server that hands a file out over the whole time, a
build step that sleeps. Tools are found as always (``PATH``; Python packages by ``python3``, those of Node.js
in ``node_modules`` of the working directory). Each gives `RECORDINGS`/TOOL.cast.gz, in the format of
asciinema (version 2); what is not installed is named and left out.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import http.server
import io
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import termios
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

RECORDINGS = Path(__file__).with_name("recordings")
ROWS, COLUMNS = 24, 80
SECONDS = 600
SIZE = 24 << 20
"""Bytes of what is loaded."""

Prepare = Callable[[Path, str], list[str]]
"""The folder it runs in, and where the slow server is; gives the command line."""


class Slow(http.server.BaseHTTPRequestHandler):
    """Hands out any file that is prepared; a big one takes `SECONDS`."""

    files: dict[str, bytes]

    def do_GET(self) -> None:
        data = self.files.get(self.path.replace("/./", "/"))
        if data is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "HEAD":
            return
        portion = len(data) // (SECONDS * 4) + 1 if len(data) >= SIZE else len(data) + 1
        for at in range(0, len(data), portion):
            try:
                self.wfile.write(data[at : at + portion])
            except OSError:
                return
            if portion < len(data):
                time.sleep(0.24)

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


THROTTLE = f"""
import sys, time
while data := sys.stdin.buffer.read1({SIZE // SECONDS // 4}):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    time.sleep(0.24)
"""


def curl(_: Path, url: str) -> list[str]:
    return ["curl", "-o", "big", f"{url}/big.bin"]


def curl_bar(_: Path, url: str) -> list[str]:
    return ["curl", "-#", "-o", "big", f"{url}/big.bin"]


def wget(_: Path, url: str) -> list[str]:
    return ["wget", "--no-config", "-O", "big", f"{url}/big.bin"]


def pip(folder: Path, url: str) -> list[str]:
    """The bar of a download."""
    return [
        "pip",
        "--isolated",
        "download",
        "--no-deps",
        "--no-index",
        "-d",
        str(folder),
        f"{url}/big-1.0-py3-none-any.whl",
    ]


def pip_build(folder: Path, _: str) -> list[str]:
    """The spinner of a build, which does not end in time: pip would show all that it printed."""
    (folder / "setup_backend.py").write_text(
        "import time\n"
        "def work():\n"
        f"    for n in range({SECONDS * 6}): print('compiling', n, flush=True); time.sleep(0.2)\n"
        "def get_requires_for_build_wheel(*_): work(); return []\n"
        "def build_wheel(*_): raise SystemExit('enough')\n"
    )
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "setup_backend"\nbackend-path = ["."]\n'
        '[project]\nname = "slow"\nversion = "1.0"\n'
    )
    return ["pip", "--isolated", "wheel", "--no-index", "--no-deps", "."]


def uv(folder: Path, url: str) -> list[str]:
    return [
        "uv",
        "pip",
        "install",
        "--no-config",
        "--no-index",
        "--target",
        str(folder / "t"),
        f"{url}/big-1.0-py3-none-any.whl",
    ]


def npm(folder: Path, url: str) -> list[str]:
    (folder / "package.json").write_text(json.dumps({"dependencies": {"big": f"{url}/big.tgz"}}))
    return [
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        f"--cache={folder / 'cache'}",
    ]


def git(folder: Path, _: str) -> list[str]:
    source = folder / "source"
    source.mkdir()
    (source / "big").write_bytes(os.urandom(SIZE))
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"],
    ):
        subprocess.run(["git", *words], cwd=source, check=True)
    (folder / "throttle.py").write_text(THROTTLE)
    upload = folder / "upload"
    upload.write_text(f'#!/bin/sh\ngit-upload-pack "$@" | {sys.executable} {folder}/throttle.py\n')
    upload.chmod(0o755)
    return ["git", "clone", "--progress", "-u", str(upload), f"file://{source}", "copy"]


def cargo(folder: Path, _: str) -> list[str]:
    """A bar below the names of what was built."""
    names = [f"part{number}" for number in range(60)]
    for name in names:
        (folder / name / "src").mkdir(parents=True)
        (folder / name / "src/lib.rs").write_text("")
        (folder / name / "Cargo.toml").write_text(
            f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n'
        )
        (folder / name / "build.rs").write_text(
            f"fn main() {{ std::thread::sleep(std::time::Duration::from_millis({SECONDS * 1000 // 60})) }}"
        )
    (folder / "Cargo.toml").write_text(f'[workspace]\nresolver = "2"\nmembers = {json.dumps(names)}\n')
    return ["cargo", "build", "--offline", "-j", "1"]


def apt(folder: Path, url: str) -> list[str]:
    for name in ("lists/partial", "cache/archives/partial", "etc"):
        (folder / name).mkdir(parents=True)
    (folder / "status").write_text("")
    (folder / "etc/sources.list").write_text(f"deb [trusted=yes] {url} ./\n")
    options = {
        "Dir::Etc::sourcelist": folder / "etc/sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
    }
    words = [f"-o{name}={value}" for name, value in options.items()]
    subprocess.run(["apt-get", *words, "update"], check=False, capture_output=True)
    return ["apt-get", *words, "download", "big"]


def rsync(folder: Path, _: str) -> list[str]:
    (folder / "big").write_bytes(os.urandom(SIZE))
    return ["rsync", f"--bwlimit={SIZE // SECONDS // 1024}", "--info=progress2,name1", "big", "copy"]


def pv(_: Path, __: str) -> list[str]:
    return ["sh", "-c", f"head -c {SIZE} /dev/zero | pv -L {SIZE // SECONDS} -s {SIZE} >/dev/null"]


def dd(folder: Path, _: str) -> list[str]:
    (folder / "throttle.py").write_text(THROTTLE)
    source = f"head -c {SIZE} /dev/zero | {sys.executable} {folder}/throttle.py"
    return ["sh", "-c", f"{source} | dd of=/dev/null status=progress"]


def python(source: str, *names: str) -> Prepare:
    """A program that uses these packages."""

    def prepare(folder: Path, _: str) -> list[str]:
        found = subprocess.run(
            ["python3", "-c", f"import {', '.join(names)}"], capture_output=True, check=False
        )
        if found.returncode:
            raise FileNotFoundError(", ".join(names))
        (folder / "work.py").write_text(source)
        return ["python3", "work.py"]

    return prepare


def node(source: str, *names: str) -> Prepare:
    def prepare(folder: Path, _: str) -> list[str]:
        modules = Path("node_modules").resolve()
        for name in names:
            if not (modules / name).exists():
                raise FileNotFoundError(name)
        (folder / "node_modules").symlink_to(modules)
        (folder / "work.mjs").write_text(source)
        return ["node", "work.mjs"]

    return prepare


STEPS = SECONDS * 5
TQDM = f"""
import time
from tqdm import tqdm, trange
for _ in trange(6, desc="epochs"):
    for _ in tqdm(range({STEPS // 6}), desc="steps", leave=False):
        time.sleep(0.2)
"""
RICH = f"""
import time
from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn
with Progress(SpinnerColumn(), *Progress.get_default_columns(), TimeElapsedColumn()) as progress:
    tasks = [progress.add_task(f"[green]Downloading part {{n}}", total={STEPS} - 300 * n) for n in range(4)]
    for step in range({STEPS}):
        for task in tasks:
            progress.advance(task)
        if step % 250 == 0:
            progress.console.print(f"part of step {{step}} is there")
        time.sleep(0.2)
"""
RICH_STATUS = f"""
import time
from rich.console import Console
with Console().status("Waiting for the server to come up..."):
    time.sleep({SECONDS})
"""
ALIVE = f"""
import time
from alive_progress import alive_bar
with alive_bar({STEPS}, title="Working on it") as bar:
    for _ in range({STEPS}):
        bar()
        time.sleep(0.2)
"""
HALO = f"""
import time
from halo import Halo
with Halo(text="Loading the whole model into memory", spinner="dots"):
    time.sleep({SECONDS})
"""
YASPIN = f"""
import time
from yaspin import yaspin
with yaspin(text="Waiting for the tests to finish", color="cyan"):
    time.sleep({SECONDS})
"""
PROGRESSBAR = f"""
import time
import progressbar
for _ in progressbar.progressbar(range({STEPS})):
    time.sleep(0.2)
"""
CLICK = f"""
import time
import click
with click.progressbar(range({STEPS}), label="Modifying user accounts") as bar:
    for _ in bar:
        time.sleep(0.2)
"""
ORA = f"""
import ora from "ora"
const spinner = ora("Installing all of the dependencies").start()
setTimeout(() => {{ spinner.text = "Linking all of the dependencies" }}, {SECONDS * 500})
setTimeout(() => spinner.succeed("Installed"), {SECONDS * 1000})
"""
CLI_PROGRESS = f"""
import progress from "cli-progress"
const bars = new progress.MultiBar({{ format: "{{filename}} [{{bar}}] {{percentage}}% | ETA: {{eta}}s" }})
const all = [1, 2, 3].map((n) => bars.create({STEPS}, 0, {{ filename: `archive-${{n}}.zip` }}))
const timer = setInterval(() => all.forEach((bar, n) => bar.increment(n % 2 + 1)), 200)
setTimeout(() => {{ clearInterval(timer); bars.stop() }}, {SECONDS * 1000})
"""
LISTR2 = f"""
import {{ Listr }} from "listr2"
const wait = (ms) => new Promise((done) => setTimeout(done, ms))
const work = ["Lint the sources", "Build the package", "Run the tests", "Publish the release"]
const task = (title) => ({{ title, task: async (_, self) => {{
  for (let n = 0; n < {SECONDS // 4}; n++) {{ self.output = `step ${{n}} of it`; await wait(1000) }}
}} }})
await new Listr(work.map(task), {{ concurrent: false }}).run()
"""

TOOLS: dict[str, Prepare] = {
    "curl": curl,
    "curl-bar": curl_bar,
    "wget": wget,
    "pip": pip,
    "pip-build": pip_build,
    "uv": uv,
    "npm": npm,
    "git": git,
    "cargo": cargo,
    "apt": apt,
    "rsync": rsync,
    "pv": pv,
    "dd": dd,
    "tqdm": python(TQDM, "tqdm"),
    "rich": python(RICH, "rich"),
    "rich-status": python(RICH_STATUS, "rich"),
    "alive-progress": python(ALIVE, "alive_progress"),
    "halo": python(HALO, "halo"),
    "yaspin": python(YASPIN, "yaspin"),
    "progressbar2": python(PROGRESSBAR, "progressbar"),
    "click": python(CLICK, "click"),
    "ora": node(ORA, "ora"),
    "cli-progress": node(CLI_PROGRESS, "cli-progress"),
    "listr2": node(LISTR2, "listr2"),
}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def served() -> dict[str, bytes]:
    big = os.urandom(SIZE)
    index = "Package: big\nVersion: 1.0\nArchitecture: all\nMaintainer: a <a@b>\nDescription: big\n"
    index += f"Filename: ./big.deb\nSize: {SIZE}\nSHA256: {hashlib.sha256(big).hexdigest()}\n"
    return {
        "/Packages": index.encode(),
        "/big.bin": big,
        "/big.deb": big,
        "/big.tgz": _packed(
            {"package/package.json": b'{"name": "big", "version": "1.0.0"}', "package/big": big}
        ),
        "/big-1.0-py3-none-any.whl": _wheel(big),
    }


def _packed(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def _wheel(big: bytes) -> bytes:
    about = "big-1.0.dist-info"
    files = {
        "big.py": big,
        f"{about}/METADATA": b"Metadata-Version: 2.1\nName: big\nVersion: 1.0\n",
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in (*files.items(), (f"{about}/RECORD", record.encode())):
            archive.writestr(name, data)
    return packed.getvalue()


def record(name: str, prepare: Prepare, url: str) -> None:
    with tempfile.TemporaryDirectory(prefix=name) as root:
        folder = Path(root)
        try:
            argv = prepare(folder, url)
        except FileNotFoundError as error:
            say(f"{name}: {error} is not installed")
            return
        if shutil.which(argv[0]) is None:
            say(f"{name}: {argv[0]} is not installed")
            return
        events = drawn(argv, folder)
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": name}
    tools = str(Path(shutil.which(argv[0]) or "").parent.parent)
    lines = "".join(f"{json.dumps(line)}\n" for line in (header, *events))
    lines = lines.replace(root, "/project").replace(tools, "/usr")
    with gzip.GzipFile(RECORDINGS / f"{name}.cast.gz", "wb", mtime=0) as file:
        file.write(lines.encode())
    say(f"{name}: {len(events)} pieces, {events[-1][0] if events else 0:.0f} s")


def drawn(argv: list[str], folder: Path) -> list[tuple[float, str, str]]:
    """What it writes, until it ends or for a little more than `SECONDS`."""
    environ = {"HOME": str(folder), "TERM": "xterm-256color", "LANG": "C.UTF-8", "PATH": os.environ["PATH"]}
    for kept in ("CARGO_HOME", "RUSTUP_HOME"):
        if kept in os.environ:
            environ[kept] = os.environ[kept]
    pid, master = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.chdir(folder)
        os.execvpe(argv[0], argv, environ)
    began, events, data = time.monotonic(), [], b""
    while (passed := time.monotonic() - began) < SECONDS + 30:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            data += os.read(master, 65536)
        except OSError:
            break
        try:
            events.append((round(passed, 3), "o", data.decode()))
        except UnicodeDecodeError:
            continue  # the rest of a character is still to come
        data = b""
    os.close(master)
    if os.waitpid(pid, os.WNOHANG) == (0, 0):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return events


def main(names: list[str]) -> None:
    RECORDINGS.mkdir(exist_ok=True)
    Slow.files = served()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    threads = [threading.Thread(target=record, args=(name, TOOLS[name], url)) for name in names or TOOLS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
