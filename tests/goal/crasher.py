"""Program: kills a supervisor that drives goals, and looks at what the next one makes of it.

Run as ``python -m tests.goal.crasher FOLDER boundaries HOW...`` (dies around each system call that
changes a file: before, in the middle of it, after), ``... FOLDER moments N SEED`` (dies at N random
moments) or ``... FOLDER rivals N SEED`` (two start at once and want the same goals). The supervisor is
the real goal loop with real ledger and leases; the agent is scripted and survives it. Prints what was
wrong, one line each, and then the number of deaths, or of races. A program of its own, because only a
process without threads may fork safely.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.store.crasher import Boundaries, report

from loopguard_cli.core import effects as fx
from loopguard_cli.core import events as ev
from loopguard_cli.core.ids import NO_SESSION, MessageId, PartId, RequestId, SessionId
from loopguard_cli.core.records import GoalRecord
from loopguard_cli.goal.evolve import Books, fold
from loopguard_cli.goal.model import StopReason
from loopguard_cli.goal.records import TERMINAL, Kind
from loopguard_cli.goal.settings import GoalSettings
from loopguard_cli.runtime.goals import GoalKeeper
from loopguard_cli.store.goals import stored_goals
from loopguard_cli.store.ledger import Entry, Ledger, read_ledger
from loopguard_cli.testing.scenarios.host import ABLE

S = SessionId("s")
DONE = "[goal:evidence] 12 of 12 tests passed\n[goal:complete]"
STUCK = "The licence key of the scanner is missing.\n[goal:blocked]"
REPLIES = {
    "build": ("The parser is there.", "It reads files now.", DONE),
    "verify": ("The suite runs.", DONE),
    "ship": ("Packed.", STUCK, "Asked again.", STUCK),
    "polish": ("Sanded.", "Varnished.", "What is left: the lid.", "Lid done.", DONE),
}
"""What the agent says about each objective, prompt by prompt."""
SMALL = 12_000
"""Bytes of a ledger file, so that it is rotated on the way."""
REAL_WRITE = os.write


class Agent:
    """Lives outside of the supervisor: it remembers what it was told when that is killed."""

    def __init__(self, tell: Callable[[str], object] = lambda _: None) -> None:
        self.prompts: list[tuple[str, ...]] = []
        """Goal, run, claimed message, purpose, objective."""
        self.told: Counter[str] = Counter()
        self.newest = MessageId("m0")
        self.due = ""
        """The objective of a prompt that is not answered yet."""
        self.tell = tell

    def prompted(self, *about: str) -> None:
        self.prompts.append(about)
        self.due = about[-1]
        self.tell("prompt " + " ".join(about))

    def reply(self) -> str:
        said = REPLIES[self.due]
        text = said[min(self.told[self.due], len(said) - 1)]
        self.told[self.due] += 1
        self.newest = MessageId(f"m{sum(self.told.values())}")
        self.due = ""
        return text


class Supervisor:
    """One process that drives the goals of a folder."""

    def __init__(self, folder: Path, agent: Agent, *, run: str, now: float = 1e6) -> None:
        self.now = now
        self.agent = agent
        self.ledger = Ledger.open(folder, run=run, clock=lambda: self.now, max_bytes=SMALL)
        self.keeper = GoalKeeper(
            folder,
            run=run,
            settings=GoalSettings(cooldown_seconds=0.1, no_tool_turns=0),
            capabilities=ABLE,
            salt=run,
        )
        self.keeper.restore()
        self.goals = self.keeper.goals
        self.records: list[GoalRecord] = []
        self.status = ev.Status.IDLE
        self.answers: dict[str, fx.Respond] = {}

    def feed(self, event: ev.Event) -> None:
        self.perform(self.goals.receive(event, self.now))

    def perform(self, effects: Iterable[fx.Effect]) -> None:
        for effect in effects:
            answer = self.answer(effect)
            if answer is not None:
                self.feed(answer)

    def answer(self, effect: fx.Effect) -> ev.Event | None:
        match effect:
            case fx.Record():
                self.ledger.append(effect.record, sync=effect.sync)
                if isinstance(effect.record, GoalRecord):
                    self.records.append(effect.record)
                    self.agent.tell("done")
                if effect.effect:
                    return ev.EffectSettled(session=S, effect=effect.effect, ok=True)
            case fx.TakeLease():
                return self.keeper.take(effect, self.now)
            case fx.Prompt():
                assert self.keeper.lost(S) is None
                goal = self.goals.book(S).focused
                assert goal is not None
                self.status = ev.Status.BUSY
                self.agent.prompted(
                    goal.id, str(goal.run), goal.claim, effect.purpose.value, goal.objective.split()[0]
                )
                return ev.EffectSettled(session=S, effect=effect.effect, ok=True)
            case fx.Abort():
                return ev.EffectSettled(session=S, effect=effect.effect, ok=True)
            case fx.ReadSession():
                return ev.SessionRead(
                    session=S, effect=effect.effect, ok=True, status=self.status,
                    newest_assistant=self.agent.newest,
                )  # fmt: skip
            case fx.RunCheck():
                return ev.CheckFinished(session=S, effect=effect.effect, exit_code=0)
            case fx.Respond():
                self.answers[effect.request] = effect
            case _:
                pass
        return None

    def ask(self, text: str, verb: str = "", session: SessionId = S) -> fx.Respond:
        request = RequestId(f"r{len(self.answers)}")
        asked = ev.Asked(
            session=session,
            request=request,
            operation="goal.command",
            arguments={"text": text, "verb": verb} if verb else {"text": text},
        )
        self.feed(asked)
        return self.answers[request]

    def idle(self) -> None:
        self.status = ev.Status.IDLE
        self.feed(ev.StatusChanged(session=S, status=ev.Status.IDLE))

    def work(self) -> None:
        """Let the agent answer every prompt until none comes any more."""
        while True:
            while not self.agent.due and (due := self.goals.deadline()) is not None:
                self.now = max(self.now, due)
                self.perform(self.goals.tick(self.now))
            if not self.agent.due:
                return
            self.now += 5
            self.feed(ev.StatusChanged(session=S, status=ev.Status.BUSY))
            text = self.agent.reply()
            message = self.agent.newest
            self.feed(ev.ReplyStarted(session=S, message=message, answers=MessageId(f"to-{message}")))
            self.feed(ev.TextDelta(session=S, message=message, part=PartId("p"), delta=text))
            usage = ev.UsageReported(session=S, message=message, input=900, output=200)
            self.feed(usage)
            self.feed(ev.ReplyFinished(session=S, message=message))
            self.idle()

    def close(self) -> None:
        self.keeper.close()
        self.ledger.close()


def story(supervisor: Supervisor) -> None:
    """Goals in a sequence, one with a check, one blocked, one at its limit, paused, resumed, cleared."""
    one = supervisor
    one.idle()
    for text, verb in (
        ("build; verify; ship", "sequence"),
        ('polish --max-turns 1 --check "make test"', "add"),
        ("1", "focus"),
        ("2", "focus"),
        ("", "resume"),
        ("ship it anyway", "complete"),
        ("1", "focus"),
        ("shipped by hand", "complete"),
        ("build again", "add"),
    ):
        one.ask(text, verb)
        one.work()
    one.ask("verify --max-turns 9", "set")
    one.ask("", "pause")
    one.ask("clear")


@cache
def told_whole() -> tuple[GoalRecord, ...]:
    """The records of the story without an accident."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="crasher-")) / "state"
    supervisor = Supervisor(folder, Agent(), run="first")
    story(supervisor)
    supervisor.close()
    shutil.rmtree(folder.parent)
    return tuple(supervisor.records)


