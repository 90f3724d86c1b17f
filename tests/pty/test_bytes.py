"""Every byte passes loopguard unchanged, both ways."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tests.pty.guarded import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


MODES = (
    "\x1b[?1049h\x1b[?1000;1006h\x1b[?2004h\x1b[>1u\x1b[?1004h\x1b]0;title\x07\x1bPq#0;2;0;0;0\x1b\\"
    "\x1b[38;2;1;2;3mrgb\x1b[0m\x1b[48:5:200mcolon\x1b[m\x1b[6n\x1b[c\x1b]52;c;aGk=\x07\x1b_Gi=1;\x1b\\"
    "\x1b[<u\x1b[?2004l\x1b[?1006;1000;1004l\x1b[?1049l"
)


def test_colours_and_protocols_come_out_byte_by_byte(desk: Desk) -> None:
    palette = "".join(f"\x1b[48;5;{number}m \x1b[38;5;{number}m{number:3}" for number in range(256))
    everything = bytes(range(256))
    written = MODES.encode() + palette.encode() + everything + b"\xff\xfe\xc3"
    source = f"import os, tty; tty.setraw(1); data = {written!r}\nwhile data: data = data[os.write(1, data):]"
    argv = desk.script("colours.py", source)
    raw = []
    for guarded in (False, True):
        with desk.terminal(argv, guarded=guarded) as terminal:
            assert terminal.wait() == 0
            raw.append(terminal.raw)
    alone, guarded_bytes = raw
    assert alone == written
    assert guarded_bytes.startswith(written)


READER = """
import hashlib, os, sys, tty
tty.setraw(0)
count = int(sys.argv[1])
os.write(1, b"ready")
data = b""
while len(data) < count:
    data += os.read(0, 65536)
os.write(1, hashlib.sha256(data).hexdigest().encode() + b"!")
"""


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(bytes(range(256)) * 4, id="every byte"),
        pytest.param(b"\x1b[200~one\rtwo\x1b[201~\r", id="a paste"),
        pytest.param(b"\x1b[<0;10;5M\x1b[<0;10;5m\x1b[M !!", id="the mouse"),
        pytest.param(b"\x1b[97;5u\x1b[27;2;13~\x1b[1;5A\x1bOP\x1b[57414;1:3u", id="keyboard protocols"),
        pytest.param("\u00e9\u4f60\U0001f600\ud55c".encode(), id="characters"),
        pytest.param(b"\x1b[200~" + b"pasted line of text\r" * 52_430 + b"\x1b[201~", id="a paste of 1 MB"),
    ],
)
def test_keys_come_in_byte_by_byte(desk: Desk, keys: bytes) -> None:
    argv = [*desk.script("reader.py", READER), str(len(keys))]
    with desk.terminal(argv, guarded=True) as terminal:
        terminal.wait_for("ready")
        terminal.write(keys)
        terminal.wait_for(hashlib.sha256(keys).hexdigest(), timeout=60)
        assert terminal.wait() == 0


@pytest.mark.slow
def test_nothing_of_100_mb_is_lost(desk: Desk) -> None:
    size = 100 << 20
    source = f"""
import hashlib, os, tty
tty.setraw(1)
digest, left, block = hashlib.sha256(), {size}, bytes(range(256)) * 256
while left:
    piece = block[:left]
    digest.update(piece)
    left -= len(piece)
    while piece:
        piece = piece[os.write(1, piece):]
open("digest", "w").write(digest.hexdigest())
"""
    argv = desk.script("flood.py", source)
    digest, left = hashlib.sha256(), size
    with desk.drained(argv) as chunks:
        for chunk in chunks:
            digest.update(chunk[:left])
            left -= len(chunk[:left])
    assert left == 0
    assert digest.hexdigest() == (desk.project / "digest").read_text()


def test_a_slow_terminal_gets_the_last_words(desk: Desk) -> None:
    source = "import os, tty; tty.setraw(1)\nfor n in range(4000): os.write(1, b'%063d\\n' % n)"
    argv = desk.script("burst.py", source)
    with desk.drained(argv, when_done=True) as chunks:
        got = b"".join(chunks)
    assert [int(line) for line in got.split(b"\n")[:4000]] == list(range(4000))
