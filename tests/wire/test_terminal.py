"""Escape sequences, taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_cli.wire.terminal import LIMIT, Control, Csi, Escape, Text, Token, Tokenizer


def tokens(data: bytes) -> list[Token]:
    return list(Tokenizer().feed(data))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"plain", [Text("plain")]),
        (b"a\r\nb", [Text("a"), Control("\r"), Control("\n"), Text("b")]),
        ("\u00e9\u4f60".encode(), [Text("\u00e9\u4f60")]),
        (b"\xffa", [Text("\ufffda")]),
        (b"\x1b[2;5H", [Csi("H", (2, 5))]),
        (b"\x1b[H", [Csi("H")]),
        (b"\x1b[;7H", [Csi("H", (0, 7))]),
        (b"\x1b[?1049h", [Csi("h", (1049,), "?")]),
        (b"\x1b[>1u", [Csi("u", (1,), ">")]),
        (b"\x1b[2 q", [Csi("q", (2,), "", " ")]),
        (b"\x1b[99999999A", [Csi("A", (9999,))]),
        (b"\x1b[31mred\x1b[0m", [Text("red")]),
        (b"\x1b[38:2:1:2:3mx", [Text("x")]),
        (b"\x1bM\x1b(B\x1b7", [Escape("M"), Escape("B", "("), Escape("7")]),
        (b"\x1b]0;title\x07x", [Text("x")]),
        (b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", [Text("link")]),
        (b"\x1bPq\x1b\\\x1b_Gi=1;AA\x1b\\\x1b^x\x1b\\\x1bXy\x1b\\z", [Text("z")]),
        (b"\x1b]0;cut\x18x", [Text("x")]),
        (b"\x1b]0;cut\x1b[Ax", [Csi("A"), Text("x")]),
        (b"\x1b[1\nAx", [Control("\n"), Csi("A", (1,)), Text("x")]),
        (b"\x1b[1\x1b[2A", [Csi("A", (2,))]),
        (b"\x1b[1\x18A", [Text("A")]),
        ("\u009b2A\u009dtitle\u009cx".encode(), [Csi("A", (2,)), Text("x")]),
        (b"\x1b[" + b"1" * (LIMIT + 1), []),
    ],
)
def test_what_sequences_are(data: bytes, expected: list[Token]) -> None:
    assert tokens(data) == expected


def _whole(found: list[Token]) -> list[Token]:
    """Neighbouring texts as one."""
    joined: list[Token] = []
    for token in found:
        if isinstance(token, Text) and joined and isinstance(joined[-1], Text):
            joined[-1] = Text(joined[-1].text + token.text)
        else:
            joined.append(token)
    return joined


pieces = st.one_of(
    st.binary(max_size=8),
    st.sampled_from([b"\x1b", b"[", b"]", b"P", b"\\", b"1;2", b"?", b"m", b"H", b"\x07", b"\x18", b"\x9b"]),
    st.text(max_size=4).map(str.encode),
)


@given(st.lists(pieces, max_size=30))
def test_any_split_gives_the_same(parts: list[bytes]) -> None:
    tokenizer = Tokenizer()
    found = [token for part in parts for token in tokenizer.feed(part)]
    assert _whole(found) == _whole(tokens(b"".join(parts)))
