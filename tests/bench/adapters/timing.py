"""Times of one agent, guarded and not."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import psutil

from loopguard_cli.testing.exchange import End, Exchange
from loopguard_cli.testing.script import Say, Turn, reply, say, turn
from tests.bench.adapters.cases import Case
from tests.bench.section import percentile
from tests.pty.terminal import Terminal
from tests.real.harness import Started, World

CALLS = 100
CALLS_SECONDS = 8.0
"""For as many calls as an agent makes meanwhile; not so many if it is slow."""
FEWEST_CALLS = 10
LOOPS = 2
STARTS = 2
"""Of each kind; the first runs with calls and with loops are starts as well."""
RUN_SECONDS = 60.0
LOOK_SECONDS = 0.5
"""How often a run that has not done yet what it is for is looked at."""

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
    starts: float | None
    """To the first request, without us."""
    starts_later: float


class _Run(NamedTuple):
    chats: Sequence[Exchange]
    """About the task."""
    asked_after: float
    """Milliseconds from its start to the first request."""


def measured(case: Case, program: Path) -> Figures:
    """Raises NotMeasured."""
    guarded, bare = (_calls(case, program, guarded=is_guarded) for is_guarded in (True, False))
    loops = [_loop(case, program) for _ in range(LOOPS if case.streams else 0)]
    more = [_start(case, program) for _ in range(STARTS - 1)]
    p50, p99 = (percentile(_each(guarded), share) - percentile(_each(bare), share) for share in (0.5, 0.99))
    later = min(run.asked_after for run in (guarded, *loops)[:STARTS])
    starts = min(run.asked_after for run in (bare, *more))
    return Figures(p50, p99, [_cut(run) for run in loops], starts, later - starts)


def _calls(case: Case, program: Path, *, guarded: bool) -> _Run:
    """Many calls, one after the other."""
    calls = [reply(case.subject.shell(f"echo {uuid.uuid4()}")) for _ in range(CALLS)]

    # The gate is asked as ever, but so many calls that bring nothing would else be stopped, rightly.
    def over(chats: Sequence[Exchange]) -> bool:
        seen = sum(chat.end is End.COMPLETED for chat in chats)
        late = seen > FEWEST_CALLS and time.monotonic() - chats[0].received_at > CALLS_SECONDS
        return late or seen > CALLS

    return _run(case, program, [turn(*calls, say("Done."))], over, "--mode", "observe", guarded=guarded)


def _each(run: _Run) -> list[float]:
    """How long the agent took from each call that the model wanted to the next request."""
    pairs = pairwise(run.chats[: CALLS + 1])
    return [(after.received_at - before.ended_at) * 1000 for before, after in pairs if before.ended_at]


def _loop(case: Case, program: Path) -> _Run:
    """A loop of prose, cut off.

    In the second answer of a run: while an agent starts, it may read its first one late and in one go.
    """
    endless = reply(Say(text=LOOP, times=None, pace=PACE_SECONDS, chunk=len(LOOP)))
    script = [turn(reply(case.subject.shell("true")), endless)]
    given = ("--set", "guard.recovery.enabled=false")
    return _run(case, program, script, lambda chats: _looping(chats) is not None, *given, guarded=True)


def _looping(chats: Sequence[Exchange]) -> Exchange | None:
    return next((chat for chat in chats if chat.text.startswith(LOOP) and chat.end is not End.OPEN), None)


def _cut(run: _Run) -> float:
    """From the third sentence, sent whole, to the end of the connection."""
    looping = _looping(run.chats)
    third = looping.sent_at(3 * len(LOOP)) if looping else None
    if looping is None or looping.end is not End.CLIENT_CLOSED or third is None or looping.ended_at is None:
        raise NotMeasured("the loop was not cut off")
    return (looping.ended_at - third) * 1000


def _start(case: Case, program: Path) -> _Run:
    return _run(case, program, [turn(say("Done."))], bool, guarded=False)


class _Unseen(Terminal):
    """Nobody looks at it: what draws it would take the time of what is measured."""

    def _draw(self, data: bytes) -> None:
        pass


class _BenchWorld(World):
    def __init__(self, case: Case, program: Path, script: Sequence[Turn]) -> None:
        self.sandbox = case.subject.sandbox
        super().__init__(program, script)
        if case.subject.configuration:
            self.configure(**case.subject.configuration)

    def screen(self, *argv: str | Path, env: Mapping[str, str] | None = None) -> Terminal:
        terminal = _Unseen(argv, cwd=self.project, env=self.environment(env))
        self._started.append(terminal)
        return terminal

    def end(self, started: Started | Terminal) -> None:
        """At once: what was to be seen has been seen. Hooks that the agent calls get their answers first."""
        first = started.process.pid
        while others := [process for process in self.processes() if process.pid != first]:
            for process in others:
                process.kill()
            psutil.wait_procs(others, timeout=LOOK_SECONDS)
        started.process.kill()
        with suppress(TimeoutError):
            started.wait(5.0)


def _run(
    case: Case,
    program: Path,
    script: Sequence[Turn],
    over: Callable[[Sequence[Exchange]], bool],
    *options: str,
    guarded: bool,
) -> _Run:
    """Until what it is for is ``over``. Raises NotMeasured if that never comes true."""
    subject = case.subject
    aside = [turn(say("Nothing."), match=subject.aside)] if subject.aside else []
    with _BenchWorld(case, program, [*aside, *script]) as world:
        began = time.monotonic()
        started = _started(world, case, program, options, guarded=guarded)

        def chats(_: Sequence[Exchange] = ()) -> list[Exchange]:
            return [chat for chat in world.model.chats() if not subject.is_aside(chat.request.user)]

        while not over(chats()):
            if started.process.poll() is not None and not over(chats()):
                raise NotMeasured(f"it ended with status {started.process.returncode}")
            if time.monotonic() - began > RUN_SECONDS:
                raise NotMeasured(f"not within {RUN_SECONDS:g} s, after {len(chats())} requests to the model")
            with suppress(TimeoutError):
                world.model.wait_for(lambda _: over(chats()), LOOK_SECONDS)
        seen = chats()
        world.end(started)
        return _Run(seen, (seen[0].received_at - began) * 1000)


def _started(
    world: World, case: Case, program: Path, options: Sequence[str], *, guarded: bool
) -> Started | Terminal:
    env = case.environment(program)
    if guarded:
        given, argv, stdin = case.guarded
        options = (*given, *options)
        if case.screen:
            return world.guard_screen(*argv, options=options, env=env)
        return world.guard(*argv, options=options, env=env, stdin=stdin)
    argv, stdin = case.bare
    if case.screen:
        return world.screen(*argv, env=env)
    return world.start(*argv, env=env, stdin=stdin)
