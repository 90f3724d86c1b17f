"""Hooks as an agent calls them: over HTTP, and by the shell client."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from loopguard_cli.agents.base import Answer, BridgeAddress, HookCall, HookReply
from loopguard_cli.core.events import Event, Unparsed
from loopguard_cli.runtime.reach.hooks import HookServer, command


class Agent:
    """Answers hooks at once; one named ``wait`` waits until `reply` is called."""

    def __init__(self) -> None:
        self.calls: list[HookCall] = []
        self.gone: list[int] = []
        self.events: list[Event] = []
        self.called_or_gone = asyncio.Event()

    def called(self, call: HookCall) -> Answer:
        self.calls.append(call)
        self.called_or_gone.set()
        if call.hook == "wait":
            return Answer()
        return Answer(orders=(HookReply(call=call.call, body={"got": call.body}),))

    def hung_up(self, call: int) -> Sequence[Event]:
        self.gone.append(call)
        self.called_or_gone.set()
        return ()

    async def heard(self, holds: Callable[[], Any]) -> None:
        while not holds():
            self.called_or_gone.clear()
            await self.called_or_gone.wait()


class Served:
    def __init__(self, agent: Agent, server: HookServer, address: BridgeAddress) -> None:
        self.agent, self.server, self.address = agent, server, address

    def post(self, hook: str, body: bytes, url: str = "") -> tuple[int, bytes]:
        """One request on a connection of its own."""
        with self.connect() as connection:
            return self.ask(connection, hook, body, url)

    def connect(self) -> _Connection:
        return _Connection(urlsplit(self.address.hooks).netloc, timeout=20)

    def ask(
        self, connection: http.client.HTTPConnection, hook: str, body: bytes, url: str = ""
    ) -> tuple[int, bytes]:
        connection.request("POST", urlsplit(url or self.address.hooks).path + hook, body)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def run(self, hook: str, body: bytes) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([*self.address.hook_command, hook], input=body, capture_output=True, timeout=20)


class _Connection(http.client.HTTPConnection):
    def __enter__(self) -> _Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Served]:
    agent = Agent()

    def take(answer: Answer) -> None:
        for order in answer.orders:
            assert isinstance(order, HookReply)
            server.reply(order)

    server = HookServer(agent, folder, take, agent.events.extend)
    await server.open()
    try:
        yield Served(agent, server, server.invite(BridgeAddress(token="")))
    finally:
        server.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[[Callable[[Served], Awaitable[None]]], None]]:
    """Runs a coroutine beside an open server."""

    def run(body: Callable[[Served], Awaitable[None]]) -> None:
        async def main() -> None:
            async with serving(tmp_path) as served:
                await asyncio.wait_for(body(served), 30)

        asyncio.run(main())

    yield run
    assert list(tmp_path.iterdir()) == [], "nothing stays behind"


Run = Callable[[Callable[[Served], Awaitable[None]]], None]


def test_http_is_answered_and_the_connection_kept(served: Run) -> None:
    async def body(it: Served) -> None:
        def requests() -> list[tuple[int, bytes]]:
            with it.connect() as connection:
                return [it.ask(connection, "echo", b'{"n": %d}' % n) for n in range(3)]

        answers = await asyncio.to_thread(requests)
        assert [(status, json.loads(said)) for status, said in answers] == [
            (200, {"got": {"n": n}}) for n in range(3)
        ]

    served(body)


def test_a_wrong_token_is_nobody(served: Run) -> None:
    async def body(it: Served) -> None:
        status, _ = await asyncio.to_thread(it.post, "echo", b"{}", "http://x/wrong/")
        assert (status, it.agent.calls) == (404, [])

    served(body)


@pytest.mark.parametrize("sent", [b"no json", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_object_is_counted_and_answered_with_nothing(served: Run, sent: bytes) -> None:
    async def body(it: Served) -> None:
        assert await asyncio.to_thread(it.post, "echo", sent) == (200, b"")
        done = await asyncio.to_thread(it.run, "echo", sent)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert [type(event) for event in it.agent.events] == [Unparsed, Unparsed]
        assert it.agent.calls == []

    served(body)


def test_a_waiting_hook_is_answered_later(served: Run) -> None:
    async def body(it: Served) -> None:
        waiting = asyncio.create_task(asyncio.to_thread(it.post, "wait", b"{}"))
        await it.agent.heard(lambda: it.agent.calls)
        it.server.reply(HookReply(call=1, body={"go": "on"}))
        it.server.reply(HookReply(call=1, body={"go": "twice"}))
        assert await waiting == (200, b'{"go":"on"}')

    served(body)


def test_the_end_of_the_run_lets_waiting_hooks_go(served: Run) -> None:
    async def body(it: Served) -> None:
        ways = (asyncio.to_thread(it.post, "wait", b"{}"), asyncio.to_thread(it.run, "wait", b"{}"))
        waiting = [asyncio.create_task(way) for way in ways]
        await it.agent.heard(lambda: len(it.agent.calls) == 2)
        it.server.close()
        over_http, by_shell = await asyncio.gather(*waiting)
        assert over_http == (200, b"")
        assert by_shell.returncode == 0

    served(body)


def test_the_shell_client_prints_the_answer(served: Run) -> None:
    async def body(it: Served) -> None:
        long = {"text": "x" * 300_000, "line": "a\nb"}
        done = await asyncio.to_thread(it.run, "echo", json.dumps(long).encode())
        assert (done.returncode, done.stderr) == (0, b"")
        assert json.loads(done.stdout) == {"got": long}

    served(body)


def test_many_shell_clients_at_once_do_not_mix(served: Run) -> None:
    async def body(it: Served) -> None:
        sent = [json.dumps({"n": n, "text": "x" * 20_000}).encode() for n in range(20)]
        done = await asyncio.gather(*(asyncio.to_thread(it.run, "echo", one) for one in sent))
        assert [json.loads(one.stdout)["got"]["n"] for one in done] == list(range(20))

    served(body)


def test_a_complaint_goes_to_standard_error_with_its_status(served: Run) -> None:
    async def body(it: Served) -> None:
        waiting = asyncio.create_task(asyncio.to_thread(it.run, "wait", b"{}"))
        await it.agent.heard(lambda: it.agent.calls)
        it.server.reply(HookReply(call=1, code=2, text="go on\nwith the work"))
        done = await waiting
        assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"go on\nwith the work")

    served(body)


def test_a_caller_that_leaves_is_noticed(served: Run) -> None:
    async def body(it: Served) -> None:
        command = [*it.address.hook_command, "wait"]
        client = subprocess.Popen(command, stdin=subprocess.PIPE)
        assert client.stdin is not None
        client.stdin.write(b"{}")
        client.stdin.close()
        await it.agent.heard(lambda: it.agent.calls)
        client.terminate()
        await it.agent.heard(lambda: it.agent.gone == [1])
        await asyncio.to_thread(client.wait)
        connection = it.connect()
        connection.request("POST", urlsplit(it.address.hooks).path + "wait", b"{}")
        await it.agent.heard(lambda: len(it.agent.calls) == 2)
        connection.close()
        await it.agent.heard(lambda: it.agent.gone == [1, 2])

    served(body)


def test_without_a_supervisor_the_client_says_nothing(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for folder, pid in ((tmp_path / "none", 1), (tmp_path, gone.pid)):
        done = subprocess.run([*command(folder, pid), "echo"], input=b"{}", capture_output=True, timeout=20)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


SUPERVISOR = """
import asyncio, sys
from pathlib import Path
from tests.runtime.reach.test_hooks import serving

