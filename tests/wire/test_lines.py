from hypothesis import given
from hypothesis import strategies as st

from loopguard_cli.wire.lines import LineBuffer

LIMIT = 8


@given(st.lists(st.binary(max_size=24), max_size=12))
def test_any_cutting_gives_the_same_lines(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    cut, uncut = LineBuffer(LIMIT), LineBuffer(LIMIT)
    assert [line for piece in pieces for line in cut.feed(piece)] == uncut.feed(whole)
    assert (cut.dropped, cut.pending) == (uncut.dropped, uncut.pending)


@given(st.lists(st.binary(max_size=24), max_size=12))
def test_lines_are_complete_short_and_memory_is_bounded(pieces: list[bytes]) -> None:
    buffer = LineBuffer(LIMIT)
    lines: list[bytes] = []
    for piece in pieces:
        lines += buffer.feed(piece)
        assert buffer.pending <= LIMIT
    complete = b"".join(pieces).split(b"\n")[:-1]
    assert lines == [
        line.removesuffix(b"\r") for line in complete if 0 < len(line) <= LIMIT and line != b"\r"
    ]


def test_a_line_that_is_too_long_harms_no_other() -> None:
    buffer = LineBuffer(4)
    assert buffer.feed(b"ab\n" + b"x" * 100) == [b"ab"]
    assert buffer.feed(b"x" * 100 + b"\ncd\r\n\ne") == [b"cd"]
    assert (buffer.dropped, buffer.pending) == (1, 1)
