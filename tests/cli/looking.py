"""A recorded project and a live run to look at, for the tests of status, history and inspect."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from loopguard_cli.core.ids import CallKey, SessionId
from loopguard_cli.core.records import (
    AgentSeen,
    CallEnded,
    CallSeen,
    GuardChanged,
    LoopFound,
    Record,
    RecoveryStep,
    RunEnded,
    RunStarted,
    TurnDone,
    UserTurn,
)
from loopguard_cli.goal.model import Limits
from loopguard_cli.goal.records import Continued, Kind, Set, pack
from loopguard_cli.store.ledger import Ledger
from loopguard_cli.store.runs import prepare_runtime_folder, register, this_run, unregister

SESSION = SessionId("ses_1")
KEY = CallKey("deadbeef" * 4)
OTHER = CallKey("feedface" * 4)


def call(count: int, verdict: str = "allow", key: CallKey = KEY, tool: str = "bash") -> CallSeen:
    return CallSeen(session=SESSION, tool=tool, key=key, count=count, verdict=verdict, event=count)


STARTED = RunStarted(agent="opencode", argv0="opencode", mode="on", preset="balanced", version="0.1")
LOOPED: tuple[Record, ...] = (
    STARTED,
    AgentSeen(connected=True, agent="opencode", version="1.18.33"),
    UserTurn(session=SESSION),
    call(1),
    CallEnded(session=SESSION, tool="bash", key=KEY, ok=True, outcome="o1", seconds=0.5),
    call(2),
    CallEnded(session=SESSION, tool="bash", key=KEY, ok=False, outcome="o2", seconds=70),
    call(3, "block"),
    LoopFound(
        session=SESSION, rule="repeat-call", verdict="block", key=KEY, tool="bash", count=3,
        facts={"window_seconds": 60.0},
    ),
    call(1, key=OTHER, tool="read"),
    LoopFound(session=SESSION, rule="prose-block", verdict="abort", count=3, facts={"sentences": 1}),
    RecoveryStep(session=SESSION, step="abort", detail="prose-block"),
    RecoveryStep(session=SESSION, step="idle"),
    RecoveryStep(session=SESSION, step="continue", used=1),
    TurnDone(session=SESSION, calls=3, tokens=12_345, cost=0.25),
    GuardChanged(operation="guard.mode", surface="cli", accepted=True, detail="observe"),
)  # fmt: skip
ENDED = RunEnded(code=80, reason="looped again")
GOAL = pack(SessionId(""), "g1", Kind.SET, Set(at=1000.0, objective="fix the tests", limits=Limits(turns=7)))
GOAL_WENT_ON = pack(SessionId(""), "g1", Kind.CONTINUED, Continued(at=1030.0))


def record(project: Path, *records: Record, run: str = "aaaa1111", at: float = 1000.0) -> None:
    """One record a second."""
    clock = [at - 1]

    def tick() -> float:
        clock[0] += 1
        return clock[0]

    with Ledger.open(project / ".loopguard", run=run, clock=tick) as ledger:
        clock[0] = at - 1
        for item in records:
            ledger.append(item)


@contextmanager
def live_run(project: Path, run: str, answers: dict[str, dict[str, Any]] | None) -> Iterator[list[str]]:
    """A registered run on a real socket. ``answers``: data by operation; None: it is deaf."""
    path = prepare_runtime_folder() / f"{run}.sock"
    asked: list[str] = []
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.fspath(path))
    server.listen()
    register(
        this_run(
            run=run,
            agent="opencode",
            project=project,
            state=project / ".loopguard",
            socket=str(path),
            since=900.0,
        )
    )

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as lines:
                request = msgspec.json.decode(lines.readline())
                asked.append(request["operation"])
                data = (answers or {}).get(request["operation"], {})
                connection.sendall(msgspec.json.encode({"ok": True, "data": data}) + b"\n")

    thread = threading.Thread(target=serve, daemon=True)
    if answers is not None:
        thread.start()
    try:
        yield asked
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        if answers is not None:
            thread.join(5)
        unregister(run)
        path.unlink()
