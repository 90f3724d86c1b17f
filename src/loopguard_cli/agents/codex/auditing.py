"""An independent auditor: a side conversation of the same server that can read and do nothing else.

Its sandbox is read-only and asks nobody. What a sandbox does not hold is switched off by name: the
person's MCP servers, and agents and goals of the agent's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from loopguard_cli.agents.base import Order
from loopguard_cli.agents.codex.protocol import ConfigOf, ItemOf, ThreadOf, TurnOf, read
from loopguard_cli.core.effects import RunAudit
from loopguard_cli.core.events import AuditFinished, Event
from loopguard_cli.core.ids import EffectId, SessionId
from loopguard_cli.wire import jsonrpc

_OFF = ("features.goals", "features.multi_agent", "features.multi_agent_v2", "features.apps")

Part = Order | Event
Ask = Callable[[str, dict[str, Any], Callable[[Any, jsonrpc.Failure | None], Iterator[Part]]], Order]


class _Audit:
    def __init__(self, effect: RunAudit) -> None:
        self.effect = effect
        self.thread = SessionId("")
        self.turn = self.reply = ""


class Audits:
    """The audits that are going on. ``ask`` sends a request to the server."""

    def __init__(self, directory: str, ask: Ask) -> None:
        self._directory = directory
        self._ask = ask
        self._going: dict[EffectId, _Audit] = {}

    def start(self, effect: RunAudit) -> Iterator[Part]:
        audit = self._going[effect.effect] = _Audit(effect)

        def configured(result: Any, _error: jsonrpc.Failure | None) -> Iterator[Part]:
            config = read(result, ConfigOf)
            servers = (config.config.mcp_servers or {}) if config is not None else {}
            yield self._ask("thread/start", self._settings(servers), opened)

        def opened(result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
            thread = read(result, ThreadOf)
            if thread is None or error is not None:
                yield from self._end(audit, _why(error))
                return
            audit.thread = thread.thread.id
            text = [{"type": "text", "text": effect.prompt}]
            yield self._ask("turn/start", {"threadId": audit.thread, "input": text}, begun)

        def begun(result: Any, error: jsonrpc.Failure | None) -> Iterator[Part]:
            turn = read(result, TurnOf)
            if turn is None or error is not None:
                yield from self._end(audit, _why(error))
            else:
                audit.turn = turn.turn.id

        yield self._ask("config/read", {"cwd": self._directory}, configured)

    def cancel(self, effect: EffectId) -> Iterator[Part]:
        """It is no longer wanted; it need not finish."""
        audit = self._going.pop(effect, None)
        if audit is not None and audit.turn:
            yield self._ask("turn/interrupt", {"threadId": audit.thread, "turnId": audit.turn}, _nothing)

    def holds(self, thread: str) -> bool:
        """Whether a thread is one of ours."""
        return any(audit.thread == thread for audit in self._going.values())

    def heard(self, method: str, params: Mapping[str, Any]) -> Iterator[Event]:
        """A notification about a side conversation."""
        thread = params.get("threadId")
        audit = next((one for one in self._going.values() if one.thread and one.thread == thread), None)
        if audit is None:
            return
        if method == "item/completed" and (of := read(params, ItemOf)) is not None:
            if of.item.type == "agentMessage":
                audit.reply = of.item.text or ""
        elif method == "turn/completed" and (done := read(params, TurnOf)) is not None:
            error = done.turn.error.message if done.turn.error is not None else ""
            if done.turn.status != "completed":
                error = error or f"its turn was {done.turn.status}"
            yield from self._end(audit, error)

    def clear(self) -> Iterator[Event]:
        """The server is gone."""
        for audit in list(self._going.values()):
            yield from self._end(audit, "the agent is gone")

    def _settings(self, servers: Mapping[str, Any]) -> dict[str, Any]:
        off: dict[str, Any] = dict.fromkeys(_OFF, False)
        return {
            "cwd": self._directory,
            "approvalPolicy": "never",
            "sandbox": "read-only",
            "ephemeral": True,
            "config": {**off, "mcp_servers": {name: {"enabled": False} for name in servers}},
        }

    def _end(self, audit: _Audit, error: str) -> Iterator[Event]:
        effect = audit.effect
        if self._going.pop(effect.effect, None) is not None:
            reply = "" if error else audit.reply
            yield AuditFinished(session=effect.session, effect=effect.effect, reply=reply, error=error)


def _why(error: jsonrpc.Failure | None) -> str:
    return error.message if error is not None and error.message else "the agent's answer is not understood"


def _nothing(_result: Any, _failure: jsonrpc.Failure | None) -> Iterator[Part]:
    yield from ()
