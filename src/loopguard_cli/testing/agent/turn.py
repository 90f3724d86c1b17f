"""One turn of the agent: ask the model, run what it calls, until it calls nothing more."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from loopguard_cli.testing.agent.bridge import Bridge
from loopguard_cli.testing.agent.history import History
from loopguard_cli.testing.agent.provider import Stream

AGENT = "build"
PROVIDER = "scripted"
MODEL = "scripted-1"
BASE_URL = "LOOPGUARD_SCRIPTED_MODEL"


class _AbortedError(Exception):
    """The turn was aborted."""


class Agent:
    """Works in one session, from one prompt to its end."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._aborted = threading.Event()
        self._over = threading.Event()
        self._hints: list[str] = []
        self._stream: Stream | None = None
        self._shell: subprocess.Popen[str] | None = None
        self._parent = ""
        self._bridge = Bridge(self._perform)

    def run(self, prompt: str) -> int:
        """Answer ``prompt``. Returns the exit status."""
        launched = self._bridge.boot.get("prompt", {})
        info = {"id": self._session, "directory": str(Path.cwd()), "version": "scripted"}
        self._event("session.updated" if self.history.known else "session.created", info=info)
        self._take(prompt, launched.get("effect", "") if launched.get("session") == self._session else "")
        self._event("session.status", status={"type": "busy"})
        try:
            while self._step():
                while self._hints:
                    self._take(self._hints.pop(0), "")
        except _AbortedError:
            error = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
            self._event("session.error", error=error)
            self._finish(error=error)
        self._event("session.status", status={"type": "idle"})
        self._event("session.idle")
        self.history.save()
        self._over.set()
        return 1 if self._aborted.is_set() else 0

    # --- orders ------------------------------------------------------------------------------

    def _perform(self, order: dict[str, Any]) -> Any:
        match order["op"]:
            case "abort":
                self._abort()
            case "prompt":
                self._hints.append(order["text"])
            case "trim":
                self.history.trim(order["message"], order["part"], order["keep"], order["note"])
            case "read":
                newest = {role: self.history.newest(role) for role in ("user", "assistant")}
                return {
                    "status": "idle" if self._over.is_set() else "busy",
                    "assistant": (newest["assistant"] or {}).get("id", ""),
                    "user": {"id": (newest["user"] or {}).get("id", ""), "agent": AGENT},
                }
            case "context" | "toast" | "permission":
                pass
            case other:
                raise ValueError(f"unknown order {other}")
        return None

    def _abort(self) -> None:
        self._aborted.set()
        if self._stream is not None:
            self._stream.close()
        if self._shell is not None:
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._bridge.give_up_waiting()
        self._over.wait(10)

    # --- a step ------------------------------------------------------------------------------

    @property
    def _session(self) -> str:
        return self.history.session

    def _event(self, kind: str, **properties: Any) -> None:
        self._bridge.event(kind, sessionID=self._session, **properties)

    def _take(self, text: str, effect: str) -> None:
        message = self.history.add("user", {"id": self.history.new_id("prt"), "type": "text", "text": text})
        model = {"providerID": PROVIDER, "modelID": MODEL}
        self._bridge.send(
            type="message",
            session=self._session,
            message=message["id"],
            effect=effect,
            real=not effect,
            text="" if effect else text,
            agent=AGENT,
            model=model,
        )
        info = {"id": message["id"], "role": "user", "agent": AGENT, "model": model}
        self._event("message.updated", info=info)

    def _step(self) -> bool:
        """One model call and the tool calls it asks for; False when there were none."""
        user = self.history.newest("user") or {}
        message = self.history.add("assistant")
        self._parent = user.get("id", "")
        self._tell(message)
        self._stream = Stream(os.environ[BASE_URL], MODEL, self.history.conversation()[:-1], self._session)
        calls: list[dict[str, Any]] = []
        try:
            for delta in self._stream:
                if self._aborted.is_set():
                    raise _AbortedError
                if text := delta.get("content"):
                    self._say(message, text)
                calls += delta.get("tool_calls", [])
        except (http.client.HTTPException, OSError, ValueError, AttributeError):
            if not self._aborted.is_set():
                raise
            raise _AbortedError from None
        finally:
            self._stream.close()
        if self._aborted.is_set():
            raise _AbortedError
        self._end_text(message)
        for call in calls:
            self._call(message, call)
        self._finish(finish="tool-calls" if calls else "stop")
        return bool(calls)

    def _say(self, message: dict[str, Any], text: str) -> None:
        if not message["parts"]:
            part = {"id": self.history.new_id("prt"), "type": "text", "text": ""}
            message["parts"].append(part)
            self._part(message, part)
        part = message["parts"][0]
        part["text"] += text
        self._event(
            "message.part.delta", messageID=message["id"], partID=part["id"], field="text", delta=text
        )
        print(text, end="", flush=True)  # noqa: T201

    def _end_text(self, message: dict[str, Any]) -> None:
        for part in message["parts"]:
            self._part(message, {**part, "time": {"end": time.time()}})
            print(flush=True)  # noqa: T201

    def _call(self, message: dict[str, Any], call: dict[str, Any]) -> None:
        tool, args = call["function"]["name"], json.loads(call["function"]["arguments"] or "{}")
        state: dict[str, Any] = {"status": "running", "input": args}
        part = {
            "id": self.history.new_id("prt"),
            "type": "tool",
            "tool": tool,
            "callID": call["id"],
            "state": state,
        }
        message["parts"].append(part)
        self._part(message, part)
        refusal = self._bridge.gate(self._session, call["id"], tool, args)
        if self._aborted.is_set():
            state.update(status="error", error="Tool execution aborted", metadata={"interrupted": True})
        elif refusal is not None:
            state.update(status="error", error=refusal)
        elif tool in self._bridge.tools:
            state.update(status="completed", output=self._bridge.ask(self._session, tool, args))
        elif tool == "bash":
            state.update(self._bash(args["command"]))
        else:
            state.update(status="error", error=f"no such tool: {tool}")
        self._part(message, part)
        if self._aborted.is_set():
            raise _AbortedError

    def _bash(self, command: str) -> dict[str, Any]:
        print(f"$ {command}", flush=True)  # noqa: T201
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        output, _ = self._shell.communicate()
        code, self._shell = self._shell.returncode, None
        return {"status": "completed", "output": output or "(no output)", "metadata": {"exit": code}}

    # --- telling -----------------------------------------------------------------------------

    def _part(self, message: dict[str, Any], part: dict[str, Any]) -> None:
        self._event("message.part.updated", part={**part, "messageID": message["id"]})

    def _tell(self, message: dict[str, Any], **more: Any) -> None:
        info = {
            "id": message["id"],
            "role": "assistant",
            "parentID": self._parent,
            "agent": AGENT,
            "providerID": PROVIDER,
            "modelID": MODEL,
            **more,
        }
        self._event("message.updated", info=info)

    def _finish(self, **more: Any) -> None:
        message = self.history.newest("assistant")
        if message is not None:
            self._tell(message, time={"completed": time.time()}, **more)
