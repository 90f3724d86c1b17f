"""What Copilot CLI writes to standard output: its events with ``--output-format json``, else plain text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple, Protocol

import msgspec

from loopguard_cli.agents.claude import reading
from loopguard_cli.wire.lines import LineBuffer

LINE_BYTES = 16 << 20
"""Longest event; a longer line is passed on and not read."""


class Kind(Enum):
    START = auto()
    TEXT = auto()
    REASONING = auto()
    END = auto()
    """The message is complete; ``text`` is the whole of it."""
    ERROR = auto()
    UNREAD = auto()
    """``text`` names what could not be read."""


class Said(NamedTuple):
    """One thing said. ``message`` is empty where messages have no names, ``agent`` for the main agent."""

    kind: Kind
    text: str = ""
    message: str = ""
    agent: str = ""
    model: str = ""


class Reader(Protocol):
    """Reads one process's standard output."""

    def feed(self, data: bytes) -> Iterator[Said]: ...


class Events:
    """One JSON object a line."""

    def __init__(self) -> None:
        self._lines = LineBuffer(LINE_BYTES)

    def feed(self, data: bytes) -> Iterator[Said]:
        before = self._lines.dropped
        for line in self._lines.feed(data):
            yield from self._read(line)
        for _ in range(self._lines.dropped - before):
            yield Said(Kind.UNREAD, "line: too long")

    def _read(self, line: bytes) -> Iterator[Said]:
        try:
            event = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            yield Said(Kind.UNREAD, "line: not JSON")
            return
        agent, data = reading.text(event, "agentId"), reading.record(event, "data")
        message = reading.text(data, "messageId")
        match reading.text(event, "type"):
            case "assistant.message_start" if message:
                yield Said(Kind.START, "", message, agent)
            case "assistant.message_delta" if message:
                yield Said(Kind.TEXT, reading.text(data, "deltaContent"), message, agent)
            case "assistant.reasoning_delta":
                yield Said(Kind.REASONING, reading.text(data, "deltaContent"), "", agent)
            case "assistant.message" if message:
                content = reading.text(data, "content")
                yield Said(Kind.END, content, message, agent, reading.text(data, "model"))
            case "session.error":
                yield Said(Kind.ERROR, reading.text(data, "message"), "", agent)
            case _:
                pass


_MARKS = "●○◐◑◒◓✓✔✗✘✖⚠"
"""How the report of a tool call begins; what belongs to it is indented, until an empty line."""

_PIECES = re.compile(r"[^\n]*\n|[^\n]+")


class Text:
    """What the model says, and between it what the program tells of tool calls, which is left out here."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        """The beginning of a line that may still turn out to be either."""
        self._in_line = self._in_report = False
        self._skipping = False
        """The rest of the line belongs to a report."""

    def feed(self, data: bytes) -> Iterator[Said]:
        text = "".join(self._pieces(self._decoder.decode(data)))
        if text:
            yield Said(Kind.TEXT, text)

    def _pieces(self, text: str) -> Iterator[str]:
        for line in _PIECES.findall(text):
            yield from self._piece(line)

    def _piece(self, piece: str) -> Iterator[str]:
        ends = piece.endswith("\n")
        if not self._in_line:
            piece, self._held = self._held + piece, ""
            if len(piece) < 2 and not ends:
                self._held = piece
                return
            self._in_line = True
            around = self._in_report and (piece == "\n" or piece.startswith("  "))
            self._in_report = piece[0] in _MARKS or (around and piece != "\n")
            self._skipping = self._in_report or around
        if not self._skipping:
            yield piece
        if ends:
            self._in_line = False


def reader(*, json: bool) -> Reader:
    return Events() if json else Text()
