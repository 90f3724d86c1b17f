"""Gemini CLI: cycles of one to five calls, five times over; a 50-character chunk ten times, near each other.

Results do not matter. Text is forgotten at code fences, tables, lists, headings and quotes, and not
looked at within code. The first hit gives the model feedback, the second ends the turn; a new
prompt begins anew. Its second opinion by a model is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from loopguard_cli.core.events import Channel, Event, TextDelta, ToolAsked, UserSpoke
from tests.bench.rivals.rival import form

REPEATS = 5
LONGEST = 5

CHUNK = 50
CHUNKS = 10
DISTANCE = 250
"""Mean distance of the occurrences, in characters."""
GAPS = 5
"""Different distances."""
HISTORY = 5_000

_BREAK = re.compile(r"^(?:```|\||\s*[*+]\s|\s*\d+\.\s|#+\s|>)", re.MULTILINE)


class Gemini:
    def __init__(self) -> None:
        self._hits = 0
        self._seen: dict[str, list[int]] = {}
        self._forget()

    def take(self, event: Event) -> Iterable[str]:
        if isinstance(event, UserSpoke):
            self._hits = 0
            self._forget()
        elif isinstance(event, ToolAsked):
            self._text, self._at, self._seen = "", 0, {}
            self._calls.append(form(event.tool, event.args))
            del self._calls[: -REPEATS * LONGEST]
            if any(self._goes_round(length) for length in range(1, LONGEST + 1)):
                yield self._hit()
        elif isinstance(event, TextDelta) and event.channel is Channel.TEXT:
            self._calls.clear()
            if self._repeats(event.delta):
                yield self._hit()

    def _hit(self) -> str:
        self._hits += 1
        self._forget()
        return "nudge" if self._hits == 1 else "stop"

    def _forget(self) -> None:
        self._calls: list[bytes] = []
        self._text, self._at = "", 0
        self._seen = {}
        self._in_code = False

    def _goes_round(self, length: int) -> bool:
        calls = self._calls[-REPEATS * length :]
        return len(calls) == REPEATS * length and calls == calls[:length] * REPEATS

    def _repeats(self, text: str) -> bool:
        fences = text.count("```")
        if fences or self._in_code or _BREAK.search(text):
            self._text, self._at, self._seen = "", 0, {}
            self._in_code ^= bool(fences % 2)
            return False
        self._text += text
        if len(self._text) > HISTORY:
            cut = len(self._text) - HISTORY
            self._text, self._at = self._text[cut:], max(0, self._at - cut)
            self._seen = {
                chunk: kept
                for chunk, places in self._seen.items()
                if (kept := [place - cut for place in places if place >= cut])
            }
        while self._at + CHUNK <= len(self._text):
            chunk = self._text[self._at : self._at + CHUNK]
            places = self._seen.setdefault(chunk, [])
            places.append(self._at)
            self._at += 1
            latest = places[-CHUNKS:]
            if len(latest) == CHUNKS:
                gaps = [b - a for a, b in pairwise(latest)]
                if sum(gaps) / len(gaps) <= DISTANCE and len(set(gaps)) <= GAPS:
                    return True
        return False
