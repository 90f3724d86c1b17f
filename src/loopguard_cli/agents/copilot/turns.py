"""The turns of Copilot CLI: one process is one turn of the person's session, sub-agents have sessions in it.

Its hooks tell of prompts, and its output of what is said. That a turn is over is told by the process that
has ended, when all of its output was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from loopguard_cli.agents.base import Interrupt, Outgoing
from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.gate import Gate
from loopguard_cli.agents.copilot.speech import Kind, Said
from loopguard_cli.agents.ending import finish, idle
from loopguard_cli.agents.gemini.calls import OpenCalls
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.settling import settled, stands
from loopguard_cli.core.effects import Abort, Prompt, Purpose, ReadSession
from loopguard_cli.core.events import (
    AgentError,
    Channel,
    Event,
    Origin,
    ReplyStarted,
    SessionRead,
    Status,
    StatusChanged,
    TextDelta,
    Unparsed,
    UserSpoke,
)
from loopguard_cli.core.ids import NO_SESSION, EffectId, MessageId, PartId, SessionId

SESSIONS = 1000

Part = Outgoing | Event


class _Session:
    """One session."""

    __slots__ = ("answers", "busy", "failed", "open", "origin", "reply")

    def __init__(self) -> None:
        self.busy = self.open = self.failed = False
        """``open``: the newest reply is not complete."""
        self.answers = self.reply = MessageId("")
        self.origin = Origin.PERSON


class Turns:
    """The sessions of one run."""

    def __init__(self, gate: Gate, calls: OpenCalls) -> None:
        self.session = NO_SESSION
        """The person's."""
        self._gate = gate
        self._calls = calls
        self._sessions: Recent[SessionId, _Session] = Recent(SESSIONS)
        self._numbers = 0
        self._aborts: list[Abort] = []
        self._launched: Prompt | None = None
        """What the process was started with, if it is ours and has not come back yet."""

    # --- what the hooks tell -----------------------------------------------------------------

    def launched(self, prompt: Prompt) -> None:
        self._launched = prompt

    def prompted(self, session: SessionId, text: str) -> Iterator[Event]:
        state, ours = self._of(session), None
        if session == self.session:
            ours, self._launched = self._launched, None
        state.answers, state.failed = self._named("user"), False
        state.origin = Origin.PERSON if ours is None else Origin.LOOPGUARD
        if reading.agent_of(session):
            state.origin = Origin.HOST
        effect = EffectId("") if ours is None else ours.effect
        if ours is not None:
            yield settled(ours)
        yield UserSpoke(session=session, message=state.answers, origin=state.origin, effect=effect, text=text)
        if not state.busy:
            state.busy = True
            yield StatusChanged(session=session, status=Status.BUSY)

    def acting(self, session: SessionId) -> Iterator[Event]:
        """A tool is called: what is said behind it is another reply."""
        yield from finish(self._of(session), session)

    def ended(self, session: SessionId) -> Iterator[Event]:
        """A sub-agent has ended."""
        if self._of(session).busy:
            yield from self._idle(self._of(session), session)

    # --- what the output tells ---------------------------------------------------------------

    def said(self, session: SessionId, said: Said) -> Iterator[Event]:
        state = self._of(session)
        if said.message and said.message != state.reply:
            yield from self._start(state, session, MessageId(said.message), said.model)
        match said.kind:
            case Kind.TEXT | Kind.REASONING if said.text:
                if not state.open and not said.text.strip():
                    return  # between two calls
                if not state.open:
                    yield from self._start(state, session, self._named("reply"), "")
                yield self._delta(state, session, said)
            case Kind.END:
                yield from finish(state, session)
            case Kind.ERROR:
                state.failed = True
                yield from finish(state, session, error=said.text or "error")
                yield AgentError(session=session, message=state.reply, name="error", text=said.text)
            case Kind.UNREAD:
                yield Unparsed(native=said.text)
            case _:
                pass

    def exited(self, code: int) -> Iterator[Event]:
        """The process is gone. An error ends it with a status; what stops it otherwise is somebody."""
        if self._launched is not None:
            yield settled(self._launched, "the agent ended before it took the prompt")
            self._launched = None
        for session, state in self._sessions.items():
            if state.busy:
                stopped = bool(self._aborts) or code > 128
                if code and not stopped and not state.failed and session == self.session:
                    yield from finish(state, session, error="failed")
                    text = f"the agent has failed with status {code}"
                    yield AgentError(session=session, message=state.reply, name="error", text=text)
                yield from self._idle(state, session, aborted=stopped)
        aborts, self._aborts = self._aborts, []
        for abort in aborts:
            yield settled(abort)

    # --- what we want ------------------------------------------------------------------------

    def abort(self, effect: Abort) -> Iterator[Part]:
        if reading.agent_of(effect.session):
            yield settled(effect, "a sub-agent cannot be interrupted by itself")
        elif not self._of(effect.session).busy:
            yield settled(effect)
        else:
            if not self._aborts:
                yield Interrupt()
            self._aborts.append(effect)

    def prompt(self, effect: Prompt) -> Iterator[Part]:
        if effect.purpose is not Purpose.NUDGE:
            yield settled(effect, "this agent takes a prompt when it is started")
        elif self._of(effect.session).busy:
            yield from self._gate.hint(effect)
        else:
            yield settled(effect, "no turn runs that could take a hint")

    def read(self, effect: ReadSession) -> SessionRead:
        state = self._of(effect.session)
        return stands(effect, busy=state.busy, assistant=state.reply, user=state.answers, origin=state.origin)

    # --- inside ------------------------------------------------------------------------------

    def _start(self, state: _Session, session: SessionId, message: MessageId, model: str) -> Iterator[Event]:
        yield from finish(state, session)
        state.reply, state.open = message, True
        yield ReplyStarted(session=session, message=message, answers=state.answers, model=model)

    def _delta(self, state: _Session, session: SessionId, said: Said) -> Event:
        channel = Channel.TEXT if said.kind is Kind.TEXT else Channel.REASONING
        part = PartId(f"{state.reply}.{channel.value}")
        return TextDelta(session=session, message=state.reply, part=part, channel=channel, delta=said.text)

    def _idle(self, state: _Session, session: SessionId, *, aborted: bool = False) -> Iterator[Event]:
        given_up = chain(self._calls.given_up(session), self._gate.idle(session))
        aborts: list[Abort] = []
        if not reading.agent_of(session):
            aborts, self._aborts = self._aborts, []
        yield from idle(state, session, given_up, aborts, aborted=aborted)

    def _named(self, kind: str) -> MessageId:
        self._numbers += 1
        return MessageId(f"{kind}.{self._numbers}")

    def _of(self, session: SessionId) -> _Session:
        state = self._sessions.get(session, None)
        if state is None:
            state = self._sessions[session] = _Session()
        return state
