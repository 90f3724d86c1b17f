"""Conversations between a model and its tools, thought up.

Sizes are those of 117 recorded sessions of several agents. An output has 0.4 KB in the median, 2.1 KB on
average and 4.8 KB in the 90th percentile; a call has 0.4 KB of arguments and 0.4 KB of text before it, mostly
a sentence or two, sometimes a page. One conversation in `EVERY` loops: one call, five times with the same
outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.bench.synthetic import words

EVERY = 20
LONGEST = 30_000
"""Characters of an output."""

SENTENCES = 150
"""Of a text."""

_VOCABULARY = sorted({
    word.strip(".,;").lower() for one in (*words.REMARKS, *words.TASKS, *words.NAMES) for word in one.split()
})  # fmt: skip
_POOL_LINES = 100_000
_BEGUN = 1_790_000_000


class Step(NamedTuple):
    """One reply of the model: what it says, and the call it makes, if any."""

    time: float
    said: str
    reasoned: str
    tool: str = ""
    args: Mapping[str, Any] = MappingProxyType({})
    output: str = ""
    file: str = ""
    """What an edited file held before."""


class Conversation(NamedTuple):
    name: str
    """32 hexadecimal digits."""
    started: float
    task: str
    steps: list[Step]


class Author:
    """Thinks conversations up."""

    def __init__(self, seed: str) -> None:
        self._rng = Random(seed)
        self._pool = words.code(Random(f"{seed}:pool"), _POOL_LINES)
        self._made = 0
        self.loops = 0

    def conversation(self) -> Conversation:
        rng = self._rng
        self._made += 1
        started = _BEGUN + 3_000.0 * self._made
        steps = [self._step(started + 20 * at) for at in range(1, rng.randint(20, 200))]
        if self._made % EVERY == 0:
            self.loops += 1
            call = self._step(0)
            steps += [call._replace(time=steps[-1].time + 5 * at, said="") for at in range(1, 6)]
        end = Step(steps[-1].time + 5, "That is all of it. " + rng.choice(words.REMARKS), "")
        return Conversation(f"{rng.getrandbits(128):032x}", started, rng.choice(words.TASKS), [*steps, end])

    def _step(self, time: float) -> Step:
        rng, path = self._rng, words.path(self._rng)
        said, reasoned = self._written(0.6), self._written(0.4)
        output = self._text(min(LONGEST, int(rng.lognormvariate(6.4, 1.8))))
        kind = rng.random()
        if kind < 0.4:
            return Step(time, said, reasoned, "read", {"file": path, "start": rng.randrange(4000)}, output)
        if kind < 0.6:
            args = {"file": path, "old": self._text(rng.randint(40, 900)), "new": self._text(800)}
            before = self._text(min(LONGEST, int(rng.lognormvariate(8.5, 1.0))))
            return Step(time, said, reasoned, "edit", args, f"edited {path}", before)
        command = f"grep -rn {words.symbol(rng)} {path.rpartition('/')[0]} | head -{rng.randrange(900)}"
        return Step(time, said, reasoned, "bash", {"command": command}, output)

    def _written(self, often: float) -> str:
        """A text of some sentences, in paragraphs and lists."""
        rng = self._rng
        if rng.random() >= often:
            return ""
        count = min(SENTENCES, 1 + int(rng.lognormvariate(0.8, 1.45)))
        marks = [rng.choice(("\n\n", "\n\n", "\n- ")) if at % 4 == 3 else " " for at in range(count)]
        return "".join(self._sentence() + mark for mark in marks).rstrip(" \n-")

    def _sentence(self) -> str:
        rng = self._rng
        about = f"{words.symbol(rng)} in {words.path(rng)}" if rng.random() < 0.3 else words.symbol(rng)
        return f"{' '.join(rng.choices(_VOCABULARY, k=rng.randint(4, 9))).capitalize()} {about}."

    def _text(self, size: int) -> str:
        """Some ``size`` characters of code, hardly ever the same twice."""
        at = self._rng.randrange(_POOL_LINES)
        lines = self._pool[at : at + size // 20 + 1]
        return f"{self._rng.getrandbits(40):x}\n" + "\n".join(lines)[:size]
