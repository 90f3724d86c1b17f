"""Pictures of the terminal for the documentation: what was really printed, as SVG.

``make pictures`` runs the demonstration and a live run, both with a scripted model, and writes
docs/images/demo.svg and docs/images/watch.svg. Nothing is edited by hand; commit what comes out.
"""

from __future__ import annotations

import io
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import groupby
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from loopguard_cli.cli.render.texts import width
from loopguard_cli.testing.agent import sandbox
from loopguard_cli.testing.model import ScriptedModel
from loopguard_cli.testing.script import Call, reply, say, turn

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
LOOPGUARD = (sys.executable, "-m", "loopguard_cli")

THEME = TerminalTheme(
    (24, 26, 31), (220, 223, 228),
    [(56, 60, 68), (224, 108, 117), (122, 186, 110), (214, 172, 94), (97, 160, 224), (190, 132, 218),
     (86, 182, 194), (220, 223, 228)],
)  # fmt: skip

_SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px;
}}
.{unique_id}-title {{ font-size: 16px; font-family: ui-sans-serif, system-ui, sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Rich's own frame loads its font from the network; this one takes what the reader has."""


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    for name, title, text in (
        ("demo", "loopguard demo", demonstration()),
        ("watch", "loopguard status --watch", watching()),
    ):
        (IMAGES / f"{name}.svg").write_text(draw(title, text), encoding="utf-8")
        print(f"written docs/images/{name}.svg")


def draw(title: str, text: Text) -> str:
    columns = max(width(line) for line in text.plain.splitlines())
    console = Console(
        record=True, width=columns + 1, file=io.StringIO(), color_system="truecolor", force_terminal=True
    )
    console.print(text, overflow="ignore", no_wrap=True)
    name = title.split()[-1].strip("-")
    drawn = console.export_svg(title=title, theme=THEME, code_format=_SVG, unique_id=name)
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"


# --- the demonstration ---------------------------------------------------------------------------

_TONES = (
    (re.compile(r"^\d\. .*"), "bold"),
    (re.compile(r"^   \$ .*"), "bold cyan"),
    (re.compile(r"^   \|.*"), "dim"),
    (re.compile(r"(?<=^   \| )(loopguard|Error): .*"), "not dim yellow"),
    (re.compile(r"(?<=^   )ok  "), "green"),
    (re.compile(r"(?<=^   )FAIL"), "bold red"),
    (re.compile(r"^All \d+ .*"), "bold green"),
)


def demonstration() -> Text:
    """The first scene of what ``loopguard demo`` prints, its lines coloured by kind."""
    done = subprocess.run([*LOOPGUARD, "demo"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the demonstration failed:\n{done.stdout}{done.stderr}")
    text = Text()
    start, end = (done.stdout.index(f"\n{number}. ") + 1 for number in (1, 2))
    for line in done.stdout[start:end].rstrip().splitlines():
        shown = Text(line)
        for pattern, style in _TONES:
            if found := pattern.search(line):
                shown.stylize(style, *found.span())
        text.append_text(shown).append("\n")
    return text


# --- the live view -------------------------------------------------------------------------------

ROWS, COLUMNS = 24, 96
SLOW = "import time\ntime.sleep(4)\nprint('3 failed')\n"
WATCHED = re.compile(r"number 1 +running for [2-9] s(?s:.*)-> block")
"""What is waited for: the call after the refused one, while it runs."""
WATCHED_SECONDS = 90.0
"""For so long; then something is wrong."""


def watching() -> Text:
    """The screen of ``loopguard status --watch`` beside a run that has just been kept from a loop."""
    with tempfile.TemporaryDirectory(prefix="lg-", ignore_cleanup_errors=True) as folder:
        root = Path(folder)
        calls = ["npm test", "npm test", "npm test", "sed -n 40,80p src/cart.js", "npm test -- cart"]
        replies = [reply(Call(tool="bash", args={"command": command})) for command in calls]
        with ScriptedModel((turn(*replies, say("Fixed.")),)) as model:
            box = sandbox.Sandbox(root, model.url)
            (box.project / ".git").mkdir()
            runtime, tools = root / "run", root / "tools"
            runtime.mkdir(mode=0o700)
            tools.mkdir()
            (tools / "npm").write_text(f"#!{sys.executable}\n{SLOW}")
            (tools / "npm").chmod(0o755)
            environment = {**box.environment(), "XDG_RUNTIME_DIR": str(runtime), "TERM": "xterm-256color"}
            environment["PATH"] = f"{tools}{os.pathsep}{environment['PATH']}"
            goal = ("goal", "set", "make the tests pass")
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run([*LOOPGUARD, *goal], cwd=box.project, env=environment, check=True, **quiet)
            run = [*LOOPGUARD, "run", "--set", "guard.caps.calls=60", "--", str(box.program), "run", "fix it"]
            with subprocess.Popen(run, cwd=box.project, env=environment, **quiet) as process:
                try:
                    return _screen([*LOOPGUARD, "status", "--watch"], box.project, environment)
                finally:
                    process.terminate()


def _screen(argv: list[str], folder: Path, environment: dict[str, str]) -> Text:
    """What ``argv`` shows on a terminal after a while."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    master, slave = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with subprocess.Popen(
        argv, cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave
    ) as process:
        end = time.monotonic() + WATCHED_SECONDS
        while (left := end - time.monotonic()) > 0 and not WATCHED.search("\n".join(screen.display)):
            if select.select([master], [], [], left)[0]:
                stream.feed(os.read(master, 65536))
        text = _text(screen)
        process.terminate()
    if not WATCHED.search(text.plain):
        raise SystemExit(f"the live view did not show what it should:\n{text.plain}")
    return text


def _text(screen: pyte.Screen) -> Text:
    text = Text()
    lines = [screen.buffer[row] for row in range(screen.lines)]
    for line in lines:
        chars = [line[column] for column in range(screen.columns)]
        for (colour, bold), run in groupby(chars, key=lambda char: (char.fg, char.bold)):
            text.append("".join(char.data for char in run), Style(color=_colour(colour), bold=bold))
        text.append("\n")
    text.rstrip()
    return text


def _colour(name: str) -> str | None:
    if name == "default":
        return None
    if re.fullmatch(r"[0-9a-f]{6}", name):
        return f"#{name}"
    return "yellow" if name == "brown" else name.replace("bright", "bright_")


if __name__ == "__main__":
    if shutil.which("opencode") is None:
        raise SystemExit("put OpenCode on PATH first (make agents installs it into .agents)")
    main()
