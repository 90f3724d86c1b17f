"""OpenHands: the last 20 events since the person's message hold one of four patterns.

The same action and observation four times; the same action and an error three times (a hint) or
four; three equal messages in a row; two pairs in turn, six actions and observations. Equality
includes the text before an action.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from loopguard_cli.core.events import (
    Channel,
    Event,
    ReplyFinished,
    TextDelta,
    ToolAsked,
    ToolFinished,
    UserSpoke,
)
from loopguard_cli.core.ids import CallId
from tests.bench.rivals.rival import form

PAIRS = 10
"""Actions with their observations: 20 events."""


class Pair(NamedTuple):
    action: bytes
    observation: str
    failed: bool


class OpenHands:
    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._pairs: list[Pair] = []
        self._asked: dict[CallId, bytes] = {}
        self._messages: list[str] = []
        self._text = ""

    def take(self, event: Event) -> Iterable[str]:
        match event:
            case UserSpoke():
                self._begin()
            case TextDelta(channel=Channel.TEXT):
                self._text += event.delta
            case ToolAsked():
                self._asked[event.call] = form(event.tool, event.args) + self._text.encode()
                self._text = ""
                self._messages.clear()
            case ToolFinished() if event.call in self._asked:
                self._pairs.append(Pair(self._asked.pop(event.call), event.output, not event.ok))
                del self._pairs[:-PAIRS]
                yield from self._look()
            case ReplyFinished() if self._text:
                self._messages.append(self._text)
                self._text = ""
                if len(self._messages) >= 3 and len(set(self._messages[-3:])) == 1:
                    yield "stop"
            case _:
                pass

    def _look(self) -> Iterable[str]:
        pairs = self._pairs
        four, three, six = pairs[-4:], pairs[-3:], pairs[-6:]
        if len(four) == 4 and len({(one.action, one.observation) for one in four}) == 1:
            yield "stop"
        elif len(three) == 3 and len({one.action for one in three}) == 1 and all(one.failed for one in three):
            again = len(four) == 4 and four[0].action == three[0].action and four[0].failed
            yield "stop" if again else "nudge"
        elif len(six) == 6 and six[0] == six[2] == six[4] != six[1] == six[3] == six[5]:
            yield "stop"