def state_after(count: int) -> Books:
    return {
        name: book for name, book in fold({}, told_whole()[:count])[0].items() if book.goals or book.archive
    }


def spawn(folder: Path, prepare: Callable[[], Any]) -> tuple[int, int]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    os.close(reader)

    def tell(line: str) -> None:
        REAL_WRITE(writer, f"{line}\n".encode())

    try:
        prepare()
        story(Supervisor(folder, Agent(tell), run="first"))
    finally:
        os._exit(0)


def judge(folder: Path, pid: int, reader: int) -> tuple[bool, list[str]]:
    """Whether it died before its end, and what is wrong now."""
    _, status = os.waitpid(pid, 0)
    with os.fdopen(reader) as pipe:
        log = pipe.read().splitlines()
    agent = Agent()
    for line in log:
        if line.startswith("prompt "):
            agent.prompted(*line.split(" ")[1:])
            agent.reply()
    problems = [*stored_rightly(folder, log, agent), *gone_on_rightly(folder, agent)]
    return os.WIFSIGNALED(status), problems


def stored_rightly(folder: Path, log: list[str], agent: Agent) -> Iterable[str]:
    """Nothing acknowledged is lost, and nothing was sent that was not written before."""
    done = log.count("done")
    found = {n: b for n, b in stored_goals(folder).books().items() if b.goals or b.archive}
    if found not in (state_after(done), state_after(done + 1)):
        yield f"after {done} records: {found}"
    records = told_whole()[: done + 1]
    claims = {(r.goal, r.data.get("claim")) for r in records if r.data.get("claim")}
    for goal, _, claim, *_ in agent.prompts:
        if (goal, claim) not in claims:
            yield f"prompt for {claim} before its claim was written"


