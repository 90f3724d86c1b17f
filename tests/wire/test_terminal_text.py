"""What a program says on a terminal, and what it only draws."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_cli.wire.terminal_text import MAX_ROWS, REMEMBERED, TerminalText


def said(*data: bytes, rows: int = 10, columns: int = 40) -> str:
    text = TerminalText(rows, columns)
    return "".join("".join(text.feed(piece)) for piece in data)


def lines(words: Iterable[str]) -> bytes:
    return "".join(f"{word}\r\n" for word in words).encode()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"one\r\ntwo\r\n", "one\ntwo\n", id="lines"),
        pytest.param(b"one\r\ntwo", "one\n", id="a line is out when it has ended"),
        pytest.param(b"10%\r50%\rdone\r\n", "done\n", id="overwritten"),
        pytest.param(b"loading\rok\x1b[K\r\n", "ok\n", id="overwritten and cleared"),
        pytest.param(b"wait |\b/\b-\b\\\bok\r\n", "wait ok\n", id="backspaces"),
        pytest.param(b"\x1b[1Gspin\x1b[0K\x1b[1Gdone\x1b[0K\r\n", "done\n", id="the column addressed"),
        pytest.param(b"a\tb\r\n", "a       b\n", id="tabs"),
        pytest.param(b"abcd\x1b[2D\x1b[P\r\n", "abd\n", id="a character deleted"),
        pytest.param(b"\x1b[?1049h\x1b[Hpicture\r\n\x1b[?1049lback\r\n", "back\n", id="alternate screen"),
        pytest.param(b"\x1b[31mred\x1b[0m and \x1b]0;title\x07text\r\n", "red and text\n", id="colours"),
        pytest.param(b"a" * 50 + b"\r\n", "a" * 50 + "\n", id="a line longer than the screen"),
        pytest.param("\ud55c\uad6d\uc5b4".encode() + b"\r\n", "\ud55c\uad6d\uc5b4\n", id="wide characters"),
        pytest.param("\u4f60".encode() * 30 + b"\r\n", "\u4f60" * 30 + "\n", id="wide characters, wrapped"),
    ],
)
def test_a_program_that_writes_downwards(data: bytes, expected: str) -> None:
    assert said(data) == expected


def test_a_paragraph_comes_out_before_it_has_ended() -> None:
    assert said(b"All of this is one paragraph without any end so far and it goes on") == (
        "All of this is one paragraph without any"
    )


def test_a_block_that_is_drawn_again_and_again_is_said_once() -> None:
    frames = [
        b"\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[G" + lines([f"Thinking {n}", "esc to stop"])
        for n in range(300)
    ]
    assert said(lines(["start", "Thinking", "esc to stop"]), *frames) == "start\nThinking\nesc to stop\n"


def test_what_is_put_above_a_drawn_block_is_said() -> None:
    up = b"\x1b[2K\x1b[1A\x1b[2K\x1b[G"
    frames = [up + lines([*([f"said {n}"] if n % 100 == 0 else []), "esc to stop"]) for n in range(1, 1000)]
    found = said(lines(["esc to stop"]), *frames).splitlines()
    assert [line for line in found if line.startswith("said")] == [f"said {n}" for n in range(100, 1000, 100)]
    assert found.count("esc to stop") == 1


def test_bars_drawn_one_at_a_time_are_not_said() -> None:
    frames = [f"\x1b[{up}Abar {up}: {n}%\r\x1b[{up}B".encode() for n in range(100) for up in (3, 1, 2)]
    found = said(lines(["bar 3", "bar 2", "bar 1"]), *frames, lines(f"line {n}" for n in range(20)))
    assert found.count("bar") == 6, "once as they began, once as they ended"
    assert "line 5" in found


def test_a_screen_that_is_painted_over_is_not_said() -> None:
    frames = [b"\x1b[H\x1b[J" + lines([f"time {n}", "load 1", "processes"]) for n in range(50)]
    assert said(*frames) == ""


def test_what_scrolls_off_a_painted_screen_is_said() -> None:
    found = said(b"\x1b[H\x1b[2J", lines(f"line {n}" for n in range(30)))
    assert found.splitlines() == [f"line {n}" for n in range(30)]


def test_a_whole_history_written_again_is_not_said_again() -> None:
    history = lines(f"line {n}" for n in range(30))
    again = b"\x1b[2J\x1b[3J\x1b[H" + lines(f"line {n}" for n in range(30))
    assert said(history, *[again] * 5).splitlines() == [f"line {n}" for n in range(30)]


def test_the_same_line_written_anew_is_said_anew() -> None:
    assert said(lines(["again"] * 5)) == "again\n" * 5


def test_a_gap_is_forgotten() -> None:
    text = TerminalText()
    text.feed(b"half a li")
    text.forget()
    assert text.feed(b"whole\r\n") == ["whole\n"]


def test_modes() -> None:
    text = TerminalText()
    text.feed(b"\x1b[?2004h\x1b[?1049h")
    assert (text.bracketed_paste, text.alternate) == (True, True)
    text.feed(b"\x1b[?2004;1049l")
    assert (text.bracketed_paste, text.alternate) == (False, False)


drawing = st.one_of(
    st.binary(max_size=6),
    st.sampled_from(
        [b"\r", b"\n", b"\b", b"\t", b"\x1bM", b"\x1b7", b"\x1b8", b"\x1bc", b"word ", b"\xe4\xbd\xa0"]
    ),
    st.tuples(st.integers(0, 30), st.sampled_from("ABCDEFGHJKLMPSTXd@su")).map(
        lambda c: f"\x1b[{c[0]}{c[1]}".encode()
    ),
)


@given(st.lists(drawing, max_size=60), st.integers(0, 20))
def test_any_drawing_in_any_portions(parts: list[bytes], resized: int) -> None:
    data = b"".join(parts)
    assert said(*parts) == said(data)
    text = TerminalText(5, 12)
    for number, part in enumerate(parts):
        text.feed(part)
        if number == resized:
            text.resize(number + 1, 7)
    text.feed(b"\x1b[?1049l\x18end\r\n" + b"\r\n" * 20)


def test_memory_is_bounded() -> None:
    text = TerminalText()
    text.resize(10**6, 10**6)
    for number in range(REMEMBERED + 100):
        text.feed(b"line %d\r\n" % number)
    text.feed(b"\x1b[9999;9999Hx")
    assert len(text._screen) <= MAX_ROWS
    assert len(text._out) <= REMEMBERED
