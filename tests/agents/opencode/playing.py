"""Both ends of the bridge, played: `Host` is OpenCode around ``bridge.js``, `Desk` the supervisor."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from loopguard_cli.agents.opencode.launch import BRIDGE, bridge_url

SECONDS = 20.0
Message = dict[str, Any]


class Line:
    """One connection of a bridge, from the supervisor's end."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(SECONDS)
        self._connection = connection
        self._file = connection.makefile("rb")

    def read(self) -> Message:
        line = self._file.readline()
        if not line:
            raise EOFError("the bridge hung up")
        message: Message = json.loads(line)
        return message

    def until(self, wanted: Callable[[Message], bool]) -> Message:
        """The first message that is wanted; what comes before it is dropped."""
        while True:
            message = self.read()
            if wanted(message):
                return message

    def send(self, message: Message) -> None:
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def welcome(self, token: str = "next", **more: Any) -> Message:
        """Take the greeting and let the bridge in."""
        hello = self.read()
        assert hello["type"] == "hello"
        self.send({"type": "welcome", "token": token, **more})
        return hello

    def order(self, op: str, **fields: Any) -> None:
        self.send({"type": "order", "op": op, **fields})

    def close(self) -> None:
        self._file.close()
        self._connection.close()


class Desk:
    """The supervisor's socket."""

    def __init__(self, *, loopback: bool = False) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="lg-"))
        self._lines: list[Line] = []
        if loopback:
            self._server = socket.create_server(("127.0.0.1", 0))
            self.address: Message = {"host": "127.0.0.1", "port": self._server.getsockname()[1]}
        else:
            path = self._folder / "s"
            self._server = socket.socket(socket.AF_UNIX)
            self._server.bind(str(path))
            self._server.listen()
            self.address = {"unix": str(path)}
        self._server.settimeout(SECONDS)

    def accept(self) -> Line:
        line = Line(self._server.accept()[0])
        self._lines.append(line)
        return line

    def die(self) -> None:
        for line in self._lines:
            line.close()
        self._server.close()

    def close(self) -> None:
        self.die()
        shutil.rmtree(self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Host:
    """OpenCode, as far as the bridge can tell."""

    def __init__(
        self,
        address: Message,
        environ: Mapping[str, str] | None = None,
        *,
        invited: bool = True,
        **boot: Any,
    ) -> None:
        node = shutil.which("node")
        if node is None:
            if os.environ.get("CI") == "true":
                pytest.fail("the bridge is tested with Node, which is not installed")
            pytest.skip("the bridge is tested with Node, which is not installed")
        given = {
            "token": "first", "tools": [], "commands": [], "gate_timeout_ms": 15_000,
            "ask_timeout_ms": 15_000, **address, **boot,
        }  # fmt: skip
        self._process = subprocess.Popen(
            [node, str(Path(__file__).with_name("host.mjs")), bridge_url()],
            env={**os.environ, **(environ or {}), **({BRIDGE: json.dumps(given)} if invited else {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._changed = threading.Condition()
        self._said: list[Message] = []
        self._ended = False
        self._numbers = 0
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.loaded = self.said(lambda message: "loaded" in message)

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            with self._changed:
                self._said.append(json.loads(line))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def said(self, wanted: Callable[[Message], bool]) -> Message:
        """The first thing said that is wanted, waited for if need be; each is given out once."""
        with self._changed:
            found = self._changed.wait_for(
                lambda: next(filter(wanted, self._said), None) or self._ended, SECONDS
            )
            if not isinstance(found, dict):
                raise AssertionError(f"not said: {self._said}")
            self._said.remove(found)
            return found

    def api(self, name: str) -> Any:
        """What the bridge gave to a function of OpenCode's API."""
        return self.said(lambda message: message.get("api") == name)["given"]

    def begin(self, what: str, **fields: Any) -> int:
        """Have something done; `result` waits for it."""
        self._numbers += 1
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"id": self._numbers, "do": what, **fields}) + "\n")
        self._process.stdin.flush()
        return self._numbers

    def result(self, number: int) -> Message:
        return self.said(lambda message: message.get("id") == number)

    def over(self, number: int) -> bool:
        """Whether it is done; its result can still be had."""
        with self._changed:
            return any(message.get("id") == number for message in self._said)

    def gate(self, call: str = "c1", session: str = "ses_1", tool: str = "bash", **args: Any) -> int:
        given = {"tool": tool, "sessionID": session, "callID": call}
        return self.begin("call", hook="tool.execute.before", input=given, output={"args": args})

    def event(self, kind: str, **properties: Any) -> None:
        self.result(self.begin("event", event={"type": kind, "properties": properties}))

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        assert self._process.stdout
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
