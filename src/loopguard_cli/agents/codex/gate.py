"""The gate: a hook before each tool call, because only a hook's refusal has a reason that the model reads.

Hooks that nobody has reviewed are skipped by the agent, so a thread is opened with a word that lets
ours run. Those of others that are not trusted are switched off for that thread, so that the word lets
nothing else in.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from loopguard_cli.agents.base import HookCall, HookReply
from loopguard_cli.agents.codex import calls
from loopguard_cli.agents.codex.protocol import Asking, read
from loopguard_cli.agents.codex.thread import Thread
from loopguard_cli.core.effects import AnswerGate
from loopguard_cli.core.events import Event, ToolAsked, Unparsed
from loopguard_cli.core.ids import CallId, RequestId, SessionId

NAME = "gate"
"""Of our hook."""

SECONDS = 60
"""After which the agent lets a call run without our answer. We answer at once, or are gone."""

_REQUEST = "gate."


class _Waiting(NamedTuple):
    hook: int
    """The call of the hook that waits."""
    session: SessionId
    call: CallId


class Gate:
    """All calls that wait for our answer. ``thread`` finds a session's thread; None: it is none of ours."""

    def __init__(self, thread: Callable[[SessionId], Thread | None]) -> None:
        self.command: tuple[str, ...] = ()
        """The client of our hooks."""
        self.untrusted: tuple[str, ...] = ()
        """Keys of the hooks that must stay off."""
        self._thread = thread
        self._waiting: dict[RequestId, _Waiting] = {}

    def settings(self) -> dict[str, Any]:
        """For a thread that is guarded."""
        hook = {"type": "command", "command": shlex.join([*self.command, NAME]), "timeout": SECONDS}
        hooks: dict[str, Any] = {"PreToolUse": [{"hooks": [hook]}]}
        if self.untrusted:
            hooks["state"] = {key: {"enabled": False} for key in self.untrusted}
        return {"hooks": hooks, "bypass_hook_trust": True}

    def called(self, call: HookCall) -> Iterator[HookReply | Event]:
        asking = read(call.body, Asking)
        if asking is None or not asking.session_id or not asking.tool_use_id:
            yield HookReply(call=call.call)
            yield Unparsed(native="hook before a call: no call in it")
            return
        thread = self._thread(asking.session_id)
        if thread is None:
            yield HookReply(call=call.call)
            return
        about = calls.asked(asking, thread.directory)
        yield from thread.gate(asking.tool_use_id, about)
        request = RequestId(f"{_REQUEST}{call.call}")
        self._waiting[request] = _Waiting(call.call, thread.session, asking.tool_use_id)
        yield ToolAsked(
            session=thread.session,
            request=request,
            call=asking.tool_use_id,
            tool=about.tool,
            args=about.args,
        )

    def hung_up(self, call: int, *, interrupting: bool) -> Iterator[Event]:
        """The hook waits no longer: its turn is being interrupted, or its time is over and the call runs."""
        waiting = self._waiting.pop(RequestId(f"{_REQUEST}{call}"), None)
        thread = self._thread(waiting.session) if waiting is not None else None
        if waiting is not None and thread is not None and (interrupting or not thread.turn):
            yield from thread.drop(waiting.call)

    def session(self, call: int) -> SessionId:
        """Whose call waits."""
        waiting = self._waiting.get(RequestId(f"{_REQUEST}{call}"))
        return waiting.session if waiting is not None else SessionId("")

    def answer(self, effect: AnswerGate) -> Iterator[HookReply | Event]:
        waiting = self._waiting.pop(effect.request, None)
        if waiting is None:
            return
        if effect.allow:
            yield HookReply(call=waiting.hook)
            return
        decision = {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": effect.text,
        }
        yield HookReply(call=waiting.hook, body={"hookSpecificOutput": decision})
        thread = self._thread(waiting.session)
        if thread is not None:
            yield from thread.refuse(waiting.call, effect.text)

    def clear(self) -> None:
        self._waiting.clear()
