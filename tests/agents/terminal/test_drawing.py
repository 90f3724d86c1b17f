"""What moves on a screen all the time and is no loop: ten virtual minutes of each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from tests.agents.terminal.desk import Watched

SECONDS = 600
UP = "\x1b[1A\x1b[2K"


def braille() -> Iterator[str]:
    """ora, npm: the column addressed, the rest of the line cleared, the cursor hidden."""
    yield "\x1b[?25l"
    for frame in itertools.cycle("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"):
        yield f"\x1b[1G\x1b[0K{frame} Waiting for the registry to answer our request"


def bars() -> Iterator[str]:
    """A backspace for each character."""
    for frame in itertools.cycle("|/-\\"):
        yield f"working on it, please be patient {frame}" + "\b" * 34


def percent() -> Iterator[str]:
    """curl, wget, git: the same line from its start."""
    for number in itertools.count():
        done = number % 101
        yield f"\rReceiving objects: {done:3}% ({done * 12}/1200), {number}.00 KiB | 1.2 MiB/s"


def pip() -> Iterator[str]:
    """pip, rich: a bar with colours, the line cleared before."""
    for number in itertools.count():
        done = number % 41
        yield (
            f"\r\x1b[2K   \x1b[38;5;197m{'━' * done}\x1b[0m{'━' * (40 - done)} "
            f"\x1b[32m{done / 4:.1f}/10.0 MB\x1b[0m \x1b[31m1.1 MB/s\x1b[0m eta \x1b[36m0:00:09\x1b[0m"
        )


def nested() -> Iterator[str]:
    """tqdm, one bar inside the other."""
    for number in itertools.count():
        yield f"\r  outer: {number // 100 % 100}%|████      | {number // 100}/100 [00:{number % 60:02}<05:00]"
        yield f"\n\r    inner: {number % 100}%|██   | {number % 100}/100 [00:01<00:05]\x1b[A"


def layers() -> Iterator[str]:
    """docker pull: one line each, drawn on when it moves."""
    yield "".join(f"{chr(97 + n) * 12}: Pulling fs layer\r\n" for n in range(6))
    for number in itertools.count():
        up = 6 - (number * 7) % 6
        done = f"[{'=' * (number % 100 // 4)}>] {number % 100}MB/100MB"
        yield f"\x1b[{up}A\x1b[2K\r{chr(103 - up) * 12}: Downloading {done}\r\x1b[{up}B"


def ink() -> Iterator[str]:
    """React for terminals: the block is taken away line by line and written anew."""
    block = 0
    for number in itertools.count():
        frame = [
            f"{'✻✶✳✢'[number % 4]} Thinking about the problem… ({number // 20}s · esc to interrupt)",
            "╭──────────────────────────────────────────────────────────╮",
            "│ > Try asking how the configuration is loaded at startup   │",
            "╰──────────────────────────────────────────────────────────╯",
            "  ? for shortcuts, shift and tab to accept the edits",
        ]
        yield UP * block + "\x1b[G" + "".join(f"{line}\r\n" for line in frame)
        block = len(frame)


def full_redraw() -> Iterator[str]:
    """A block taller than the screen: everything is cleared and written again."""
    docs = [str(getattr(str, name).__doc__).partition("\n")[0] for name in dir(str) if name[0] != "_"]
    history = "".join(f"{line}\r\n" for line in docs)
    for number in itertools.count():
        yield f"\x1b[2J\x1b[3J\x1b[H{history}{'◐◓◑◒'[number % 4]} Working on the next step of the task"


def watch() -> Iterator[str]:
    """watch, top without the alternate screen: painted over from the top."""
    yield "\x1b[H\x1b[2J"
    for number in itertools.count():
        rows = "".join(
            f"{pid:6} root  20  0 R {number % 99}.{pid % 9} python work.py\x1b[K\r\n" for pid in range(18)
        )
        yield f"\x1b[HEvery 0.1s: the list of all processes\x1b[K\r\n\x1b[K\r\n{rows}\x1b[J"


def picture() -> Iterator[str]:
    """A full-screen program."""
    yield "\x1b[?1049h\x1b[?25l"
    for number in itertools.count():
        row = number % 20 + 1
        yield f"\x1b[{row};1HThe agent says the same on every line. The agent says the same.\x1b[K"


def dots() -> Iterator[str]:
    """Old build tools."""
    yield "Waiting for the other end to come up "
    while True:
        yield "."


def cargo() -> Iterator[str]:
    """A status line at the end, lines put above it."""
    for number in itertools.count():
        if number % 40 == 0:
            yield f"\r\x1b[K\x1b[1m\x1b[32m   Compiling\x1b[0m crate-{number} v0.{number % 7}.1\r\n"
        yield f"\r\x1b[K    Building [{'=' * (number % 27)}> ] {number}/4000: crate-{number}(build.rs)"


def apt() -> Iterator[str]:
    """A bar below a scroll region."""
    yield "\x1b7\x1b[1;23r\x1b8\x1b[1A"
    for number in itertools.count():
        if number % 30 == 0:
            yield f"Unpacking package-{number} (1.{number}-2) ...\r\n"
        yield f"\x1b7\x1b[24;1H\x1b[42mProgress: [{number % 100:3}%]\x1b[0m [{'#' * (number % 50)}]\x1b8"


STYLES = [braille, bars, percent, pip, nested, layers, ink, full_redraw, watch, picture, dots, cargo, apt]


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.__name__)
def test_no_finding(style: Callable[[], Iterator[str]]) -> None:
    watched = Watched()
    watched.keys(b"do it\r")
    frames = style()
    while watched.now < SECONDS:
        watched.prints(next(frames), 0.1)
    assert watched.found == []
    assert watched.typed == []
    watched.prints("\x1b[?1049l\r\n" + "\r\n" * 30)
    assert watched.found == []


def test_a_loop_beside_a_spinner_is_found() -> None:
    """The counter-proof: what is put above the drawn block is read."""
    watched = Watched()
    watched.keys(b"do it\r")
    frames = ink()
    for number in range(1500):
        frame = next(frames)
        if number % 20 == 19:
            block = UP * 5 + "\x1b[G" + "I will now read the configuration file once more.\r\n"
            frame = block + frame.removeprefix(UP * 5)
        watched.prints(frame, 0.1)
    assert "prose-block" in watched.found
