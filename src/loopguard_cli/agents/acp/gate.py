"""Questions for permission: first to the guard, then to the person or to the policy of the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loopguard_cli.agents.acp.calls import Calls
from loopguard_cli.agents.acp.permissions import Asked, allows, outcome
from loopguard_cli.agents.acp.protocol import Option, Permission
from loopguard_cli.agents.acp.sending import Part, send
from loopguard_cli.agents.base import Order, Question, Show, Shown, Withdrawn
from loopguard_cli.core.effects import AnswerGate
from loopguard_cli.core.events import Event, PermissionAnswered, PermissionAsked
from loopguard_cli.core.ids import RequestId, SessionId
from loopguard_cli.core.settings import Permissions
from loopguard_cli.wire import jsonrpc

DOOM_LOOP = "doom_loop"
"""OpenCode's own question about repeated calls; ours replaces it (`core.hub`)."""


class Gate:
    """What the agent waits with at present."""

    def __init__(self, calls: Calls, rpc: jsonrpc.Peer[Any], permissions: Permissions) -> None:
        self._calls = calls
        self._rpc = rpc
        self._permissions = permissions
        self._asked: dict[RequestId, Asked] = {}

    def ask(self, session: SessionId, request: int | str, permission: Permission) -> Event:
        """The agent asks whether a call may run."""
        call = permission.tool_call
        name = RequestId(f"permission.{request}")
        self._asked[name] = Asked(request, call.tool_call_id, permission.options)
        if call.title == DOOM_LOOP:
            return PermissionAsked(
                session=session, request=name, permission=DOOM_LOOP, call=call.tool_call_id
            )
        return self._calls.ask(session, call, name)

    def refuse(self, effect: AnswerGate) -> Iterator[Part]:
        """The guard is against it."""
        asked = self._asked.pop(effect.request, None)
        if asked is not None:
            self._calls.refuse(asked.call, ours=True)
            yield self._send(asked, asked.pick(allow=False))

    def let_pass(self, effect: AnswerGate) -> Iterator[Part]:
        """The guard has nothing against it: now whoever decides about permissions."""
        asked = self._asked.get(effect.request)
        if asked is None:
            return
        if self._permissions is Permissions.ASK:
            yield PermissionAsked(
                session=effect.session, request=effect.request, permission="tool", call=asked.call
            )
            text = f"May it run {self._calls.describe(asked.call)}"
            yield Question(id=effect.request, text=text, choices=asked.choices())
        else:
            allow = self._permissions is Permissions.ALLOW
            yield from self.decide(effect.session, effect.request, allow=allow)

    def chosen(self, session: SessionId, request: RequestId, key: str) -> Iterator[Part]:
        """The person decided; without a key nobody can be asked."""
        asked = self._asked.get(request)
        if asked is None:
            return
        if not key:
            text = f"refused, since nobody is here to ask: {self._calls.describe(asked.call)}"
            yield Shown(kind=Show.NOTE, text=text)
            yield from self.decide(session, request, allow=False)
            return
        yield from self._close(session, request, asked.chosen(key))

    def decide(self, session: SessionId, request: RequestId, *, allow: bool) -> Iterator[Part]:
        asked = self._asked.get(request)
        if asked is not None:
            yield from self._close(session, request, asked.pick(allow=allow))

    def cancel(self) -> Iterator[Part]:
        """The turn is being cancelled; then a client must answer what the agent still asks."""
        for request, asked in self._take():
            self._calls.refuse(asked.call, ours=False)
            yield self._send(asked, None)
            yield Withdrawn(id=request)

    def drop(self) -> Iterator[Withdrawn]:
        """The turn is over, or the agent gone: nobody waits for an answer any more."""
        for request, _ in self._take():
            yield Withdrawn(id=request)

    def _take(self) -> list[tuple[RequestId, Asked]]:
        asked = list(self._asked.items())
        self._asked.clear()
        return asked

    def _close(self, session: SessionId, request: RequestId, option: Option | None) -> Iterator[Part]:
        asked = self._asked.pop(request)
        if not allows(option):
            self._calls.refuse(asked.call, ours=False)
        yield self._send(asked, option)
        yield PermissionAnswered(session=session, request=request, allowed=allows(option))

    def _send(self, asked: Asked, option: Option | None) -> Order:
        return send(self._rpc.result(asked.request, outcome(option)))
