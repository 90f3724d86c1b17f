"""An agent for kill trials: reaches one phase of its work, says so, and stays there until it is ended.

Started by a trial as ``opencode``, over ACP or on a terminal; what it shall do is in its environment:
``TRIAL`` (a folder for what it says of itself), ``TRIAL_KIND`` and ``TRIAL_PHASE``.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import tty
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["TRIAL"])
PHASE = os.environ["TRIAL_PHASE"]
LOOP = "I will now read the configuration file once more.\n"
PAUSE = 0.02
SESSION = "ses_1"


def say(name: str, text: str = "") -> None:
    """Tell the trial, in one step."""
    part = FOLDER / f".{name}"
    part.write_text(text)
    part.rename(FOLDER / name)


def work() -> str:
    """Text that never repeats itself."""
    return f"{next(_numbers)} {os.urandom(6).hex()} {os.urandom(6).hex()}.\n"


_numbers = itertools.count()


class Surface:
    """How the agent talks. ``cut`` is set when its turn was aborted, ``prompted`` when it is to go on."""

    def __init__(self) -> None:
        self.cut = threading.Event()
        self.prompted = threading.Event()

    def begin(self) -> None:
        """Say hello and wait for the first prompt, if it has to come from outside."""

    def speak(self, text: str) -> None:
        raise NotImplementedError

    def call(self) -> None:
        """Say that a command runs."""

    def stopped(self) -> None:
        """Say that the turn was cut off."""


class Bridged(Surface):
    """As OpenCode: a bridge inside, the person's terminal for itself."""

    def begin(self) -> None:
        from loopguard_cli.testing.agent.bridge import Bridge

        self._messages = 0
        if sys.stdin.isatty() and sys.argv[1:2] != ["run"]:
            tty.setraw(0)
            os.write(1, b"\x1b[?1049h\x1b[?1003h\x1b[?2004h\x1b[>1u")
        self._bridge = Bridge(self._perform)
        if "prompt" in self._bridge.boot:
            self.prompted.set()
        self.event("session.created", info={"id": SESSION, "directory": str(Path.cwd())})
        self._turn(self._bridge.boot.get("prompt", {}).get("effect", ""))

    def event(self, kind: str, **properties: Any) -> None:
        self._bridge.event(kind, sessionID=SESSION, **properties)

    def _turn(self, effect: str) -> None:
        self._messages += 1
        user, self._message = f"msg_u{self._messages}", f"msg_a{self._messages}"
        model = {"providerID": "p", "modelID": "m"}
        text = "" if effect else "Do it."
        self._bridge.send(
            type="message", session=SESSION, message=user, effect=effect, real=not effect, text=text,
            agent="build", model=model,
        )  # fmt: skip
        self.event("message.updated", info={"id": user, "role": "user", "agent": "build", "model": model})
        self.event("session.status", status={"type": "busy"})
        self._info = {
            "id": self._message, "role": "assistant", "parentID": user, "agent": "build", "providerID": "p",
            "modelID": "m",
        }  # fmt: skip
        self.event("message.updated", info=self._info)
        self.event("message.part.updated", part=self._part("text", id=f"prt_{self._messages}", text=""))

    def _part(self, kind: str, **more: Any) -> dict[str, Any]:
        return {"type": kind, "messageID": self._message, "sessionID": SESSION, **more}

    def speak(self, text: str) -> None:
        part = f"prt_{self._messages}"
        self.event("message.part.delta", messageID=self._message, partID=part, field="text", delta=text)

    def call(self) -> None:
        args = {"command": "sleep 1000"}
        state = {"status": "running", "input": args}
        self.event(
            "message.part.updated", part=self._part("tool", id="prt_t", tool="bash", callID="c1", state=state)
        )
        self._bridge.gate(SESSION, "c1", "bash", args)

    def stopped(self) -> None:
        error = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
        self.event("session.error", error=error)
        self.event("message.updated", info={**self._info, "time": {"completed": time.time()}, "error": error})
        self.event("session.status", status={"type": "idle"})
        self.event("session.idle")
        self._over.set()
        if sys.argv[1:2] == ["run"]:
            sys.exit(1)

    def _perform(self, order: dict[str, Any]) -> Any:
        match order["op"]:
            case "abort":
                self._over = threading.Event()
                self.cut.set()
                self._over.wait(5)
            case "prompt":
                self._turn(order.get("effect", ""))
                self.prompted.set()
            case "read":
                user = {"id": f"msg_u{self._messages}", "agent": "build"}
                idle = self.cut.is_set() and not self.prompted.is_set()
                return {"status": "idle" if idle else "busy", "assistant": self._message, "user": user}
        return None


