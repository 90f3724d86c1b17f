"""The plain console of driven agents: what the agent says goes out as text, what the person types in.

Assistant text goes to standard output, everything about it to standard error, so that a pipe gets
the answer alone. Nothing is redrawn: it reads the same in a log.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TextIO

import msgspec

from loopguard_cli.agents.base import Answer, Driven, Overheard, Question, Show, Shown
from loopguard_cli.agents.tools import slash
from loopguard_cli.core.effects import Respond
from loopguard_cli.core.events import Asked, Event, Surface
from loopguard_cli.core.ids import RequestId
from loopguard_cli.runtime.telling.notices import write
from loopguard_cli.wire.lines import LineBuffer

LINE_BYTES = 1 << 20
"""Longest line that can be typed or pasted."""

INPUT_BYTES = 16 << 20
"""Longest prompt from a pipe."""

_PREFIX = "console."
_MARKS = {Show.TOOL: "* ", Show.RESULT: "  ", Show.NOTE: "- ", Show.PROMPT: "> "}
_STYLES = {Show.REASONING: "2;3", Show.TOOL: "36", Show.RESULT: "2", Show.NOTE: "2", Show.PROMPT: "1"}

Take = Callable[[Answer], None]
Post = Callable[[Iterable[Event]], None]


class Console:
    """Standard output and input of one driven run."""

    def __init__(self, adapter: Driven, take: Take, post: Post, *, interactive: bool) -> None:
        self._adapter = adapter
        self._take = take
        self._post = post
        self._interactive = interactive
        self._waiting: asyncio.TimerHandle | None = None
        self._fd = -1
        self._lines = LineBuffer(LINE_BYTES)
        self._all = bytearray()
        self._overheard = False
        self._questions: deque[Question] = deque()
        self._requests = 0
        self._at_start = True
        """Nothing stands on the present line."""
        self._last: Show | None = None
        self.finished = False
        """The person types nothing any more."""

    # --- out ---------------------------------------------------------------------------------

    def show(self, shown: Shown) -> None:
        if shown.kind is Show.OUT:
            _write(sys.stdout, shown.text)
        elif shown.kind is Show.ERR:
            _write(sys.stderr, shown.text)
        elif shown.kind in (Show.TEXT, Show.REASONING):
            self._stream(shown)
        elif shown.kind is Show.END:
            self.break_line()
        else:
            self.break_line()
            lines = shown.text.splitlines() or [""]
            for line in lines:
                self._line(_MARKS[shown.kind] + printable(line), _STYLES[shown.kind])
        self._last = shown.kind

    def say(self, text: str) -> None:
        """A notice of our own."""
        self.break_line()
        write(text)

    def break_line(self) -> None:
        if not self._at_start:
            _write(sys.stdout, "\n")
            self._at_start = True

    def _stream(self, shown: Shown) -> None:
        if self._last in (Show.TEXT, Show.REASONING) and self._last is not shown.kind:
            self.break_line()
        text = printable(shown.text)
        if not text:
            return
        reasoning = shown.kind is Show.REASONING
        stream = sys.stderr if reasoning else sys.stdout
        _write(stream, _styled(stream, text, _STYLES[Show.REASONING]) if reasoning else text)
        self._at_start = text.endswith("\n")

    def _line(self, text: str, style: str) -> None:
        _write(sys.stderr, _styled(sys.stderr, text, style) + "\n")

    # --- questions ---------------------------------------------------------------------------

    def ask(self, question: Question) -> None:
        if not self._interactive or self.finished:
            self._take(self._adapter.chosen(question.id, ""))
            return
        self._questions.append(question)
        if len(self._questions) == 1:
            self._print_question()

    def withdraw(self, question: str) -> None:
        first = self._questions[0].id if self._questions else ""
        kept = [q for q in self._questions if q.id != question]
        self._questions = deque(kept)
        if first == question and kept:
            self._print_question()

    def _print_question(self) -> None:
        question = self._questions[0]
        self.break_line()
        choices = ", ".join(f"[{c.key}] {printable(c.label)}" for c in question.choices)
        self._line(f"? {printable(question.text)}  {choices}", "1;33")

    # --- in ----------------------------------------------------------------------------------

    def begin(self, source: int = 0, patience: float | None = None) -> None:
        """Start to read what the person types, or what a pipe holds (`LaunchPlan.input_seconds`)."""
        if patience == 0:
            self._end()
            return
        self._fd = os.dup(source)
        if patience is not None:
            self._waiting = asyncio.get_running_loop().call_later(patience, self._end)
        try:
            asyncio.get_running_loop().add_reader(self._fd, self._read)
        except OSError:  # a regular file: there is nothing to wait for
            while not self.finished:
                self._read()

    def close(self) -> None:
        self._stop_waiting()
        if self._fd >= 0:
            with suppress(OSError, ValueError):
                asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
        self.break_line()

    def reply(self, effect: Respond) -> bool:
        """Show an answer; False when the question was not typed here."""
        if not effect.request.startswith(_PREFIX):
            return False
        text = effect.text or effect.code
        for name, value in effect.data.items() if not effect.text else ():
            text += f"\n{name}: {msgspec.json.encode(value).decode()}"
        self.show(Shown(kind=Show.NOTE, text=text.strip()))
        return True

    def _read(self) -> None:
        try:
            data = os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._stop_waiting()
        if self._interactive:
            for line in self._lines.feed(data):
                self._entered(line.decode(errors="replace").strip())
        else:
            self._all += data[: INPUT_BYTES - len(self._all)]
            self._overhear()
        if not data:
            self._end()

    def _overhear(self) -> None:
        """Tell the adapter how the input begins: who waits for an answer does not end it."""
        line, end, _ = self._all.partition(b"\n")
        if end and not self._overheard:
            self._overheard = True
            if isinstance(self._adapter, Overheard):
                self._take(self._adapter.overheard(line.decode(errors="replace")))
                self._post(())

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _end(self) -> None:
        self._stop_waiting()
        with suppress(OSError, ValueError):
            asyncio.get_running_loop().remove_reader(self._fd)
        self.finished = True
        for question in list(self._questions):
            self._take(self._adapter.chosen(question.id, ""))
        self._questions.clear()
        if not self._interactive:
            self._take(self._adapter.typed(self._all.decode(errors="replace").strip()))
        self._post(())

    def _entered(self, text: str) -> None:
        self._at_start = True
        if not text:
            return
        if self._questions:
            self._choose(text)
            return
        name, _, rest = text.removeprefix("/").partition(" ")
        if text.startswith("/") and name in [command.name for command in self._adapter.commands]:
            self._command(name, rest)
        else:
            self._take(self._adapter.typed(text))

    def _choose(self, text: str) -> None:
        question = self._questions[0]
        keys = {choice.key.lower(): choice.key for choice in question.choices}
        key = keys.get(text.lower())
        if key is None:
            self._print_question()
            return
        self._questions.popleft()
        self._take(self._adapter.chosen(question.id, key))
        if self._questions:
            self._print_question()

    def _command(self, name: str, text: str) -> None:
        operation, arguments = slash(name, text)
        self._requests += 1
        asked = Asked(
            session=self._adapter.session,
            request=RequestId(f"{_PREFIX}{self._requests}"),
            operation=operation,
            arguments=arguments,
            surface=Surface.SLASH,
        )
        self._post((asked,))


def printable(text: str) -> str:
    """Without control characters: what a model says must not move the person's cursor."""
    if text.isprintable():
        return text
    return "".join(c for c in text if c in "\n\t" or c.isprintable() or c == "\u00a0")


def _styled(stream: TextIO, text: str, style: str) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    return text if plain else f"\x1b[{style}m{text}\x1b[0m"


def _write(stream: TextIO, text: str) -> None:
    with suppress(OSError, ValueError):
        stream.write(text)
        stream.flush()
