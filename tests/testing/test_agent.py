"""The stand-in agent, alone and under a supervisor that this test plays itself."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.model import ScriptedModel
from loopguard_cli.testing.script import Call, Hold, Say, reply, say, turn


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


class Supervisor:
    """Listens for one bridge at a time and plays its part line by line."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(20)
        self._lines: IO[bytes]
        self._connection: socket.socket | None = None

    @property
    def boot(self) -> dict[str, Any]:
        port = self._listener.getsockname()[1]
        tools = [{"name": "loop_check", "description": "", "args": {}}]
        times = {"gate_timeout_ms": 20_000, "ask_timeout_ms": 20_000}
        return {"token": "secret", "host": "127.0.0.1", "port": port, "tools": tools, **times}

    def accept(self, *orders: dict[str, Any]) -> None:
        self._hang_up()
        self._connection, _ = self._listener.accept()
        self._connection.settimeout(20)
        self._lines = self._connection.makefile("rb")
        hello = self.read()
        assert (hello["type"], hello["token"]) == ("hello", "secret")
        self.send(type="welcome", token="next", orders=orders)

    def read(self) -> dict[str, Any]:
        line = self._lines.readline()
        return json.loads(line) if line else {"type": "end"}

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """All messages up to the first wanted one, or to the end."""
        read: list[dict[str, Any]] = []
        while not read or not (wanted(read[-1]) or read[-1]["type"] == "end"):
            read.append(self.read())
        return read

    def send(self, **message: Any) -> None:
        assert self._connection
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def close(self) -> None:
        self._listener.close()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._connection:
            self._lines.close()
            self._connection.close()


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    supervisor = Supervisor()
    yield supervisor
    supervisor.close()


class Agent:
    def __init__(self, folder: Path, model: ScriptedModel) -> None:
        self.folder = folder
        self._model = model
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, *words: str, boot: dict[str, Any] | None = None) -> subprocess.Popen[str]:
        environment = {**os.environ, "LOOPGUARD_SCRIPTED_MODEL": self._model.url, "HOME": str(self.folder)}
        if boot:
            environment["LOOPGUARD_BRIDGE"] = json.dumps(boot)
        process = subprocess.Popen(
            [sys.executable, "-m", "loopguard_cli.testing.agent", "run", *words],
            env=environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._processes.append(process)
        return process

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()


@pytest.fixture
def agent(tmp_path: Path, model: ScriptedModel) -> Iterator[Agent]:
    agent = Agent(tmp_path, model)
    yield agent
    agent.close()


def native(messages: list[dict[str, Any]]) -> list[str]:
    return [message["event"]["type"] for message in messages if message["type"] == "event"]


def test_works_unsupervised(agent: Agent, model: ScriptedModel) -> None:
    model.behave(
        [turn(reply(Say(text="I look."), Call(tool="bash", args={"command": "echo hi"})), say("Bye."))]
    )
    process = agent.start("look", "around")
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "I look.\n$ echo hi\nBye.\n")
    first, second = model.chats()
    assert first.request.user == "look around"
    assert second.request.results == ("hi\n",)


def test_asks_before_each_call_and_obeys(agent: Agent, model: ScriptedModel, supervisor: Supervisor) -> None:
    touch = Call(tool="bash", args={"command": "touch done"})
    model.behave([turn(reply(touch), reply(Call(tool="loop_check", args={"a": 1})), say("Bye."))])
    process = agent.start("go", boot=supervisor.boot)
    supervisor.accept()
    asked = supervisor.until(lambda message: message["type"] == "gate")
    assert native(asked)[:3] == ["session.created", "message.updated", "session.status"]
    assert asked[-1]["args"] == {"command": "touch done"}
    supervisor.send(type="answer", id=asked[-1]["id"], allow=False, text="[NO] not again")
    gate = supervisor.until(lambda message: message["type"] == "gate")[-1]
    supervisor.send(type="answer", id=gate["id"], allow=True)
    question = supervisor.until(lambda message: message["type"] == "ask")[-1]
    assert (question["operation"], question["arguments"]) == ("loop_check", {"a": 1})
    supervisor.send(type="answer", id=question["id"], ok=True, text="counted")
    assert native(supervisor.until(lambda _: False))[-2:] == ["session.status", "session.idle"]
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert not (agent.folder / "done").exists()
    _, second, third = model.chats()
    assert (second.request.results, third.request.results) == (("[NO] not again",), ("counted",))


def test_aborted_trimmed_and_gone_on(agent: Agent, model: ScriptedModel, supervisor: Supervisor) -> None:
    model.behave(
        [turn(reply(Say(text="again "), Hold()), match="go"), turn(say("Better."), match="otherwise")]
    )
    process = agent.start("go", boot=supervisor.boot)
    supervisor.accept()
    delta = supervisor.until(lambda m: native([m]) == ["message.part.delta"])[-1]["event"]["properties"]
    supervisor.send(type="order", op="abort", session=delta["sessionID"], id="e1")
    ended = supervisor.until(lambda message: message["type"] == "done")
    assert native(ended)[:1] == ["session.error"]
    process.communicate(timeout=30)
    assert process.returncode == 1
    assert model.chats()[0].end is End.CLIENT_CLOSED

    session, prompt = delta["sessionID"], {"session": delta["sessionID"], "effect": "e2"}
    trim = {"op": "trim", "session": session, "message": delta["messageID"], "part": delta["partID"]}
    process = agent.start("--session", session, "do otherwise", boot={**supervisor.boot, "prompt": prompt})
    supervisor.accept({**trim, "id": "e3", "keep": 2, "note": "(cut)"})
    said = supervisor.until(lambda message: message["type"] == "message")[-1]
    assert (said["effect"], said["real"], said["session"]) == ("e2", False, session)
    supervisor.until(lambda _: False)
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert [m.text for m in model.chats()[1].request.messages[1:]] == ["go", "ag(cut)", "do otherwise"]


def test_waiting_call_of_an_aborted_turn_does_not_run(
    agent: Agent, model: ScriptedModel, supervisor: Supervisor
) -> None:
    model.behave([turn(reply(Call(tool="bash", args={"command": "touch done"})))])
    process = agent.start("go", boot=supervisor.boot)
    supervisor.accept()
    gate = supervisor.until(lambda message: message["type"] == "gate")[-1]
    supervisor.send(type="order", op="abort", session=gate["session"], id="e1")
    supervisor.until(lambda _: False)
    process.communicate(timeout=30)
    assert process.returncode == 1
    assert not (agent.folder / "done").exists()