class Driven(Surface):
    """As an ACP agent: JSON-RPC on its standard streams."""

    def begin(self) -> None:
        self._lock = threading.Lock()
        self._prompts: list[Any] = []
        self._first = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        self._first.wait()

    def _send(self, **message: Any) -> None:
        with self._lock:
            os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _update(self, **update: Any) -> None:
        self._send(method="session/update", params={"sessionId": SESSION, "update": update})

    def speak(self, text: str) -> None:
        self._update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})

    def call(self) -> None:
        raw = {"command": "sleep 1000"}
        self._update(
            sessionUpdate="tool_call", toolCallId="c1", title="sleep", kind="execute", status="in_progress",
            rawInput=raw,
        )  # fmt: skip

    def stopped(self) -> None:
        self._send(id=self._prompts[0], result={"stopReason": "cancelled"})

    def _read(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            match message.get("method"):
                case "initialize":
                    self._send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
                case "session/new":
                    self._send(id=message["id"], result={"sessionId": SESSION})
                case "session/prompt":
                    self._prompts.append(message["id"])
                    (self.prompted if self._first.is_set() else self._first).set()
                case "session/cancel":
                    self.cut.set()
                case _ if "id" in message and "method" in message:
                    self._send(id=message["id"], error={"code": -32601, "message": "no such method"})


class OnTerminal(Surface):
    """As a program that only has a terminal: Escape stops it, a paste and Enter make it go on."""

    def begin(self) -> None:
        tty.setraw(0)
        os.write(1, b"\x1b[?1003h\x1b[?2004h\x1b[>1u")
        threading.Thread(target=self._read, daemon=True).start()

    def speak(self, text: str) -> None:
        os.write(1, text.replace("\n", "\r\n").encode())

    def _read(self) -> None:
        typed = b""
        while data := os.read(0, 4096):
            typed += data
            if typed.startswith(b"\x1b") and not typed.startswith(b"\x1b["):
                self.cut.set()
                typed = typed[1:]
            if typed.endswith(b"\x1b[201~\r") or (b"\x1b[201~" in typed and b"\r" in data):
                self.prompted.set()


SURFACES: dict[str, type[Surface]] = {
    "bridged": Bridged,
    "one-shot": Bridged,
    "driven": Driven,
    "terminal": OnTerminal,
}


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGUSR1, lambda *_: say("pong"))
    say("agent", str(os.getpid()))
    if PHASE == "start":
        say("start")
        while True:
            time.sleep(1)
    surface = SURFACES[os.environ["TRIAL_KIND"]]()
    surface.begin()
    if PHASE == "tool":
        surface.speak(work())
        surface.call()
        subprocess.Popen(["sleep", "1000"], start_new_session=True, stdin=subprocess.DEVNULL)
        say("tool")
        while True:
            time.sleep(1)
    if PHASE == "continuation" and not surface.prompted.is_set():
        while not surface.cut.is_set():
            surface.speak(LOOP)
            time.sleep(PAUSE)
        surface.stopped()
        surface.prompted.wait()
    for number in itertools.count():
        surface.speak(work())
        if number == 5:
            say(PHASE)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