def gone_on_rightly(folder: Path, agent: Agent) -> Iterable[str]:
    """The next supervisor has the goals, paused; it repeats nothing, and brings all to their end."""
    before = stored_goals(folder).books()
    sent = len(agent.prompts)
    supervisor = Supervisor(folder, agent, run="second", now=2e6)
    supervisor.idle()
    supervisor.work()
    book = supervisor.goals.book(S)
    if len(agent.prompts) > sent:
        yield f"prompted without a word: {agent.prompts[sent:]}"
    if S in before:
        if [g.id for g in book.goals] != [g.id for g in before[S].goals]:
            yield f"goals {[g.id for g in before[S].goals]} became {[g.id for g in book.goals]}"
        if [r.id for r in book.archive] != [r.id for r in before[S].archive]:
            yield "results changed"
        for goal, then in zip(book.goals, before[S].goals, strict=True):
            if goal.active or (then.active and goal.stop is not StopReason.RECOVERED):
                yield f"{goal.objective} is {goal.stop or 'active'}, was {then.stop or 'active'}"
            # A prompt whose sending is not certain counts, so that no budget grows by a crash.
            if goal.turns != then.turns + (then.active and then.pending):
                yield f"{goal.objective}: {then.turns} turns became {goal.turns}"
    finish(supervisor)
    supervisor.close()
    yield from ended_once(folder)
    again = [key for key, times in Counter(p[:3] for p in agent.prompts).items() if times > 1]
    if again:
        yield f"prompted twice: {again}"


def finish(supervisor: Supervisor) -> None:
    """A person goes on with every goal; what the agent cannot end they end themselves."""
    while (book := supervisor.goals.book(S)).goals:
        if book.focused is None:
            supervisor.ask("1", "focus")
        elif not book.focused.active:
            supervisor.ask("", "resume")
        supervisor.work()
        if supervisor.goals.book(S).focused is not None:
            supervisor.ask("done by hand", "complete")


def ended_once(folder: Path) -> Iterable[str]:
    """Every goal ends once."""
    entries = [e for e in read_ledger(folder) if isinstance(e, Entry) and not e.restated]
    records = [e.record for e in entries if isinstance(e.record, GoalRecord)]
    ends = Counter(r.goal for r in records if Kind(r.event) in TERMINAL)
    born = [r.goal for r in records if r.event == Kind.SET]
    if len(born) != len(set(born)) or any(ends[goal] != 1 for goal in born):
        yield f"ends: {ends}, born: {born}"


