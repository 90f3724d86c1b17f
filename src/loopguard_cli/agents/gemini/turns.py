"""The turns of Gemini CLI's sessions, as its hooks tell of them: who prompted, what is said, how each ends.

A turn that is over is told by the hook at its end, which can also say what it goes on with. A turn that
the person cancels is told by that hook while the model speaks, and by the screen alone otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from loopguard_cli.agents.base import HookReply, Keys, Outgoing
from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.gate import Gate
from loopguard_cli.agents.ending import finish, idle
from loopguard_cli.agents.gemini.calls import OpenCalls
from loopguard_cli.agents.gemini.composer import Composer
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.settling import settled, stands
from loopguard_cli.core.effects import Abort, Prompt, Purpose, ReadSession
from loopguard_cli.core.events import (
    AgentError,
    Event,
    Origin,
    ReplyStarted,
    SessionRead,
    Status,
    StatusChanged,
    TextDelta,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import EffectId, MessageId, PartId, SessionId

SESSIONS = 100
INTERRUPTED = "loopguard interrupted this turn"
_ESCAPE = b"\x1b"

Part = Outgoing | Event


class _Session:
    """One session."""

    __slots__ = (
        "aborts",
        "answers",
        "busy",
        "cancelled",
        "held",
        "open",
        "origin",
        "prompt",
        "reply",
        "settling",
    )

    def __init__(self) -> None:
        self.busy = self.open = False
        """``open``: the newest reply is not complete."""
        self.cancelled = False
        """The person, or we in their place, pressed a key that cancels."""
        self.settling = False
        """Escape was pressed by us, and the screen has not shown yet that it took effect."""
        self.answers = self.reply = MessageId("")
        self.origin = Origin.PERSON
        self.aborts: list[Abort] = []
        self.held = 0
        """The call of the hook at a turn's end that waits; 0: none does."""
        self.prompt: Prompt | None = None
        """On its way in; it comes back as a prompt of the agent."""


