"""What programs write to a terminal, taken apart: text, control characters, escape sequences.

Bytes in, tokens out; any split of the bytes gives the same tokens, and nothing raises. The grammar is
that of ECMA-48 as terminals read it (the state machine of Paul Williams, https://vt100.net/emu/): a
control character inside a sequence takes effect at once, CAN and SUB abandon the sequence, ESC begins
a new one. Sequences longer than `LIMIT` are abandoned; colours and strings to the terminal (titles,
images, clipboard) are skipped.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

LIMIT = 256
"""Characters of one escape sequence; the longest real ones (colours of a whole palette) stay below."""

MAX_NUMBER = 9999
"""Parameters are cut off here; no screen is larger."""


class Text(NamedTuple):
    """Printable characters."""

    text: str


class Control(NamedTuple):
    """One control character, for example ``\\n``."""

    char: str


class Escape(NamedTuple):
    """An escape sequence of two or three characters: ``ESC intermediates final``."""

    final: str
    intermediates: str = ""


class Csi(NamedTuple):
    """A control sequence: ``ESC [ private numbers intermediates final``."""

    final: str
    numbers: tuple[int, ...] = ()
    """Missing ones are 0."""
    private: str = ""
    intermediates: str = ""

    def number(self, index: int = 0) -> int:
        """A parameter that counts something: at least 1."""
        return max(1, self.numbers[index]) if index < len(self.numbers) else 1


Token = Text | Control | Escape | Csi


class _In(Enum):
    GROUND = auto()
    ESCAPE = auto()
    CSI = auto()
    STRING = auto()
    STRING_ESCAPE = auto()
    """Inside a string, behind an ESC that may end it."""


_PRINTABLE = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
_STRING = re.compile(r"[^\x07\x18\x1a\x1b\x9c]+")
_STRINGS = frozenset("P]X^_")
_C1 = {"\x9b": "[", "\x90": "P", "\x9d": "]", "\x98": "X", "\x9e": "^", "\x9f": "_"}
_CANCEL = "\x18\x1a"
_COLOURS = re.compile(r"(?:\x1b\[[0-9;:]*m)+")
"""The sequences that coloured output is full of; nothing here needs them."""

_WHOLE = re.compile(r"\x1b\[([<-?]*)([0-9;:]*)([ -/]*)([@-~])")
"""A control sequence in one piece, which nearly all are."""


class Tokenizer:
    """Takes bytes in any portions."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._state = _In.GROUND
        self._sequence = ""

    def feed(self, data: bytes) -> Iterator[Token]:
        text = self._decode.decode(data)
        at, end = 0, len(text)
        while at < end:
            if self._state is _In.GROUND:
                run = _PRINTABLE.match(text, at)
                if run:
                    yield Text(run.group())
                    at = run.end()
                    continue
                if colours := _COLOURS.match(text, at):
                    at = colours.end()
                    continue
                whole = _WHOLE.match(text, at)
                if whole:
                    if whole[4] != "m":
                        yield _csi(*whole.groups())
                    at = whole.end()
                    continue
            elif self._state is _In.STRING and (run := _STRING.match(text, at)):
                at = run.end()
                continue
            token = self._step(text[at])
            at += 1
            if token is not None:
                yield token

    def _step(self, char: str) -> Token | None:
        if char in _CANCEL:
            self._state = _In.GROUND
            return None
        if char == "\x1b":
            in_string = self._state in (_In.STRING, _In.STRING_ESCAPE)
            self._begin(_In.STRING_ESCAPE if in_string else _In.ESCAPE)
            return None
        if char in _C1:
            self._introduced(_C1[char])
            return None
        match self._state:
            case _In.GROUND:
                return Control(char)
            case _In.STRING:
                if char in "\x07\x9c":
                    self._state = _In.GROUND
                return None
            case _In.STRING_ESCAPE if char == "\\":
                self._state = _In.GROUND
                return None
            case _In.STRING_ESCAPE:
                self._begin(_In.ESCAPE)
        if char < " ":
            return Control(char)
        if char == "\x7f":
            return None
        return self._in_escape(char) if self._state is _In.ESCAPE else self._in_csi(char)

    def _begin(self, state: _In) -> None:
        self._state, self._sequence = state, ""

    def _introduced(self, kind: str) -> None:
        self._begin(_In.CSI if kind == "[" else _In.STRING)

    def _in_escape(self, char: str) -> Token | None:
        if not self._sequence and (char == "[" or char in _STRINGS):
            self._introduced(char)
            return None
        if char <= "/":
            self._more(char)
            return None
        token = Escape(char, self._sequence)
        self._state = _In.GROUND
        return token

    def _in_csi(self, char: str) -> Token | None:
        if char < "@":
            self._more(char)
            return None
        whole = _WHOLE.fullmatch("\x1b[" + self._sequence + char)
        self._state = _In.GROUND
        return _csi(*whole.groups()) if whole and char != "m" else None

    def _more(self, char: str) -> None:
        self._sequence += char
        if len(self._sequence) > LIMIT:
            self._state = _In.GROUND


def _csi(private: str, parameters: str, intermediates: str, final: str) -> Csi:
    numbers: tuple[int, ...] = ()
    if parameters:
        fields = [field.partition(":")[0] for field in parameters[:LIMIT].split(";")]
        numbers = tuple(min(int(field[:6] or "0"), MAX_NUMBER) for field in fields)
    return Csi(final, numbers, private, intermediates)
