"""Reading recorded traces: our own recordings, and the neutral format for labelled traces.

Both are JSON lines; line 1 is a header, and event 0 stands in line 2.

*Recording* (``loopguard run --record``): header ``{"format": "loopguard-record", "version": 1, ...}``,
then ``{"t": seconds since the start, "event": {...}}`` with the events of `core.events`.

*Neutral*: the header describes the trace (``trace``, ``label``, ``loop_kind``, ``loop_at``, …); an
event has ``t`` (seconds; 6 s per event where missing), ``kind`` (user, text, text_delta, reasoning,
tool_call, tool_result, turn_end), ``tool``, ``args``, ``id``, ``ok``, ``output`` (cut), ``output_sha``
and ``output_len`` (of the whole output), ``text``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from loopguard_cli.core.events import Event, decode
from loopguard_cli.errors import InputError
from loopguard_cli.history.lines import opened
from loopguard_cli.store.folder import reason
from loopguard_cli.study.neutral import Translator

RECORD_FORMAT = "loopguard-record"
RECORD_VERSION = 1

SECONDS_PER_EVENT = 6.0

MAX_LINE = 64 * 1024 * 1024
"""Bytes; a longer line is damage, not a trace."""

Damage = Callable[[InputError], None]
"""Told about each line that is skipped."""


class Moment(msgspec.Struct, frozen=True):
    """One line of a trace: what happened, when."""

    index: int
    """The number of the event in the file, from 0."""
    time: float
    events: tuple[Event, ...]


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace says about itself. Everything but the name may be missing."""

    trace: str = ""
    source: str = ""
    label: str = ""
    loop_kind: str | None = None
    loop_at: int | None = None
    recovered: bool | None = None
    rule: str | None = None
    repeats: list[dict[str, Any]] = []
    format: str = ""
    version: int = 0
    salt: str = ""
    """Recordings: what effect ids were made from, so that a replay makes equal ones."""
    capabilities: dict[str, bool] = {}
    """Recordings: what the agent could do."""
    started: float = 0.0
    """Recordings: when they began, as Unix time in seconds."""

    @property
    def is_recording(self) -> bool:
        return self.format == RECORD_FORMAT


class Trace:
    """One trace file, read line by line; nothing of it is kept."""

    def __init__(self, path: Path, damage: Damage | None = None) -> None:
        """Opens nothing yet. Without ``damage`` the first bad line raises `InputError`."""
        self.path = path
        self._damage = damage

    def header(self) -> Header:
        """Raises `InputError` if there is none: without it the file is no trace."""
        with self._open() as file:
            return self._header(file)

    def moments(self) -> Iterator[Moment]:
        """The events in the order of the file."""
        with self._open() as file:
            header = self._header(file)
            translator = None if header.is_recording else Translator()
            time = 0.0
            for index, raw in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b"")):
                if not raw.strip():
                    continue
                try:
                    moment = (
                        _recorded(index, raw) if translator is None else _told(index, raw, time, translator)
                    )
                except (msgspec.DecodeError, msgspec.ValidationError, ValueError, TypeError) as error:
                    self._bad(index + 2, str(error))
                    continue
                time = moment.time
                yield moment

    # --- inside ------------------------------------------------------------------------------

    def _open(self) -> BinaryIO:
        try:
            return opened(self.path)
        except OSError as error:
            # Header and events are read one after the other, and again: a pipe gives all of it only once.
            hint = "" if error.errno else "write it into a file first"
            raise InputError(f"{self.path}: {reason(error)}", hint) from error

    def _header(self, file: BinaryIO) -> Header:
        raw = file.readline(MAX_LINE + 1)
        try:
            header = msgspec.json.decode(raw, type=Header)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._error(1, f"no trace header: {error}") from error
        if header.is_recording and header.version != RECORD_VERSION:
            raise self._error(
                1, f"recording of version {header.version}; this version reads {RECORD_VERSION}"
            )
        if not header.is_recording and (header.format or not header.trace):
            raise self._error(1, "neither a recording nor a trace: the header names no trace")
        return header

    def _error(self, line: int, text: str) -> InputError:
        return InputError(
            f"{self.path}:{line}: {text}", "--keep-going skips damaged lines" if line > 1 else ""
        )

    def _bad(self, line: int, text: str) -> None:
        error = self._error(line, text)
        if self._damage is None:
            raise error
        self._damage(error)


class _Recorded(msgspec.Struct, frozen=True):
    t: float
    event: msgspec.Raw


_recorded_decoder = msgspec.json.Decoder(_Recorded)


def _recorded(index: int, raw: bytes) -> Moment:
    line = _recorded_decoder.decode(raw)
    return Moment(index, line.t, (decode(bytes(line.event)),))


class _Told(msgspec.Struct, frozen=True):
    """One event of the neutral format."""

    kind: str
    t: float | None = None
    tool: str | None = None
    args: dict[str, Any] | None = None
    id: str | int | None = None
    ok: bool | None = None
    output: str | None = None
    output_sha: str | None = None
    output_len: int | None = None
    text: str | None = None


_told_decoder = msgspec.json.Decoder(_Told)


def _told(index: int, raw: bytes, before: float, translator: Translator) -> Moment:
    line = _told_decoder.decode(raw)
    paced = before + SECONDS_PER_EVENT if index else 0.0
    time = paced if line.t is None else line.t
    return Moment(index, time, tuple(translator.translate(index, line)))
