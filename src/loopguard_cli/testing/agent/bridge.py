"""The agent's end of the bridge protocol."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

BRIDGE = "LOOPGUARD_BRIDGE"

Performer = Callable[[dict[str, Any]], Any]
"""Performs one order; what it returns is the order's result, what it raises its failure."""


class Bridge:
    """One connection to the supervisor. Without one, everything is a no-op and every call may run."""

    def __init__(self, perform: Performer) -> None:
        text = os.environ.pop(BRIDGE, "")
        self.boot: dict[str, Any] = json.loads(text) if text else {}
        self._perform = perform
        self._lock = threading.Lock()
        self._welcomed = threading.Event()
        self._answers: dict[int, dict[str, Any] | None] = {}
        self._answered = threading.Condition()
        self._number = 0
        self._socket = self._connect() if self.boot else None
        if self._socket is not None:
            self.send(type="hello", protocol=1, token=self.boot["token"], pid=os.getpid(), reconnected=False)
            threading.Thread(target=self._read, name="bridge", daemon=True).start()
            self._welcomed.wait(self.boot["gate_timeout_ms"] / 1000)

    @property
    def tools(self) -> set[str]:
        """The agent tools that the supervisor provides."""
        return {tool["name"] for tool in self.boot.get("tools", [])}

    def send(self, **message: Any) -> None:
        if self._socket is None:
            return
        with self._lock, contextlib.suppress(OSError):
            self._socket.sendall(json.dumps(message).encode() + b"\n")

    def event(self, kind: str, **properties: Any) -> None:
        self.send(type="event", event={"type": kind, "properties": properties})

    def gate(self, session: str, call: str, tool: str, args: Any) -> str | None:
        """None when the call may run, else what the model reads instead."""
        answer = self._ask("gate_timeout_ms", type="gate", session=session, call=call, tool=tool, args=args)
        return str(answer.get("text", "")) if answer and answer.get("allow") is False else None

    def ask(self, session: str, operation: str, arguments: Any, surface: str = "tool") -> str:
        answer = self._ask(
            "ask_timeout_ms",
            type="ask",
            session=session,
            operation=operation,
            arguments=arguments,
            surface=surface,
        )
        return str(answer.get("text", "")) if answer else "The supervisor is not connected."

    def give_up_waiting(self) -> None:
        """Whoever waits for an answer goes on without one."""
        with self._answered:
            for number in self._answers:
                self._answers[number] = {}
            self._answered.notify_all()

    def _connect(self) -> socket.socket:
        if path := self.boot.get("unix"):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            return connection
        return socket.create_connection((self.boot["host"], self.boot["port"]))

    def _ask(self, timeout: str, **question: Any) -> dict[str, Any] | None:
        if self._socket is None:
            return None
        with self._answered:
            self._number = number = self._number + 1
            self._answers[number] = None
        self.send(**question, id=number)
        with self._answered:
            self._answered.wait_for(lambda: self._answers[number] is not None, self.boot[timeout] / 1000)
            return self._answers.pop(number)

    def _read(self) -> None:
        assert self._socket is not None
        with self._socket.makefile("rb") as lines:
            for line in lines:
                message = json.loads(line)
                match message.get("type"):
                    case "welcome":
                        for order in message.get("orders") or ():
                            self._order(order)
                        self._welcomed.set()
                    case "answer":
                        with self._answered:
                            if message.get("id") in self._answers:
                                self._answers[message["id"]] = message
                                self._answered.notify_all()
                    case "order":
                        self._order(message)
        self.give_up_waiting()

    def _order(self, order: dict[str, Any]) -> None:
        try:
            result = {"ok": True, "data": self._perform(order)}
        except Exception as error:  # the supervisor shall hear of every failure
            result = {"ok": False, "error": str(error)}
        if "id" in order:
            self.send(type="done", id=order["id"], **result)
