"""The form of one ledger line.

``{"v":1,"seq":7,"time":1790000000.25,"run":"…","record":{…},"crc":"89abcdef"}`` and a line end.
``seq`` counts the lines of the folder, over all runs and generations. ``time`` is Unix time in
seconds. ``crc`` is the CRC-32 (hexadecimal) of all bytes of the line before ``,"crc"``.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import msgspec

from loopguard_cli.core.records import AnyRecord, Record

VERSION = 1
"""Raised when an older loopguard could misread a line. New kinds of records do not need it."""
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""By version: makes a line of that version (its JSON object) one of the next. Lines are upgraded as
they are read; files are never rewritten, but a new generation restates state in today's form."""
MAX_LINE_BYTES = 16 << 20
"""A session with a hundred goals of the greatest length stays below; a longer line is not ours."""

_PRESENT = b'{"v":%d,' % VERSION
_CRC_MARK = b',"crc":"'
_TAIL_BYTES = len(_CRC_MARK) + 8 + 2

_encoder = msgspec.json.Encoder()


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One intact line of the ledger."""

    seq: int
    time: float
    """Unix time in seconds."""
    run: str
    record: AnyRecord
    restated: bool = False
    """Not news: repeated from the former generation at the head of a new one."""


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """Something in the ledger that is no entry; reading goes on behind it."""

    file: str
    line: int
    """From 1; 0: the file as a whole."""
    reason: str
    """torn, foreign, checksum, newer, unknown (a record type that we do not know) or oversized, of
    lines; newer, unreadable or overlong (could not be rotated), of files."""
    detail: str = ""


class _Line(msgspec.Struct):
    v: int
    seq: int
    time: float
    run: str
    record: AnyRecord


class _Head(msgspec.Struct):
    v: int
    record: dict[str, Any] | None = None


_decoder = msgspec.json.Decoder(_Line)
_head_decoder = msgspec.json.Decoder(_Head)


def encode(seq: int, time: float, run: str, record: Record) -> bytes:
    """The line, its end included."""
    try:
        inner = _encoder.encode(record)
    except UnicodeEncodeError:  # a lone surrogate, from an undecodable command line argument
        inner = _encoder.encode(_encodable(msgspec.to_builtins(record)))
    body = b'{"v":%d,"seq":%d,"time":%s,"run":%s,"record":%s' % (
        VERSION,
        seq,
        _encoder.encode(round(time, 6)),
        _encoder.encode(run),
        inner,
    )
    return b'%s,"crc":"%08x"}\n' % (body, zlib.crc32(body))


def decode(line: bytes) -> Entry | str:
    """The entry in ``line`` (without its end), or why there is none (see `Damage.reason`)."""
    if len(line) > MAX_LINE_BYTES:
        return "oversized"
    body, mark = line[:-_TAIL_BYTES], line[-_TAIL_BYTES:]
    if not mark.startswith(_CRC_MARK) or not line.endswith(b'"}'):
        return _why_not(line)
    if mark[len(_CRC_MARK) : -2] != b"%08x" % zlib.crc32(body):
        return "checksum"
    try:
        read = _decoder.decode(line) if line.startswith(_PRESENT) else _upgraded(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _why_not(line)
    if read.v != VERSION:
        return _why_not(line)
    return Entry(seq=read.seq, time=read.time, run=read.run, record=read.record)


def _upgraded(line: bytes) -> _Line:
    """Raises `msgspec.DecodeError` for what is no line of an older version."""
    found = msgspec.json.decode(line, type=dict[str, Any])
    while isinstance(version := found.get("v"), int) and version in UPGRADES:
        found = {**UPGRADES[version](found), "v": version + 1}
    return msgspec.convert(found, _Line)


def _why_not(line: bytes) -> str:
    try:
        head = _head_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "torn" if line.startswith(b'{"v":') else "foreign"
    if head.v > VERSION:
        return "newer"
    return "unknown" if head.record is not None else "foreign"


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value