async def main():
    async with serving(Path(sys.argv[1])) as it:
        print("listening", flush=True)
        await it.agent.heard(lambda: it.agent.calls)
        print("called", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """It can be killed. Its parent has not collected it by then, so its number still stands for it."""
    argv = [sys.executable, "-c", SUPERVISOR, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"listening\n"
        yield process
        process.kill()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["requests", "turn"], "of its own, which it could not remove"


BODIES = pytest.mark.parametrize("body", [b"{}", b"x" * 300_000], ids=["short", "long"])


def client_of(supervisor: subprocess.Popen[bytes], folder: Path) -> subprocess.Popen[bytes]:
    argv = [*command(folder, supervisor.pid), "wait"]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@BODIES
def test_a_client_of_a_killed_supervisor_says_nothing(
    supervisor: subprocess.Popen[bytes], tmp_path: Path, body: bytes
) -> None:
    supervisor.kill()
    os.waitid(os.P_PID, supervisor.pid, os.WEXITED | os.WNOWAIT)
    with client_of(supervisor, tmp_path) as client:
        assert client.communicate(body, timeout=20) == (b"", b"")
    assert client.returncode == 0


@BODIES
def test_a_client_is_let_go_by_a_supervisor_that_is_killed_before_it_hears_of_it(
    supervisor: subprocess.Popen[bytes], tmp_path: Path, body: bytes
) -> None:
    supervisor.send_signal(signal.SIGSTOP)
    with client_of(supervisor, tmp_path) as client:
        while not (tmp_path / f"{client.pid}.a").exists():
            assert client.poll() is None
        supervisor.kill()
        assert client.communicate(body, timeout=20) == (b"", b"")
    assert client.returncode == 0


def test_a_waiting_client_is_let_go_by_a_supervisor_that_is_killed(
    supervisor: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    with client_of(supervisor, tmp_path) as client:
        assert client.stdin is not None
        client.stdin.write(b"{}")
        client.stdin.close()
        client.stdin = None
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"called\n"
        supervisor.kill()
        assert client.communicate(timeout=20) == (b"", b"")
    assert client.returncode == 0


def test_a_client_that_was_not_let_in_waits_for_another_turn(tmp_path: Path) -> None:
    """As long as there is somebody who could let it in."""

    def held(name: str) -> int:
        """A pipe that the test alone has open, for writing."""
        os.mkfifo(tmp_path / "next")
        reading = os.open(tmp_path / "next", os.O_RDONLY | os.O_NONBLOCK)
        (tmp_path / "next").rename(tmp_path / name)
        writing = os.open(tmp_path / name, os.O_WRONLY)
        os.close(reading)
        return writing

    turn, requests = held("turn"), held("requests")
    asked = os.open(tmp_path / "requests", os.O_RDONLY)
    argv = [*command(tmp_path, os.getpid()), "echo"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert os.read(asked, 1000) == b"%d echo\n" % client.pid
        for _ in range(3):
            waiting = select.poll()
            waiting.register(turn, 0)
            while waiting.poll(0):  # nobody has it open yet
                assert client.poll() is None
            former, turn = turn, held("turn")
            os.close(former)
            assert os.read(asked, 1000) == b"\n"
        for fd in (turn, requests, asked):
            os.close(fd)
        assert client.communicate(b"{}", timeout=20)[0] == b""
    assert client.returncode == 0
