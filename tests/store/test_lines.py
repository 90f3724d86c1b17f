from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard_cli.core.records import AnyRecord, CallSeen, GoalRecord, LoopFound
from loopguard_cli.store import lines
from loopguard_cli.store.lines import UPGRADES, VERSION, Damage, Entry, decode, encode
from loopguard_cli.store.reading import parse

LEDGERS = Path(__file__).parent / "ledgers"
"""A file of each version that was ever released, with one line of each kind."""

TEXT = st.text(st.characters(codec="utf-8"), max_size=50)
RECORDS = st.one_of(
    st.builds(GoalRecord, session=TEXT, goal=TEXT, event=TEXT, detail=TEXT, data=st.dictionaries(TEXT, TEXT)),
    st.builds(
        CallSeen,
        session=TEXT,
        tool=TEXT,
        key=TEXT,
        count=st.integers(0, 2**53),
        verdict=TEXT,
        event=st.just(0),
    ),
)


@given(st.integers(1, 2**53), st.floats(0, 4e9), TEXT, RECORDS)
def test_a_line_is_read_as_it_was_written(seq: int, time: float, run: str, record: Any) -> None:
    line = encode(seq, time, run, record)
    assert line.count(b"\n") == 1
    assert decode(line[:-1]) == Entry(seq=seq, time=round(time, 6), run=run, record=record)
    assert json.loads(line)["record"].get("session", "") == record.session


@given(RECORDS, st.integers(0), st.integers(1, 255))
def test_a_changed_byte_never_goes_unnoticed(record: Any, place: int, change: int) -> None:
    line = bytearray(encode(1, 1.0, "r", record)[:-1])
    line[place % len(line)] ^= change
    assert isinstance(decode(bytes(line)), str)


@given(RECORDS, st.data())
def test_a_cut_line_is_no_entry(record: Any, data: st.DataObject) -> None:
    line = encode(1, 1.0, "r", record)[:-1]
    assert isinstance(decode(line[: data.draw(st.integers(0, len(line) - 1))]), str)


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(noise: bytes) -> None:
    assert isinstance(decode(noise), str)
    body = b'{"v":1,"record":' + noise
    assert decode(b'%s,"crc":"%08x"}' % (body, zlib.crc32(body))) in {"foreign", "unknown", "torn"}


def test_deep_nesting_does_not_make_it_raise() -> None:
    body = b'{"v":1,"record":' + b"[" * 100_000
    assert isinstance(decode(b'%s,"crc":"%08x"}' % (body, zlib.crc32(body))), str)


def test_what_is_too_long_is_not_even_looked_at() -> None:
    assert decode(b"x" * (lines.MAX_LINE_BYTES + 1)) == "oversized"


def test_the_checksum_can_be_verified_by_anybody() -> None:
    body, _, rest = encode(1, 1.5, "r", LoopFound(rule="x", verdict="block")).rpartition(b',"crc":"')
    assert rest == b'%08x"}\n' % zlib.crc32(body)


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_every_released_version_is_still_read(version: int) -> None:
    file = LEDGERS / f"v{version}.jsonl"
    found = list(parse(file.name, file.read_bytes()))
    assert [item for item in found if isinstance(item, Damage)] == []
    kinds = {type(item.record) for item in found if isinstance(item, Entry)}
    assert version < VERSION or kinds == set(AnyRecord.__args__)


def test_every_older_version_has_a_way_up() -> None:
    assert set(UPGRADES) == set(range(1, VERSION))


def test_lines_are_upgraded_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def oldest(found: dict[str, Any]) -> dict[str, Any]:
        found["when"] = found.pop("t")
        return found

    def older(found: dict[str, Any]) -> dict[str, Any]:
        found["time"] = found.pop("when") / 1000
        return found

    monkeypatch.setitem(UPGRADES, -1, oldest)
    monkeypatch.setitem(UPGRADES, 0, older)
    body = b'{"v":-1,"seq":4,"t":2500,"run":"r","record":{"type":"user"}'
    found = decode(b'%s,"crc":"%08x"}' % (body, zlib.crc32(body)))
    assert isinstance(found, Entry)
    assert (found.seq, found.time) == (4, 2.5)


def test_a_version_without_a_way_up_is_foreign() -> None:
    body = b'{"v":0,"seq":4,"time":2500,"run":"r","record":{"type":"user"}'
    assert decode(b'%s,"crc":"%08x"}' % (body, zlib.crc32(body))) == "unknown"
