"""The turns of sessions that are reached by hooks: who prompted, what runs, and how ours get in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from loopguard_cli.agents.base import HookReply, Keys
from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.gate import Gate
from loopguard_cli.agents.claude.pushing import Pushing
from loopguard_cli.agents.claude.replies import Replies
from loopguard_cli.agents.claude.steered import Part
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.settling import settled, stands
from loopguard_cli.core.effects import Abort, Prompt, Purpose, ReadSession
from loopguard_cli.core.events import (
    AgentError,
    Event,
    Origin,
    SessionRead,
    Status,
    StatusChanged,
    UserSpoke,
)
from loopguard_cli.core.ids import EffectId, MessageId, SessionId

SESSIONS = 100
_ESCAPE = b"\x1b"
_NOTIFICATION = "<task-notification>"
"""How prompts begin that are nobody's: reports of sub-agents, complaints of hooks."""


class _Session:
    """The state of one session."""

    __slots__ = ("busy", "newest", "origin")

    def __init__(self) -> None:
        self.busy = False
        self.newest = MessageId("")
        self.origin = Origin.PERSON


class Talk:
    """The turns of all sessions. ``screen``: keys can be typed, and hooks wait in the background."""

    def __init__(self, replies: Replies, gate: Gate, *, screen: bool) -> None:
        self.pushing = Pushing()
        self._replies = replies
        self._gate = gate
        self._screen = screen
        self._sessions: Recent[SessionId, _Session] = Recent(SESSIONS)
        self._aborts: list[Abort] = []
        self._numbers = 0

    # --- what the hooks tell -----------------------------------------------------------------

    def meet(self, session: SessionId) -> None:
        """A session exists, and can be prompted."""
        self._of(session)

    def prompted(self, session: SessionId, body: dict[str, Any]) -> Iterator[Event]:
        """A prompt was submitted, by whomever."""
        text = reading.text(body, "prompt")
        ours = self.pushing.came(session, text)
        message = reading.message_id(body, "prompt_id") or self._named("user")
        if ours is not None:
            yield settled(ours)
            yield from self._begin(session, message, Origin.LOOPGUARD, text, ours.effect)
        else:
            by_itself = text.lstrip().startswith(_NOTIFICATION)
            yield from self._begin(session, message, Origin.HOST if by_itself else Origin.PERSON, text)

    def stopped(self, call: int, session: SessionId, body: dict[str, Any]) -> Iterator[Event]:
        """A turn is about to end: what it comes to decides whether it may (`Pushing.considered`)."""
        self.pushing.stops(session, call)
        yield from self.said(session, body)
        tasks = reading.listed(body, "background_tasks")
        if any("agent" in reading.text(task, "type") for task in tasks):
            self._of(session).busy = False  # a report of theirs will begin a turn
            yield from self._settle_aborts()
        else:
            yield from self.idle(session)

    def said(self, session: SessionId, body: dict[str, Any]) -> Iterator[Event]:
        """What was said last, as a hook at the end of a turn has it."""
        if said := reading.text(body, "last_assistant_message"):
            yield from self._replies.last(session, self._named("last"), said)

    def broken(self, session: SessionId, body: dict[str, Any]) -> Iterator[Event]:
        """A turn ended by an error of the provider."""
        name = reading.text(body, "error") or "error"
        text = reading.text(body, "error_details") or reading.text(body, "last_assistant_message") or name
        newest = self._replies.newest(session)
        yield from self._replies.finish(session)
        yield AgentError(session=session, message=newest, name=name[:100], text=text)
        yield from self.idle(session)

    def interrupted(self, session: SessionId, how: str) -> Iterator[Event]:
        newest = self._replies.newest(session)
        finished = list(self._replies.finish(session, "interrupted", aborted=True))
        yield from finished
        if not finished:
            yield AgentError(session=session, message=newest, name="interrupted", text=how, aborted=True)
        yield from self.idle(session)

    def busy(self, session: SessionId) -> Iterator[Event]:
        state = self._of(session)
        if not state.busy:
            state.busy = True
            yield StatusChanged(session=session, status=Status.BUSY)

    def idle(self, session: SessionId) -> Iterator[Event]:
        self._of(session).busy = False
        yield from self._replies.finish(session)
        yield from self._gate.idle(session)
        yield from self._settle_aborts()
        yield StatusChanged(session=session, status=Status.IDLE)

    def exited(self) -> Iterator[Event]:
        yield from self._settle_aborts()
        for prompt in self.pushing.unsent():
            yield settled(prompt, "the agent has exited")

    # --- what we want ------------------------------------------------------------------------

    def abort(self, effect: Abort) -> Iterator[Part]:
        session = effect.session
        if reading.agent_of(session):
            yield settled(effect, "a sub-agent cannot be interrupted by itself")
        elif not self._of(session).busy:
            yield settled(effect)
        elif not self._screen:
            yield settled(effect, "nothing can interrupt this session")
        else:
            self._aborts.append(effect)
            if not self._replies.ending(session):  # else the Stop hook comes any moment
                yield Keys(data=_ESCAPE)

    def prompt(self, effect: Prompt) -> Iterator[Part]:
        session = effect.session
        busy = session in self._sessions and self._of(session).busy
        if effect.purpose is Purpose.NUDGE and busy:
            yield from self._gate.hint(effect)
        elif effect.purpose is Purpose.NUDGE:
            yield settled(effect, "no turn runs that could take a hint")
        elif session not in self._sessions or reading.agent_of(session):
            yield settled(effect, "there is no such session")
        elif busy:
            yield settled(effect, "a turn is running")
        elif (reply := self.pushing.answer(effect)) is not None:
            yield from self._feed_back(effect, reply)
        elif self._screen:
            yield from self.pushing.push(effect)
        else:
            yield settled(effect, "the turn is over, and no hook waits in this process")

    def read(self, effect: ReadSession) -> SessionRead:
        state = self._of(effect.session)
        return stands(
            effect,
            busy=state.busy,
            assistant=self._replies.newest(effect.session),
            user=state.newest,
            origin=state.origin,
        )

    # --- inside ------------------------------------------------------------------------------

    def _feed_back(self, effect: Prompt, reply: HookReply) -> Iterator[Part]:
        """The turn goes on with our text; no hook tells of that."""
        yield reply
        yield settled(effect)
        message = MessageId(f"feedback.{effect.effect}")
        yield from self._begin(effect.session, message, Origin.LOOPGUARD, effect.text, effect.effect)

    def _begin(
        self,
        session: SessionId,
        message: MessageId,
        origin: Origin,
        text: str,
        effect: EffectId = EffectId(""),  # noqa: B008 - a name for a string
    ) -> Iterator[Event]:
        state = self._of(session)
        state.newest, state.origin = message, origin
        self._replies.asked(session, message)
        yield UserSpoke(session=session, message=message, origin=origin, effect=effect, text=text)
        yield from self.busy(session)

    def _settle_aborts(self) -> Iterator[Event]:
        aborts, self._aborts = self._aborts, []
        for abort in aborts:
            yield settled(abort)

    def _named(self, kind: str) -> MessageId:
        self._numbers += 1
        return MessageId(f"{kind}.{self._numbers}")

    def _of(self, session: SessionId) -> _Session:
        state = self._sessions.get(session, None)
        if state is None:
            state = self._sessions[session] = _Session()
        return state
