"""Notices reach real programs and servers, and nothing about them can hurt a run."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil
import pytest
from tests.pty.terminal import Terminal

from loopguard_cli.core.effects import Level, Tell
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.noticing import Notice, Noticing, NotifySettings
from loopguard_cli.core.settings import Locale
from loopguard_cli.core.wording import Wording
from loopguard_cli.errors import ConfigError
from loopguard_cli.runtime.processes import tree
from loopguard_cli.runtime.telling import sinks as sinking
from loopguard_cli.runtime.telling.notify import IN_FLIGHT, Notifier
from loopguard_cli.runtime.telling.sinks import Command, Sink, Webhook, osc, sinks
from loopguard_cli.testing.agent import sandbox
from loopguard_cli.testing.model import ScriptedModel
from loopguard_cli.testing.script import say, turn

NOTICE = Notice(
    topic="loop.stopped",
    title="Agent stopped",
    text='bash looped; "quoted" $HOME `x`',
    level=Level.ERROR,
    session=SessionId("s"),
    time=1.0,
)


def stopped(session: str = "s") -> Tell:
    return Tell(session=SessionId(session), text="it looped", level=Level.ERROR, topic="loop.stopped")


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{body}")
    path.chmod(stat.S_IRWXU)
    return path


def made(environ: dict[str, str] | None = None, **settings: Any) -> list[Sink]:
    return sinks(NotifySettings(**settings), run="r1", environ=environ or {}, write=None)


def notified(
    found: Sequence[Sink], *tells: Tell, seconds: float = 10.0, complain: Callable[[str], object] = print
) -> None:
    async def run() -> None:
        noticing = Noticing(NotifySettings(min_seconds=0), Wording(Locale.EN))
        notifier = Notifier(noticing, found, complain=complain, seconds=seconds)
        for number, tell in enumerate(tells):
            notifier.see(tell, float(number))
        await notifier.close()

    asyncio.run(run())


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    status = 200

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, Any]]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, json.loads(body)))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as made:
        thread = Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


# --- a command -------------------------------------------------------------------------------


def test_a_command_gets_the_notice_as_json_and_in_its_environment(tmp_path: Path) -> None:
    out = tmp_path / "out"
    body = (
        "import json, os, sys\n"
        "got = [sys.argv[1:], json.load(sys.stdin), os.environ['LOOPGUARD_NOTICE_TOPIC']]\n"
        f"json.dump(got, open({str(out)!r}, 'w'))"
    )
    command = program(tmp_path / "say it", body)
    (sink,) = made(desktop=False, command=f"'{command}' --loud")
    asyncio.run(sink.send(NOTICE))
    argv, data, topic = json.loads(out.read_text())
    assert argv == ["--loud"]
    assert (data["schema"], data["run"], data["topic"]) == ("loopguard.notice/1", "r1", "loop.stopped")
    assert data["text"] == f"Agent stopped: {NOTICE.text}"
    assert topic == "loop.stopped"


def test_a_failing_command_is_mentioned_once(tmp_path: Path) -> None:
    command = program(tmp_path / "fails", "raise SystemExit(3)")
    complaints: list[str] = []
    notified(
        made(desktop=False, command=str(command)), stopped("a"), stopped("b"), complain=complaints.append
    )
    (complaint,) = complaints
    assert "(command)" in complaint
    assert "status 3" in complaint


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    body = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pids)!r} + '.new', 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(pids)!r} + '.new', {str(pids)!r})\n"
        "time.sleep(600)"
    )
    command = program(tmp_path / "hangs", body)
    complaints: list[str] = []

    class UntilItRuns:
        """Gives up as soon as both processes are there, as a time limit would."""

        name = "command"

        def __init__(self, sink: Sink) -> None:
            self._sink = sink

        async def send(self, notice: Notice) -> None:
            sending = asyncio.ensure_future(self._sink.send(notice))
            while not pids.exists():
                await asyncio.sleep(0.01)
            sending.cancel()
            await asyncio.wait([sending])
            raise TimeoutError

    (sink,) = made(desktop=False, command=str(command))
    notified([UntilItRuns(sink)], stopped(), complain=complaints.append)
    assert complaints == ["no notice could be sent (command): took too long"]
    for pid in map(int, pids.read_text().split()):
        _gone(pid)


def _gone(pid: int) -> None:
    """It is dead, or dies of the signal that it was sent."""
    with suppress(psutil.NoSuchProcess):
        process, until = psutil.Process(pid), time.monotonic() + 10
        while process.status() != psutil.STATUS_ZOMBIE:  # whoever adopted it may never collect it
            assert time.monotonic() < until
            time.sleep(0.01)


@pytest.mark.parametrize("command", ["'unbalanced", "no-such-program-anywhere"])
def test_a_command_that_can_never_work_is_a_configuration_error(command: str) -> None:
    with pytest.raises(ConfigError, match=r"notify\.command"):
        made(desktop=False, command=command)


# --- a webhook -------------------------------------------------------------------------------


def test_a_webhook_is_posted_to(server: _Server) -> None:
    (sink,) = made(desktop=False, webhook=f"http://127.0.0.1:{server.server_port}/hook?key=1")
    notified([sink], stopped())
    ((path, data),) = server.got
    assert path == "/hook?key=1"
    assert data["content"] == data["text"] == "Agent stopped: it was looping: it looped"
    assert set(data) >= {"schema", "run", "topic", "title", "level", "session", "time"}


def test_a_webhook_that_refuses_is_mentioned_and_nothing_else_suffers(
    server: _Server, tmp_path: Path
) -> None:
    server.status = 500
    out = tmp_path / "out"
    command = program(tmp_path / "touch", f"open({str(out)!r}, 'w')")
    hook = f"http://127.0.0.1:{server.server_port}/"
    complaints: list[str] = []
    notified(made(desktop=False, command=str(command), webhook=hook), stopped(), complain=complaints.append)
    assert complaints == ["no notice could be sent (webhook): 127.0.0.1 answered with status 500"]
    assert out.exists()


def test_an_address_nobody_listens_at() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        complaints: list[str] = []
        hook = Webhook(f"http://127.0.0.1:{taken.getsockname()[1]}/", "r")
        notified([hook], stopped(), complain=complaints.append)
    assert "refused" in complaints[0]


def test_a_headless_agent_on_a_terminal_leaves_the_terminal_to_notices(tmp_path: Path) -> None:
    loop = turn(say("I will now run the tests and look at what they say. " * 40))
    with ScriptedModel((loop,)) as model:
        box = sandbox.Sandbox(tmp_path, model.url)
        (tmp_path / "run").mkdir(mode=0o700)
        environment = {**box.environment(), "XDG_RUNTIME_DIR": str(tmp_path / "run"), "VTE_VERSION": "7000"}
        argv = [sys.executable, "-m", "loopguard_cli", "run", "--set", "guard.recovery.max_continuations=0"]
        argv += ["--", str(box.program), "run", "fix"]
        with Terminal(argv, cwd=box.project, env=environment) as terminal:
            assert terminal.wait() == 80
        assert terminal.raw.count(b"\x1b]777;notify;Agent stopped") == 1


def test_a_server_that_answers_byte_by_byte_holds_nothing_up() -> None:
    """Each byte is within the time limit of the socket; the program ends without waiting for the last."""
    over, patience = Event(), [100]

    def drip(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not over.wait(0.1) and patience[0]:
                patience[0] -= 1
                connection.sendall(b"a")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=drip, args=(listening,), daemon=True).start()
        complaints: list[str] = []
        hook = Webhook(f"http://127.0.0.1:{listening.getsockname()[1]}/", "r")
        notified([hook], stopped(), seconds=0.3, complain=complaints.append)
        over.set()
    assert patience[0], "it was waited for"
    assert complaints == ["no notice could be sent (webhook): took too long"]


@pytest.mark.parametrize("address", ["ftp://host/", "file:///etc/passwd", "host/path", "https://"])
def test_only_http_addresses(address: str) -> None:
    with pytest.raises(ConfigError, match=r"notify\.webhook"):
        made(desktop=False, webhook=address)


# --- desktop and terminal --------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has its own")
def test_notify_send_where_there_is_a_desktop(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program(tmp_path / "notify-send", f"import sys, json; json.dump(sys.argv[1:], open({str(out)!r}, 'w'))")
    environ = {"PATH": str(tmp_path), "DISPLAY": ":0"}
    (sink,) = made(environ)
    asyncio.run(sink.send(NOTICE))
    assert json.loads(out.read_text()) == ["--app-name=loopguard", "--", "Agent stopped", NOTICE.text]
    assert made({"PATH": str(tmp_path)}) == []
    assert made(environ, desktop=False) == []


TERMINALS = [
    ({"KITTY_WINDOW_ID": "1"}, "\x1b]99;"),
    ({"TERM_PROGRAM": "iTerm.app"}, "\x1b]9;"),
    ({"TERM_PROGRAM": "WezTerm"}, "\x1b]9;"),
    ({"TERM": "foot"}, "\x1b]777;notify;"),
    ({"VTE_VERSION": "7200"}, "\x1b]777;notify;"),
]


@pytest.mark.parametrize(("environ", "begins"), TERMINALS)
def test_terminals_that_show_notices(environ: dict[str, str], begins: str) -> None:
    written: list[str] = []
    (sink,) = sinks(NotifySettings(), run="r", environ=environ, write=written.append)
    asyncio.run(sink.send(NOTICE))
    (sequence,) = written
    assert sequence.startswith(begins)
    assert sequence.endswith("\x1b\\")
    assert "bash looped" in sequence


@pytest.mark.parametrize(
    "environ",
    [{}, {"TERM": "xterm"}, {"TERM": "dumb"}, {"KITTY_WINDOW_ID": "1", "TMUX": "x"}, {"TERM": "screen"}],
)
def test_terminals_that_do_not(environ: dict[str, str]) -> None:
    assert osc(environ) is None


def test_a_terminal_that_the_agent_owns_is_left_alone() -> None:
    assert made({"KITTY_WINDOW_ID": "1"}) == []


def test_no_text_can_end_the_sequence_early() -> None:
    written: list[str] = []
    evil = Notice(
        **{**{n: getattr(NOTICE, n) for n in NOTICE.__struct_fields__}, "text": "a\x1b\\b\x07c\x9cd"}
    )
    for environ, _ in TERMINALS:
        (sink,) = sinks(NotifySettings(), run="r", environ=environ, write=written.append)
        asyncio.run(sink.send(evil))
    for sequence in written:
        inner = sequence.removesuffix("\x1b\\").replace("\x1b\\\x1b]99;", "").removeprefix("\x1b]")
        assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in inner)


# --- the notifier ----------------------------------------------------------------------------


class Slow:
    name = "slow"

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.sent = 0
        self._work = work

    async def send(self, notice: Notice) -> None:
        self.sent += 1
        await self._work()


def test_a_sink_that_never_ends_is_given_up() -> None:
    complaints: list[str] = []
    notified([Slow(asyncio.Event().wait)], stopped(), seconds=0.01, complain=complaints.append)  # type: ignore[arg-type]
    assert complaints == ["no notice could be sent (slow): took too long"]


def test_what_comes_on_top_of_many_is_dropped() -> None:
    sink = Slow(lambda: asyncio.sleep(0))
    tells = [stopped(str(number)) for number in range(3 * IN_FLIGHT)]
    settings = NotifySettings(max_per_hour=1000)

    async def run() -> None:
        notifier = Notifier(Noticing(settings, Wording(Locale.EN)), [sink])
        for tell in tells:
            notifier.see(tell, 0.0)
        await notifier.close()

    asyncio.run(run())
    assert sink.sent == IN_FLIGHT


def test_without_sinks_nothing_is_decided() -> None:
    notified([], stopped())


def test_a_long_text_is_cut_but_says_how_many_came_before() -> None:
    fields = {name: getattr(NOTICE, name) for name in NOTICE.__struct_fields__}
    text = sinking.said(Notice(**{**fields, "text": "x" * 5_000, "held_back": 3}))
    assert len(text) == sinking.MAX_TEXT
    assert text.endswith("(and 3 before)")


def test_a_command_that_does_not_read_is_no_failure(tmp_path: Path) -> None:
    (sink,) = made(desktop=False, command=f"{program(tmp_path / 'deaf', 'import os; os.close(0)')}")
    asyncio.run(sink.send(NOTICE))
    assert os.listdir(tmp_path) == ["deaf"]  # noqa: PTH208


def test_the_end_of_a_run_ends_no_notice(tmp_path: Path) -> None:
    """Most notices are sent as a run ends, when what the agent left behind is ended."""
    begun, told = tmp_path / "begun", tmp_path / "told"
    script = (
        f"echo > {begun}; cat > /dev/null; while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo > {told}"
    )

    async def send() -> None:
        task = asyncio.ensure_future(Command(("/bin/sh", "-c", script), "r").send(NOTICE))
        while not begun.exists():
            await asyncio.sleep(0.01)
        await tree.end_all("no such run")
        tree.reap(())
        (tmp_path / "go").touch()
        await task

    asyncio.run(send())
    assert told.exists()
