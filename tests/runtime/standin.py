"""A stand-in for OpenCode: speaks the bridge's protocol, and does what its first argument names.

Started by ``loopguard run --agent opencode -- python standin.py TASK``; uses nothing but Python's library.
"""

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any


class Bridge:
    def __init__(self) -> None:
        boot = json.loads(os.environ.pop("LOOPGUARD_BRIDGE"))
        if "unix" in boot:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(boot["unix"])
        else:
            self._socket = socket.create_connection((boot["host"], boot["port"]))
        self._lines = self._socket.makefile("rb")
        self._numbers = 0
        self.send({"type": "hello", "protocol": 1, "token": boot["token"], "version": "stand-in"})
        self.read()

    def send(self, message: dict[str, Any]) -> None:
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def read(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise EOFError
        message: dict[str, Any] = json.loads(line)
        return message

    def gate(self, command: str) -> bool:
        self._numbers += 1
        question = {"type": "gate", "id": self._numbers, "session": "ses_1", "call": f"c{self._numbers}"}
        self.send({**question, "tool": "bash", "args": {"command": command}})
        while (message := self.read())["type"] != "answer":
            pass
        return bool(message["allow"])

    def toast(self) -> str:
        """The next notice for the person."""
        while (message := self.read()).get("op") != "toast":
            pass
        return str(message["message"])


def counted(bridge: Bridge) -> int:
    """Three identical calls; the exit status has one bit for each that was allowed."""
    return sum(1 << number for number in range(3) if bridge.gate("make"))


def late(bridge: Bridge) -> int:
    """Three identical calls; the third is refused too late, as the agent sees it, and has run."""
    allowed = counted(bridge)
    state = {"status": "completed", "input": {"command": "make"}, "output": "ran", "metadata": {"exit": 0}}
    part = {
        "id": "p3",
        "messageID": "m",
        "sessionID": "ses_1",
        "type": "tool",
        "tool": "bash",
        "callID": "c3",
    }
    properties = {"sessionID": "ses_1", "part": {**part, "state": state}}
    bridge.send({"type": "event", "event": {"type": "message.part.updated", "properties": properties}})
    while bridge.read().get("op") != "abort":
        pass
    return allowed


def tightened(bridge: Bridge) -> int:
    """Writes a settings file and waits until the run has read it."""
    Path("loopguard.toml").write_text("[guard.calls]\nrepeat_threshold = 2\n")
    sys.stdout.write(bridge.toast())
    return sum(1 << number for number in range(3) if bridge.gate("make"))


def loosened(bridge: Bridge) -> int:
    Path("loopguard.toml").write_text("[guard]\nmode = 'off'\n")
    sys.stdout.write(bridge.toast())
    return sum(1 << number for number in range(3) if bridge.gate("make"))


def waiting(bridge: Bridge) -> int:
    """Until the supervisor is gone."""
    sys.stdout.write("waiting\n")
    sys.stdout.flush()
    try:
        while True:
            bridge.read()
    except EOFError:
        return 5


if __name__ == "__main__":
    tasks = {task.__name__: task for task in (counted, late, tightened, loosened, waiting)}
    raise SystemExit(tasks[sys.argv[1]](Bridge()))
