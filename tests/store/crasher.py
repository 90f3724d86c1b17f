"""Program: kills a writing process again and again and looks at what is left in the ledger.

Run as ``crasher.py FOLDER boundaries`` (dies at each system call that changes a file, in the middle
of each write too), ``crasher.py FOLDER moments N SEED`` (dies at N random moments) or ``crasher.py
FOLDER crowd N SEED`` (several write at once and some of them die). Prints what was wrong, one line
each, and then the number of deaths. A program of its own, because only a process without threads
may fork safely.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import CallSeen, GoalRecord, Record
from loopguard_cli.goal.evolve import Books, fold
from loopguard_cli.goal.model import Result
from loopguard_cli.goal.records import Cleared, Completed, Kind, Payload, Set, Stopped, pack
from loopguard_cli.store.goals import stored_goals
from loopguard_cli.store.ledger import Entry, Ledger, read_ledger

MAX_BYTES = 2500


def script() -> list[Record]:
    """Several goals in two sessions come, stop and end, with calls between them."""
    records: list[Record] = []

    def goal(session: str, name: str, kind: Kind, payload: Payload) -> None:
        records.append(pack(SessionId(session), name, kind, payload))
        records.append(
            CallSeen(session=SessionId(session), tool="bash", key="k" * 24, count=1, verdict="allow", event=1)
        )

    for number in range(6):
        name = f"g{number}"
        goal(f"s{number % 2}", name, Kind.SET, Set(at=number, objective=f"aim {number}"))
        if number % 3 == 0:
            result = Result(id=name, objective=f"aim {number}", evidence="tests pass", finished=1e9)
            goal(f"s{number % 2}", name, Kind.COMPLETED, Completed(at=number, result=result))
        elif number % 3 == 1:
            goal(f"s{number % 2}", name, Kind.BLOCKED, Stopped(at=number, blocker="no key"))
        else:
            goal(f"s{number % 2}", name, Kind.CLEARED, Cleared(at=number))
    return records


RECORDS = script()


def state_after(count: int) -> Books:
    return fold({}, [r for r in RECORDS[:count] if isinstance(r, GoalRecord)])[0]


def write_all(folder: Path, acknowledge: int) -> None:
    with Ledger.open(folder, run="r", clock=lambda: 1e9, max_bytes=MAX_BYTES) as ledger:
        for record in RECORDS:
            ledger.append(record, sync=isinstance(record, GoalRecord))
            REAL_WRITE(acknowledge, b".")


REAL_WRITE = os.write


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Boundaries:
    """Counts the calls that change files and dies around number ``at``."""

    def __init__(self, at: int, how: str) -> None:
        self.count = 0
        self.at, self.how = at, how
        for name in ("write", "fsync", "rename", "unlink", "ftruncate", "open"):
            setattr(os, name, self.around(name, getattr(os, name)))

    def around(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            if self.count != self.at:
                return real(*args, **kwargs)
            if self.how == "middle" and name == "write":
                real(args[0], args[1][: len(args[1]) // 2])
            elif self.how == "after":
                with suppress(OSError):  # a call that fails is a moment as well
                    real(*args, **kwargs)
            die()
            return None

        return call


def report(line: object) -> None:
    sys.stdout.write(f"{line}\n")


def spawn(folder: Path, prepare: Callable[[], Any]) -> tuple[int, int]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    os.close(reader)
    try:
        prepare()
        write_all(folder, writer)
    finally:
        os._exit(0)


def judge(folder: Path, pid: int, reader: int) -> tuple[bool, str]:
    """Whether it died before its end, and what is wrong now."""
    _, status = os.waitpid(pid, 0)
    acknowledged = 0
    while chunk := os.read(reader, 4096):
        acknowledged += len(chunk)
    os.close(reader)
    possible = [state_after(acknowledged), state_after(min(acknowledged + 1, len(RECORDS)))]
    found = stored_goals(folder).books()
    problem = "" if found in possible else f"after {acknowledged} records: {found}"
    numbers = [e.seq for e in read_ledger(folder) if isinstance(e, Entry)]
    if numbers != sorted(set(numbers)):
        problem += f" numbers: {numbers}"
    # The next run goes on from there.
    with Ledger.open(folder, run="next", clock=lambda: 1e9, max_bytes=MAX_BYTES) as ledger:
        if ledger.found:
            problem += f" put aside: {ledger.found}"
        ledger.append(pack(SessionId("s9"), "last", Kind.SET, Set(at=9.0, objective="next")), sync=True)
    after = stored_goals(folder).books()
    if {k: v for k, v in after.items() if k != "s9"} != found or "s9" not in after:
        problem += f" gone on: {after}"
    return os.WIFSIGNALED(status), problem


def boundaries(folder: Path) -> int:
    deaths = 0
    for how in ("before", "middle", "after"):
        at = 0
        died = True
        while died:
            at += 1
            died, problem = judge(folder, *spawn(folder, lambda at=at, how=how: Boundaries(at, how)))
            deaths += died
            if problem:
                report(f"{how} call {at}: {problem}")
            shutil.rmtree(folder)
    return deaths


def moments(folder: Path, trials: int, seed: int) -> int:
    chance = random.Random(seed)
    started = time.perf_counter()
    judge(folder, *spawn(folder, lambda: None))
    length = time.perf_counter() - started
    shutil.rmtree(folder)
    deaths = 0
    for trial in range(trials):
        pid, reader = spawn(folder, lambda: None)
        time.sleep(chance.uniform(0, length))
        os.kill(pid, signal.SIGKILL)
        died, problem = judge(folder, pid, reader)
        deaths += died
        if problem:
            report(f"trial {trial}: {problem}")
        shutil.rmtree(folder)
    return deaths


WRITERS = 4
LINES = 60


def crowd(folder: Path, trials: int, seed: int) -> int:
    """Nobody's lines get lost, doubled, mixed or out of order, whoever dies beside them."""
    chance = random.Random(seed)
    deaths = 0
    for trial in range(trials):
        pids = {str(n): fork_writer(folder, str(n)) for n in range(WRITERS)}
        victims = chance.sample(sorted(pids), trial % WRITERS)
        for name in victims:
            time.sleep(chance.uniform(0, 0.01))
            os.kill(pids[name], signal.SIGKILL)
        ended = {name: os.waitpid(pid, 0)[1] for name, pid in pids.items()}
        found = list(read_ledger(folder))
        entries = [e for e in found if isinstance(e, Entry) and not e.restated]
        for name, status in ended.items():
            events = [e.record.event for e in entries if e.run == name and isinstance(e.record, CallSeen)]
            died = os.WIFSIGNALED(status)
            deaths += died
            if events != list(range(len(events))) or (not died and len(events) != LINES):
                report(f"trial {trial}, writer {name} ({status}): {events}")
        numbers = [e.seq for e in found if isinstance(e, Entry)]
        if numbers != list(range(1, len(numbers) + 1)):
            report(f"trial {trial}: numbers {numbers}")
        shutil.rmtree(folder)
    return deaths


def fork_writer(folder: Path, name: str) -> int:
    if pid := os.fork():
        return pid
    code = 1
    try:
        with Ledger.open(folder, run=name, max_bytes=6000, generations=50) as ledger:
            for number in range(LINES):
                ledger.append(CallSeen(tool="bash", key="k", count=1, verdict="allow", event=number))
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if sys.argv[2] == "boundaries":
        report(boundaries(place))
    else:
        mode = {"moments": moments, "crowd": crowd}[sys.argv[2]]
        report(mode(place, int(sys.argv[3]), int(sys.argv[4])))
