"""What a scripted model says, as data.

A `Script` is a list of turns. A turn names the user messages it answers and lists one `Reply` per
model call: the first answers the message itself, the next one the results of its tool calls, and
so on. A reply is a sequence of steps performed in order. Everything is a msgspec struct, so that a
script can be kept in a JSON file (`load`) as well as written in Python.

Nothing here knows a wire format; the front ends (`openai_sse`, `anthropic_sse`) put steps into theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import msgspec

from loopguard_cli.testing.conversation import Request


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="step"):
    """Base of all steps."""


class Say(Step, frozen=True, kw_only=True, tag="say"):
    """Stream prose."""

    text: str
    times: int | None = 1
    """How often; None: again and again until the client closes the connection."""
    pace: float = 0.0
    """Seconds after each chunk."""
    chunk: int = 0
    """Characters per chunk; 0: the whole text is one chunk."""

    def chunks(self) -> Iterator[str]:
        for text in repeat(self.text) if self.times is None else repeat(self.text, self.times):
            yield from _cut(text, self.chunk)


class Think(Step, frozen=True, kw_only=True, tag="think"):
    """Stream reasoning."""

    text: str
    pace: float = 0.0
    chunk: int = 0

    def chunks(self) -> Iterator[str]:
        yield from _cut(self.text, self.chunk)


class Call(Step, frozen=True, kw_only=True, tag="call"):
    """Ask for a tool call. Several in one reply are parallel calls."""

    tool: str
    args: dict[str, Any] = {}
    id: str = ""
    """Empty: made up, unique per server."""


class Wait(Step, frozen=True, kw_only=True, tag="wait"):
    """Send nothing for ``seconds``."""

    seconds: float


class Hold(Step, frozen=True, kw_only=True, tag="hold"):
    """Send nothing until `ScriptedModel.release` names it; without a name: for ever."""

    name: str = ""


class Drop(Step, frozen=True, kw_only=True, tag="drop"):
    """Cut the connection without ending the response."""


class Fail(Step, frozen=True, kw_only=True, tag="fail"):
    """Answer with an error: an HTTP status as first step, an error within the stream later on."""

    status: int
    message: str = "scripted failure"
    headers: dict[str, str] = {}


AnyStep = Say | Think | Call | Wait | Hold | Drop | Fail


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Token figures at the end of a reply. ``cached`` is part of ``input``, ``reasoning`` of ``output``."""

    input: int = 100
    cached: int = 0
    output: int = 20
    reasoning: int = 0


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One response of the model."""

    steps: tuple[AnyStep, ...]
    usage: Usage = Usage()
    finish: str = ""
    """Overrides the finish reason, in the words of the wire format."""

    @property
    def calls_tools(self) -> bool:
        return any(isinstance(step, Call) for step in self.steps)


def reply(*steps: AnyStep, usage: Usage | None = None) -> Reply:
    return Reply(steps=steps, usage=usage or Usage())


def say(text: str) -> Reply:
    """A reply of one line of prose."""
    return reply(Say(text=text))


DONE = say("Done.")


class Turn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the model behaves after a user message that matches."""

    replies: tuple[Reply, ...]
    match: str = ""
    """Regular expression searched in the user message; empty matches all."""
    beyond: Reply = DONE
    """After the last of ``replies``."""

    def answers(self, text: str) -> bool:
        return re.search(self.match, text) is not None

    def at(self, step: int) -> Reply:
        return self.replies[step] if step < len(self.replies) else self.beyond


class Script(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Chooses without memory: only the conversation in the request decides.

    The newest user message that any turn matches counts, with the first turn that matches it; the
    index into its replies is the number of assistant messages that follow the message. So a hint
    that no turn matches leaves the running turn where it is, and a continuation prompt that one
    does match gets its own replies.
    """

    turns: tuple[Turn, ...]
    otherwise: Reply = DONE

    def __call__(self, request: Request) -> Reply:
        step = 0
        for message in reversed(request.messages):
            if message.role == "assistant":
                step += 1
            elif message.role == "user":
                for turn in self.turns:
                    if turn.answers(message.text):
                        return turn.at(step)
        return self.otherwise


def script(*turns: Turn) -> Script:
    return Script(turns=turns)


def turn(*replies: Reply, match: str = "", beyond: Reply = DONE) -> Turn:
    return Turn(replies=replies, match=match, beyond=beyond)


def load(data: bytes | str) -> Script:
    """A script from JSON. Raises `msgspec.ValidationError` naming the place of what is wrong."""
    return msgspec.json.decode(data, type=Script)


def _cut(text: str, size: int) -> Iterator[str]:
    if not size:
        yield text
        return
    for start in range(0, len(text), size):
        yield text[start : start + size]
