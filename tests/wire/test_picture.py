"""The picture of an alternate screen, beside a terminal emulator's, and what is seen being written on it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pyte
import pytest

from loopguard_cli.wire.cells import FILLER
from loopguard_cli.wire.picture import Picture
from loopguard_cli.wire.terminal import Tokenizer
from loopguard_cli.wire.written_text import WrittenText

ROWS, COLUMNS = 10, 30
SENTENCE = "I will now read the configuration file once more. "
WORDS = tuple("the agent reads a file and then it says what it has found in there".split())  # noqa: SIM905


def shown(data: str) -> list[str]:
    picture = Picture(ROWS, COLUMNS)
    for token in Tokenizer().feed(data.encode()):
        picture.take(token)
    return [line.replace(FILLER, "") for line in picture.lines()]


def emulated(data: str) -> list[str]:
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    stream.feed(data)
    return [line.rstrip() for line in screen.display]


def some_drawing(chance: random.Random) -> str:
    parts = []
    for _ in range(chance.randrange(1, 40)):
        row, column, count = chance.randint(1, ROWS), chance.randint(1, COLUMNS - 1), chance.randint(1, 3)
        parts.append(
            chance.choice(
                [
                    " ".join(chance.choices(WORDS, k=3))[: COLUMNS - 2],
                    f"\x1b[{row};{column}H",
                    f"\x1b[{row}d",
                    f"\x1b[{column}G",
                    f"\x1b[{count}{chance.choice('ABCDEF')}",
                    f"\x1b[{chance.randint(0, 2)}{chance.choice('JK')}",
                    f"\x1b[{row};{column}H\x1b[{count}{chance.choice('PX@')}",
                    "\r",
                    "\r\n",
                    "\x1b[38;5;3mcolour\x1b[0m",
                    "\x1bM",
                    "\x1b7\x1b[1;1Htop\x1b8",
                ]
            )
        )
    return "".join(parts)


@pytest.mark.parametrize("seed", range(200))
def test_it_shows_what_a_terminal_shows(seed: int) -> None:
    data = some_drawing(random.Random(seed))
    assert shown(data) == emulated(data), repr(data)


def test_a_scroll_region() -> None:
    """By hand: outside of one the emulator moves its cursor into it, and it leaves deleted rows where it has
    nothing to put in their place; terminals do neither."""
    lines = "".join(f"\x1b[{row};1H{row}" for row in range(1, ROWS + 1))
    up, down = f"{lines}\x1b[3;6r\x1b[6;1H\nnew", f"{lines}\x1b[3;6r\x1b[3;1H\x1bMnew"
    assert shown(up) == ["1", "2", "4", "5", "6", "new", "7", "8", "9", "10"]
    assert shown(down) == ["1", "2", "new", "3", "4", "5", "7", "8", "9", "10"]
    assert shown(f"{lines}\x1b[3;6r\x1b[10;1H\n!")[8:] == ["9", "!0"], "below the region nothing moves"
    assert shown(f"{lines}\x1b[3;6r\x1b[4;5H\x1b[2M")[2:7] == ["3", "6", "", "", "7"]
    assert shown(f"{lines}\x1b[3;6r\x1b[4;5H\x1b[Lnew")[2:7] == ["3", "new", "4", "5", "7"]


# --- what is written on it ------------------------------------------------------------------------


def rows_of(text: str, width: int) -> list[str]:
    rows = [""]
    for word in text.split():
        if len(rows[-1]) + 1 + len(word) > width:
            rows.append("")
        rows[-1] = f"{rows[-1]} {word}".strip()
    return rows


def streamed(text: str, *, step: int = 9, height: int = 6, width: int = 40) -> Iterator[list[str]]:
    """A model's words in a pane with a head above and an input box and a spinner below."""
    for number, end in enumerate(range(0, len(text), step)):
        pane = [f"  {row}" for row in rows_of(text[:end], width)][-height:]
        pane += [""] * (height - len(pane))
        spinner = f"{'|/-'[number % 3]} Working ({number}s)"
        yield ["Agent 1.0", "", *pane, "", spinner, "> Ask me anything", "? for help"]


def read(pictures: Iterator[list[str]]) -> str:
    written = WrittenText()
    return "".join(written.see(lines, 80) for lines in pictures)


@pytest.mark.parametrize("step", [1, 5, 9, 30, 60])
@pytest.mark.parametrize("height", [8, 30])
def test_streamed_words_are_read(step: int, height: int) -> None:
    sentences = [f"number {number} of the words is here" for number in range(60)]
    said = " ".join(read(streamed(" ".join(sentences), step=step, height=height)).split())
    assert sum(sentence in said for sentence in sentences) > 30
    assert len(said) <= len(" ".join(sentences)), "nothing is said twice"


def test_a_loop_stays_a_loop() -> None:
    said = " ".join(read(streamed(SENTENCE * 40)).split())
    assert said.count(SENTENCE.strip()) >= 10


def page(top: int, line: Callable[[int], str]) -> list[str]:
    return [line(top + row) for row in range(20)]


@pytest.mark.parametrize(
    "pictures",
    [
        pytest.param([page(top, lambda _: SENTENCE) for top in range(50)], id="one line again and again"),
        pytest.param(
            [page(top, lambda n: f"{n} {WORDS[n % 14]} {SENTENCE}") for top in range(0, 900, 18)],
            id="pages of a file",
        ),
        pytest.param(
            [[f"{'|/-'[n % 3]} {SENTENCE} {n % 100}%", "=" * (n % 40)] for n in range(300)],
            id="a spinner and a bar",
        ),
        pytest.param(
            [[f"{pid} root {pid * n % 97}.{n % 10} python work.py" for pid in range(20)] for n in range(99)],
            id="processes",
        ),
        pytest.param(
            [[f"worker {w}: {'busy' if (n + w) % 3 else 'idle'}" for w in range(8)] for n in range(300)],
            id="words that change",
        ),
        pytest.param([["Waiting " + "." * (n % 9)] for n in range(300)], id="dots"),
    ],
)
def test_what_is_only_drawn_is_not_read(pictures: list[list[str]]) -> None:
    assert read(iter(pictures)) == ""