class Turns:
    """The sessions of one run. ``screen``: keys can be typed."""

    def __init__(self, gate: Gate, calls: OpenCalls, *, screen: bool) -> None:
        self._gate = gate
        self._calls = calls
        self._screen = screen
        self._sessions: Recent[SessionId, _Session] = Recent(SESSIONS)
        self._numbers = 0
        self.composer = Composer()
        self.answering = False
        """A hook waits for our answer, or has just got a refusal: an abort goes by the next answer."""

    # --- what the hooks tell -----------------------------------------------------------------

    def prompted(self, session: SessionId, text: str) -> Iterator[Event]:
        state = self._of(session)
        ours, state.prompt = state.prompt, None
        self.composer.taken()
        if ours is not None and _flat(ours.text) not in _flat(text):
            yield settled(ours, "another prompt came first")
            ours = None
        state.answers, state.cancelled = self._named("user"), False
        state.origin = Origin.PERSON if ours is None else Origin.LOOPGUARD
        effect = EffectId("") if ours is None else ours.effect
        if ours is not None:
            yield settled(ours)
        yield UserSpoke(session=session, message=state.answers, origin=state.origin, effect=effect, text=text)
        if not state.busy:
            state.busy = True
            yield StatusChanged(session=session, status=Status.BUSY)

    def asked(self, session: SessionId, model: str) -> Iterator[Event]:
        """The model is asked: another reply begins."""
        state = self._of(session)
        yield from finish(state, session)
        state.reply, state.open, state.cancelled = self._named("reply"), True, False
        yield ReplyStarted(session=session, message=state.reply, answers=state.answers, model=model)

    def said(self, session: SessionId, response: dict[str, Any]) -> Iterator[Event]:
        """A piece of the reply."""
        state = self._of(session)
        if not state.open:
            return
        if text := reading.text(response, "text"):
            part = PartId(f"{state.reply}.1")
            yield TextDelta(session=session, message=state.reply, part=part, delta=text)
        if usage := reading.record(response, "usageMetadata"):
            yield UsageReported(
                session=session,
                message=state.reply,
                input=reading.number(usage, "promptTokenCount"),
                output=reading.number(usage, "candidatesTokenCount"),
                total=reading.number(usage, "totalTokenCount"),
            )
        reason = next(filter(None, (reading.text(c, "finishReason") for c in _candidates(response))), "")
        if reason:
            yield from finish(state, session, reason=reason.lower())

    def ended(self, session: SessionId, call: int) -> Iterator[Part]:
        """The hook at the end of a turn, which may go on with another prompt; not if it was cancelled."""
        state = self._of(session)
        # With -p, an answer that breaks off without us was stopped by a signal: an error ends the process.
        cancelled = state.open and (state.cancelled or not (self._screen or state.aborts))
        # Nothing but its end closes the provider's stream of an answer that we refused to let it read.
        ends = not self._screen and bool(state.aborts)
        if cancelled or ends:
            yield HookReply(call=call)
        else:
            state.held = call
        if not state.open:
            yield from self._idle(state, session, aborted=bool(state.aborts))
        elif cancelled or state.aborts:
            yield from self._idle(state, session, aborted=True)
        else:
            yield from self._broken(state, session, "the model's answer is not complete")

    def cancelled(self) -> None:
        """A key was pressed that cancels whatever runs."""
        for state in self._sessions.values():
            state.cancelled = True

    def stopped(self, session: SessionId | None = None) -> Iterator[Part]:
        """What was cancelled has ended, without the hook at its end: in this session, or wherever."""
        for name, state in self._sessions.items():
            if session is None and state.settling:
                yield from self.quiet()
            if state.busy and state.cancelled and not state.held and session in (None, name):
                yield from self._idle(state, name, aborted=True)

    def quiet(self) -> Iterator[Keys]:
        """The screen shows that a turn was cancelled, or nothing new for a while: it takes a prompt."""
        for state in self._sessions.values():
            if state.settling:
                state.settling = False
                if state.prompt is not None:
                    yield from self.composer.put(state.prompt.text)

    def exited(self, code: int) -> Iterator[Event]:
        """The agent is gone. An error ends it with a status; what stops it otherwise is somebody."""
        for session, state in self._sessions.items():
            state.held = 0
            if state.prompt is not None:
                yield settled(state.prompt, "the agent has exited")
                state.prompt = None
            if state.busy and code and not state.aborts:
                yield from self._broken(state, session, "the agent has failed")
            elif state.busy:
                yield from self._idle(state, session, aborted=True)

    # --- what we answer ----------------------------------------------------------------------

    def aborting(self, session: SessionId) -> bool:
        state = self._of(session)
        return bool(state.aborts) and not state.cancelled

    def held(self) -> Iterator[tuple[SessionId, int]]:
        for session, state in self._sessions.items():
            if state.held:
                yield session, state.held

    def release(self) -> Iterator[HookReply]:
        """Nothing follows: the waiting turns may end."""
        for state in self._sessions.values():
            if state.held:
                call, state.held = state.held, 0
                yield HookReply(call=call)

    def gone(self, call: int) -> None:
        for state in self._sessions.values():
            if state.held == call:
                state.held = 0

    # --- what we want ------------------------------------------------------------------------

    def launched(self, prompt: Prompt) -> None:
        """It was started again with a prompt of ours."""
        self._of(prompt.session).prompt = prompt

    def abort(self, effect: Abort) -> Iterator[Part]:
        state = self._of(effect.session)
        if not state.busy:
            yield settled(effect)
            return
        state.aborts.append(effect)
        # A refused piece ends the turn as well, but leaves the provider's stream open: Escape closes it.
        if self._screen and (state.open or not self.answering):
            state.cancelled = state.settling = True
            yield Keys(data=_ESCAPE)

    def prompt(self, effect: Prompt) -> Iterator[Part]:
        known = effect.session in self._sessions
        state = self._of(effect.session)
        if effect.purpose is Purpose.NUDGE:
            if state.busy:
                yield from self._gate.hint(effect)
            else:
                yield settled(effect, "no turn runs that could take a hint")
        elif not known or state.busy or state.prompt is not None:
            yield settled(effect, "a turn is running" if known else "there is no such session")
        elif state.held:
            call, state.held, state.prompt = state.held, 0, effect
            yield HookReply(call=call, body={"decision": "deny", "reason": effect.text})
        elif self._screen:
            state.prompt = effect
            if not state.settling:
                yield from self.composer.put(effect.text)
        else:
            yield settled(effect, "the agent ends and takes no prompt any more")

    def read(self, effect: ReadSession) -> SessionRead:
        state = self._of(effect.session)
        return stands(effect, busy=state.busy, assistant=state.reply, user=state.answers, origin=state.origin)

    # --- inside ------------------------------------------------------------------------------

    def _broken(self, state: _Session, session: SessionId, error: str) -> Iterator[Event]:
        yield from finish(state, session, error=error)
        yield AgentError(session=session, message=state.reply, name="error", text=error)
        yield from self._idle(state, session)

    def _idle(self, state: _Session, session: SessionId, *, aborted: bool = False) -> Iterator[Event]:
        given_up = chain(self._calls.given_up(session), self._gate.idle(session))
        aborts, state.aborts = state.aborts, []
        yield from idle(state, session, given_up, aborts, aborted=aborted)

    def _named(self, kind: str) -> MessageId:
        self._numbers += 1
        return MessageId(f"{kind}.{self._numbers}")

    def _of(self, session: SessionId) -> _Session:
        state = self._sessions.get(session, None)
        if state is None:
            state = self._sessions[session] = _Session()
        return state


def _candidates(response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return reading.listed(response, "candidates")


def _flat(text: str) -> str:
    return " ".join(text.split())
