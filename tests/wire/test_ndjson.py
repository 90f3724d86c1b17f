import msgspec
from hypothesis import given
from hypothesis import strategies as st

from loopguard_cli.wire.ndjson import Decoder, Malformed, encode


class Ping(msgspec.Struct, tag="ping", tag_field="type"):
    number: int = 0


class Pong(msgspec.Struct, tag="pong", tag_field="type"):
    text: str = ""


def decoder() -> Decoder[Ping | Pong]:
    return Decoder(Ping | Pong, limit=100)


def test_messages_in_order_over_any_cut() -> None:
    sent = [Ping(1), Pong("ü\n"), Ping(2)]
    stream = b"".join(map(encode, sent))
    for at in range(len(stream)):
        reader = decoder()
        assert [*reader.feed(stream[:at]), *reader.feed(stream[at:])] == sent


def test_nonsense_is_named_and_skipped() -> None:
    lines = [
        b"{",
        b'{"type":"pang"}',
        b'{"type":"ping","number":"x"}',
        b"[" * 100,
        b"x" * 101,
        encode(Ping(3))[:-1],
    ]
    said = list(decoder().feed(b"\n".join(lines) + b"\n"))
    assert [isinstance(message, Malformed) for message in said] == [True, True, True, True, False, True]
    assert Ping(3) in said


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_no_bytes_make_it_raise(pieces: list[bytes]) -> None:
    reader = decoder()
    for piece in pieces:
        for message in reader.feed(piece):
            assert isinstance(message, Ping | Pong | Malformed)
