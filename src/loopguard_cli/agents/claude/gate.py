"""The two hooks around a tool call: the gate before it, and what the model is told behind it.

How the answer travels is the caller's: over HTTP to an interactive agent, as a control response to a
driven one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from loopguard_cli.agents.base import Outgoing
from loopguard_cli.agents.claude.calls import Calls
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.settling import settled
from loopguard_cli.core.effects import AnswerGate, Prompt, SetContext
from loopguard_cli.core.events import Event, Unparsed
from loopguard_cli.core.ids import CallId, RequestId, SessionId

QUESTIONS = 1000
SESSIONS = 100
HINTS = 20
"""Waiting for one session; the oldest is given up."""

Part = Outgoing | Event
Ref = Any
"""Names one call of a hook to the caller."""


class _Asked(NamedTuple):
    ref: Ref
    call: CallId


class _Told:
    """What one session is to read."""

    __slots__ = ("context", "hints", "read")

    def __init__(self) -> None:
        self.context = self.read = ""
        self.hints: list[Prompt] = []


class Gate:
    """The open questions, and what the model gets to read beside its results and prompts."""

    queued = False
    """Hints wait here, and go with the answer of a hook."""

    def __init__(self, calls: Calls, reply: Callable[[Ref, dict[str, Any] | None], Outgoing]) -> None:
        self._calls = calls
        self._reply = reply
        self._asked: Recent[RequestId, _Asked] = Recent(QUESTIONS)
        self._told: Recent[SessionId, _Told] = Recent(SESSIONS)

    # --- tool calls --------------------------------------------------------------------------

    def before(self, ref: Ref, body: dict[str, Any]) -> Iterator[Part]:
        """A call is about to run. Our own tools always may: they ask for nothing but us."""
        asked = self._calls.ask(RequestId(f"hook.{ref}"), body)
        if not asked.call or not asked.tool or not asked.session:
            yield self._reply(ref, None)
            yield Unparsed(native="hook before a call: no call in it")
            return
        if self._calls.is_ours(str(body.get("tool_name", ""))):
            yield self._reply(ref, _decision("allow", "loopguard's own tool"))
            return
        self._asked[asked.request] = _Asked(ref, asked.call)
        yield asked

    def answer(self, effect: AnswerGate) -> Iterator[Part]:
        asked = self._asked.pop(effect.request)
        if asked is None:
            return
        if effect.allow:
            yield self._reply(asked.ref, None)
            return
        self._calls.refuse(asked.call)
        yield self._reply(asked.ref, _decision("deny", effect.text))

    def gone(self, ref: Ref) -> None:
        """The agent waits no longer."""
        self._asked.pop(RequestId(f"hook.{ref}"))

    # --- what the model reads ----------------------------------------------------------------

    def set_context(self, effect: SetContext) -> None:
        self._of(effect.session).context = effect.system

    def forgotten(self, session: SessionId) -> None:
        """The conversation was replaced by a summary."""
        self._of(session).read = ""

    def hint(self, effect: Prompt) -> Iterator[Part]:
        """Keep a hint until the next result; the oldest goes when there are too many."""
        hints = self._of(effect.session).hints
        hints.append(effect)
        if len(hints) > HINTS:
            yield settled(hints.pop(0), "too many hints")

    def behind(self, ref: Ref, hook: str, session: SessionId) -> Iterator[Part]:
        """A call ended: the model reads the waiting hints beside its result."""
        told = self._of(session)
        hints, told.hints = told.hints, []
        yield self._reply(ref, _context(hook, "\n\n".join(hint.text for hint in hints)))
        for hint in hints:
            yield settled(hint)

    def prompted(self, ref: Ref, hook: str, session: SessionId) -> Outgoing:
        """A prompt is on its way: the standing text goes with it, unless the model has read it."""
        told = self._of(session)
        news = told.context if told.context != told.read else ""
        told.read = told.context
        return self._reply(ref, _context(hook, news))

    def idle(self, session: SessionId) -> Iterator[Event]:
        """The turn is over: hints that were not read are none any more."""
        told = self._of(session)
        hints, told.hints = told.hints, []
        for hint in hints:
            yield settled(hint, "the turn ended before the hint was read")

    def close(self) -> Iterator[Event]:
        for session in [session for session, _ in self._told.items()]:
            yield from self.idle(session)

    def _of(self, session: SessionId) -> _Told:
        told = self._told.get(session, None)
        if told is None:
            told = self._told[session] = _Told()
        return told


def _decision(decision: str, reason: str) -> dict[str, Any]:
    output = {
        "hookEventName": "PreToolUse",
        "permissionDecision": decision,
        "permissionDecisionReason": reason,
    }
    return {"hookSpecificOutput": output}


def _context(hook: str, text: str) -> dict[str, Any] | None:
    return {"hookSpecificOutput": {"hookEventName": hook, "additionalContext": text}} if text else None