def boundaries(folder: Path, hows: list[str]) -> int:
    deaths = 0
    for how in hows:
        at, died = 0, True
        while died:
            at += 1
            died, problems = judge(folder, *spawn(folder, partial(Boundaries, at, how)))
            deaths += died
            for problem in problems:
                report(f"{how} call {at}: {problem}")
            shutil.rmtree(folder, ignore_errors=True)
    return deaths


def moments(folder: Path, trials: int, seed: int) -> int:
    chance = random.Random(seed)
    started = time.perf_counter()
    pid, reader = spawn(folder, lambda: None)
    os.waitpid(pid, 0)
    os.close(reader)
    length = time.perf_counter() - started
    shutil.rmtree(folder)
    deaths = trial = 0
    while deaths < trials and trial < 4 * trials:
        trial += 1
        pid, reader = spawn(folder, lambda: None)
        time.sleep(chance.uniform(0, length))
        os.kill(pid, signal.SIGKILL)
        died, problems = judge(folder, pid, reader)
        deaths += died
        for problem in problems:
            report(f"trial {trial}: {problem}")
        shutil.rmtree(folder, ignore_errors=True)
    return deaths


def rivals(folder: Path, trials: int, seed: int) -> int:
    """Two supervisors at once: one drives, the other leaves the goals alone, and nothing is lost.

    The goals wait for a session, or belong to one and a person resumes them in both terminals.
    """
    chance = random.Random(seed)
    raced = 0
    for trial in range(trials):
        waiting = trial % 2 == 0
        parent = Supervisor(folder, Agent(), run="before")
        parent.ask("build --max-turns 5", "set", NO_SESSION if waiting else S)
        parent.close()
        known = sum(isinstance(e, Entry) for e in read_ledger(folder))
        pipes = (*os.pipe(), *os.pipe())
        racers = [rival(folder, f"rival{n}", pipes, chance.random() / 500, waiting) for n in range(2)]
        go, start, hold, end = pipes
        os.close(start)
        logs: list[list[str]] = [[], []]
        readers = [os.fdopen(reader) for _, reader in racers]
        for log, reader in zip(logs, readers, strict=True):
            while not log or log[-1] != "tried":
                log.append(reader.readline().strip())
                assert log[-1], log
        for descriptor in (go, hold, end):
            os.close(descriptor)
        for (pid, _), reader in zip(racers, readers, strict=True):
            os.waitpid(pid, 0)
            reader.close()
        raced += 1
        drove = [[line for line in log if line.startswith("prompt ")] for log in logs]
        if sorted(map(len, drove)) != [0, 1]:
            report(f"trial {trial}: prompts {drove}")
        book = stored_goals(folder).books()[S]
        if [(g.objective, g.turns) for g in book.goals] != [("build", 0)] or not book.goals[0].claim:
            report(f"trial {trial}: {book}")
        added = sum(isinstance(e, Entry) for e in read_ledger(folder)) - known
        if added != sum(log.count("done") for log in logs):
            report(f"trial {trial}: {added} records of {logs}")
        shutil.rmtree(folder)
    return raced


def rival(
    folder: Path, run: str, pipes: tuple[int, int, int, int], pause: float, waiting: bool
) -> tuple[int, int]:
    """Starts when the parent says so, and holds what it has until the other one has tried as well."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    go, start, hold, end = pipes
    for descriptor in (start, end, reader):
        os.close(descriptor)

    def tell(line: str) -> None:
        REAL_WRITE(writer, f"{line}\n".encode())

    try:
        supervisor = Supervisor(folder, Agent(tell), run=run, now=2e6)
        os.read(go, 1)
        time.sleep(pause)
        supervisor.idle()
        if not waiting:
            supervisor.ask("", "resume")
        tell("tried")
        os.read(hold, 1)
    finally:
        os._exit(0)


if __name__ == "__main__":
    place, mode, *more = sys.argv[1:]
    told_whole()
    if mode == "boundaries":
        report(boundaries(Path(place), more))
    else:
        run = {"moments": moments, "rivals": rivals}[mode]
        report(run(Path(place), int(more[0]), int(more[1])))
