"""Times of one agent, guarded and not."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.script import Say, Turn, reply, say, turn
from tests.bench.adapters.cases import Case
from tests.bench.section import percentile
from tests.real.harness import Result, World

CALLS = 100
LOOPS = 3
STARTS = 3
RUN_SECONDS = 300.0

LOOP = "Let me check whether the containers started. "
PACE_SECONDS = 0.05
"""For one sentence; a fast model takes twice as long."""


class NotMeasured(Exception):
    """Says why not."""


class Figures(NamedTuple):
    """All in milliseconds."""

    call_p50: float | None
    call_p99: float | None
    cuts: Sequence[float]
    starts_later: float


def measured(case: Case, program: Path) -> Figures:
    """Raises NotMeasured."""
    guarded, bare = _calls(case, program, guarded=True), _calls(case, program, guarded=False)
    p50, p99 = (percentile(guarded, share) - percentile(bare, share) for share in (0.5, 0.99))
    return Figures(p50, p99, [_cut(case, program) for _ in range(LOOPS)], _later(case, program))


def _calls(case: Case, program: Path, *, guarded: bool) -> list[float]:
    """How long the agent took from each call that the model wanted to the next request."""
    calls = [reply(case.shell(f"echo {uuid.uuid4()}")) for _ in range(CALLS)]
    # The gate is asked as ever, but so many calls that bring nothing would else be stopped, rightly.
    chats, _ = _run(case, program, [turn(*calls, say("Done."))], "--mode", "observe", guarded=guarded)
    chats = [chat for chat in chats if chat.ended_at is not None]
    if len(chats) <= CALLS:
        raise NotMeasured(f"{len(chats)} answers for {CALLS} calls")
    pairs = pairwise(chats[: CALLS + 1])
    return [(after.received_at - before.ended_at) * 1000 for before, after in pairs if before.ended_at]


def _cut(case: Case, program: Path) -> float:
    """From the third sentence, sent whole, to the end of the connection.

    In the second answer of a run: while an agent starts, it may read its first one late and in one go.
    """
    endless = reply(Say(text=LOOP, times=None, pace=PACE_SECONDS, chunk=len(LOOP)))
    script = [turn(reply(case.shell("true")), endless)]
    chats, result = _run(case, program, script, "--set", "guard.recovery.enabled=false", guarded=True)
    looping = next((chat for chat in chats if chat.text.startswith(LOOP)), None)
    third = looping.sent_at(3 * len(LOOP)) if looping else None
    if looping is None or looping.end is not End.CLIENT_CLOSED or third is None or looping.ended_at is None:
        raise NotMeasured(f"the loop was not cut off (exit status {result.code})")
    return (looping.ended_at - third) * 1000


def _later(case: Case, program: Path) -> float:
    """How much later the first request reaches the model; guarded and bare starts take turns."""
    times: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(STARTS):
        for guarded in (True, False):
            began = time.monotonic()
            chats, result = _run(case, program, [turn(say("Done."))], guarded=guarded)
            if not chats:
                raise NotMeasured(f"it asked no model (exit status {result.code})")
            times[guarded].append((chats[0].received_at - began) * 1000)
    return min(times[True]) - min(times[False])


class _BenchWorld(World):
    def __init__(self, case: Case, program: Path, script: Sequence[Turn]) -> None:
        self.sandbox = case.sandbox
        super().__init__(program, script)


def _run(
    case: Case, program: Path, script: Sequence[Turn], *options: str, guarded: bool
) -> tuple[list[Exchange], Result]:
    with _BenchWorld(case, program, script) as world:
        world.configure(**case.configuration)
        if guarded:
            given, argv, stdin = case.guarded
            result = world.guard(*argv, options=(*given, *options), stdin=stdin).wait(RUN_SECONDS)
        else:
            argv, stdin = case.bare
            result = world.start(*argv, stdin=stdin).wait(RUN_SECONDS)
        return world.model.chats(), result
