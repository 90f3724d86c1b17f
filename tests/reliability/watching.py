"""The watchdog against real processes: ``python -m tests.reliability.watching [--each N]``.

What `tests/core/test_watchdog.py` plays with figures is done here by processes: an agent, connections,
commands below it. They are looked at once a second by the real `Evidence`; to the watchdog each look is a
sample of 15 s, so an hour takes four minutes. Shares of a processor and bytes per second stay what they are.
"""

from __future__ import annotations

import argparse
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from loopguard_cli.core.effects import Tell
from loopguard_cli.core.events import (
    Event,
    PermissionAsked,
    Status,
    StatusChanged,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from loopguard_cli.core.ids import CallId, MessageId, Mint, PartId, RequestId, SessionId
from loopguard_cli.core.settings import Capabilities, Locale
from loopguard_cli.core.watchdog import SAMPLE_SECONDS, Watchdog, WatchdogSettings
from loopguard_cli.core.wording import Wording
from loopguard_cli.runtime.processes.evidence import Evidence

S = SessionId("s")
WINDOW = 60.0
LOOK_SECONDS = 1.0
AT_ONCE = 20
LATE_SECONDS = 60.0

AGENT = r"""
import hashlib, os, random, socket, subprocess, sys, threading, time
kind, port, chance = sys.argv[1], int(sys.argv[2]), random.Random(sys.argv[3])
run = lambda *words, **more: subprocess.Popen(words, stdout=subprocess.DEVNULL, **more)
connection = None
if kind in ("thinking", "dead_connection", "build", "waiting_for_input"):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(b"pings" if kind == "thinking" else b"quiet")
print("ready", flush=True)
sys.stdin.readline()
BURN = (
    "import time\nwhile True:\n until = time.process_time() + .01 * %g\n"
    " while time.process_time() < until: pass\n time.sleep(.1)"
)
if kind == "build":
    run(sys.executable, "-IS", "-c", BURN % chance.uniform(0.8, 2))
elif kind == "download":
    run("curl", "-s", "--noproxy", "*", f"http://127.0.0.1:{port}/{chance.randint(2000, 50000)}")
elif kind == "sleeping":
    run("sleep", "1000")
elif kind == "polling":
    run("sh", "-c", f"while :; do sleep {chance.uniform(1, 8)}; ls / > /dev/null; done")
elif kind == "waiting_for_input":
    run("sh", "-c", "read answer", stdin=subprocess.PIPE)
elif kind == "stopped_command":
    run("sh", "-c", "kill -STOP $$")
elif kind in ("lost_child", "after_the_tool"):
    run("true").wait()
if kind == "spinning":
    while True:
        pass
if kind == "indexing":
    while True:
        for name in (sys.executable, os.__file__):
            hashlib.sha256(open(name, "rb").read(200000)).digest()
            time.sleep(.05)
if kind == "thinking":
    listen = lambda: [None for _ in iter(lambda: connection.recv(1), b"")]
    threading.Thread(target=listen, daemon=True).start()
spinner, pace = open(os.devnull, "w"), chance.uniform(.05, .3)
while True:  # as an agent that draws a spinner, busy or not
    time.sleep(pace)
    spinner.write("*"); spinner.flush()
"""

QUIET = (
    "build", "download", "thinking", "retrying", "sleeping", "polling", "asking", "idle", "streaming",
    "indexing",
)  # fmt: skip
HANGS = {
    "parked": 1, "dead_connection": 3, "lost_child": 1, "waiting_for_input": 6, "stopped_command": 6,
    "spinning": 3, "after_the_tool": 1,
}  # fmt: skip
"""How many windows it takes at the most until each is noticed."""

_LOOKS = {"thinking": 11, "sleeping": 22}
"""Quiet ones last so many samples: a model that answers after three windows, a sleep of six, hang by what is
to be seen of them."""

_COMMAND = ("build", "download", "sleeping", "polling", "lost_child", "waiting_for_input", "stopped_command",
            "after_the_tool")  # fmt: skip


class Case(NamedTuple):
    kind: str
    number: int


class Outcome(NamedTuple):
    case: Case
    noticed: float | None
    """After how many seconds, as the watchdog counts them."""

    @property
    def right(self) -> bool:
        windows = HANGS.get(self.case.kind)
        if windows is None:
            return self.noticed is None
        return self.noticed is not None and self.noticed <= windows * WINDOW + LATE_SECONDS


class _Watched:
    """One agent with a watchdog of its own."""

    def __init__(self, case: Case, port: int) -> None:
        self.case = case
        self.noticed: float | None = None
        self.looks = _LOOKS.get(
            case.kind, int((HANGS.get(case.kind, 6) * WINDOW + LATE_SECONDS) / SAMPLE_SECONDS) + 2
        )
        self._chance = random.Random(case.number)
        self._dog = Watchdog(
            WatchdogSettings(window_minutes=WINDOW / 60),
            capabilities=Capabilities(abort=True, prompt=True),
            mint=Mint("w"),
            wording=Wording(Locale.EN),
        )
        self._evidence = Evidence(lambda: self._dog.attentive)
        self.process = subprocess.Popen(
            [sys.executable, "-IS", "-c", AGENT, case.kind, str(port), str(case.number)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def begin(self, spare: Sequence[int]) -> None:
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stdout.readline() == "ready\n"
        assert [*self._evidence.look(self.process.pid, spare)] == []
        for event in self._said():
            self._take(event, 0.0)
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def look(self, number: int, spare: Sequence[int]) -> None:
        now = number * SAMPLE_SECONDS
        if number > self.looks:
            return
        if self.case.kind == "streaming" and number % 3 == 0:
            said = TextDelta(session=S, message=MessageId("m"), part=PartId("p"), delta="word ")
            self._take(said, now - 1)
        for event in self._evidence.look(self.process.pid, spare):
            self._take(event, now)

    def end(self) -> None:
        import psutil

        with suppress(psutil.Error):
            for process in psutil.Process(self.process.pid).children(recursive=True):
                process.kill()
        self.process.kill()
        self.process.communicate()

    def _said(self) -> list[Event]:
        kind = self.case.kind
        events: list[Event] = [StatusChanged(session=S, status=Status.BUSY)]
        if kind in _COMMAND:
            events.append(ToolStarted(session=S, call=CallId("c"), tool="bash"))
        if kind == "after_the_tool":
            events.append(ToolFinished(session=S, call=CallId("c"), tool="bash"))
        if kind == "asking":
            events.append(PermissionAsked(session=S, request=RequestId("p"), permission="bash"))
        if kind in ("idle", "retrying"):
            status = Status.IDLE if kind == "idle" else Status.RETRY
            events.append(StatusChanged(session=S, status=status))
        return events

    def _take(self, event: Event, now: float) -> None:
        for effect in self._dog.receive(event, now):
            if isinstance(effect, Tell) and self.noticed is None:
                self.noticed = now


class _Peer:
    """What agents and their commands are connected to: sends on and on, now and then, or never."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            asked = connection.recv(65536)
            if asked.startswith(b"GET"):
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                rate = int(asked.split()[1].lstrip(b"/"))
                while True:
                    connection.sendall(bytes(rate // 5))
                    time.sleep(0.2)
            while asked.startswith(b"pings"):
                time.sleep(2)
                connection.sendall(b".")
            connection.recv(1)

    def close(self) -> None:
        self._socket.close()


def watch(cases: Sequence[Case]) -> list[Outcome]:
    """All of them at once."""
    peer = _Peer()
    watched = [_Watched(case, peer.port) for case in cases]
    spare = [one.process.pid for one in watched]
    try:
        for one in watched:
            one.begin(spare)
        began = time.monotonic()
        for number in range(1, max(one.looks for one in watched) + 1):
            time.sleep(max(0.0, began + number * LOOK_SECONDS - time.monotonic()))
            for one in watched:
                one.look(number, spare)
    finally:
        for one in watched:
            one.end()
        peer.close()
    return [Outcome(one.case, one.noticed) for one in watched]


def all_cases(each: int) -> list[Case]:
    """Mixed, so that what needs the processor is not all at the same time."""
    return [Case(kind, number) for number in range(each) for kind in (*QUIET, *HANGS)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=20, help="cases of each kind")
    cases = all_cases(parser.parse_args().each)
    outcomes: list[Outcome] = []
    for at in range(0, len(cases), AT_ONCE):
        outcomes += watch(cases[at : at + AT_ONCE])
        sys.stderr.write(f"{len(outcomes)} of {len(cases)}\n")
    right = Counter(outcome.case.kind for outcome in outcomes if outcome.right)
    every = Counter(outcome.case.kind for outcome in outcomes)
    for kind in every:
        sys.stdout.write(f"{kind}: {right[kind]} of {every[kind]}\n")
    for outcome in outcomes:
        if not outcome.right:
            sys.stdout.write(f"wrong: {outcome}\n")
    return int(right != every)


if __name__ == "__main__":
    sys.exit(main())
