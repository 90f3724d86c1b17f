"""The program itself, its Python, and the terminal."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from loopguard_cli import __version__
from loopguard_cli.cli.diagnosis import Diagnosis, Level

PROGRAM = "loopguard"
NARROW = 80


def program() -> Iterator[Diagnosis]:
    """Version, Python, and which ``loopguard`` a shell would start."""
    python = ".".join(map(str, sys.version_info[:3]))
    text = f"loopguard {__version__} on Python {python}, {sys.platform}"
    yield Diagnosis(area="loopguard", level=Level.OK, text=text)
    found = shutil.which(PROGRAM)
    if found is None:
        yield Diagnosis(
            area="loopguard", level=Level.WARNING, text="no 'loopguard' on PATH",
            advice=f"add {Path(sys.executable).parent} to PATH, or run 'pipx ensurepath'",
        )  # fmt: skip
    elif Path(found).resolve().parent != Path(sys.executable).resolve().parent and not _same_prefix(found):
        yield Diagnosis(
            area="loopguard", level=Level.WARNING, text=f"a shell would start another one: {found}",
            advice=f"remove it, or put {Path(sys.executable).parent} before it on PATH",
        )  # fmt: skip
    else:
        yield Diagnosis(area="loopguard", level=Level.OK, text=f"started as {found}")
    if not hasattr(socket, "AF_UNIX"):
        text = "no Unix sockets here; loopback ports with a token instead"
        yield Diagnosis(area="loopguard", level=Level.NOTE, text=text)


def _same_prefix(found: str) -> bool:
    """A launcher (of pipx, uv) names our interpreter in its first line."""
    try:
        with Path(found).open("rb") as file:
            return os.fsencode(sys.executable) in file.readline(4096)
    except OSError:
        return False


def terminal() -> Iterator[Diagnosis]:
    if not sys.stdout.isatty():
        text = "standard output is no terminal: plain text, no bars"
        yield Diagnosis(area="terminal", level=Level.NOTE, text=text)
        return
    kind = os.environ.get("TERM", "")
    columns, rows = shutil.get_terminal_size()
    if kind in ("", "dumb"):
        yield Diagnosis(
            area="terminal", level=Level.WARNING, text=f"TERM is {kind or 'not set'}: plain text only",
            advice="set TERM to what your terminal is, usually xterm-256color",
        )  # fmt: skip
    else:
        colours = "no colours (NO_COLOR)" if os.environ.get("NO_COLOR") else "colours"
        text = f"{kind}, {columns}x{rows}, {colours}"
        yield Diagnosis(area="terminal", level=Level.OK, text=text)
    if columns < NARROW:
        yield Diagnosis(
            area="terminal", level=Level.NOTE, text=f"only {columns} columns: tables will be wrapped"
        )
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    if encoding != "utf8":
        yield Diagnosis(
            area="terminal", level=Level.WARNING, text=f"the terminal's encoding is {encoding or 'unknown'}",
            advice="set LANG to a UTF-8 locale, as C.UTF-8",
        )  # fmt: skip
