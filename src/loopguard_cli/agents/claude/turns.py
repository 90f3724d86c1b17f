"""The turns of a driven process: prompts of the person and of ours, interrupts, and how each ends."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, Protocol

from loopguard_cli.agents.base import Outgoing
from loopguard_cli.agents.claude import reading
from loopguard_cli.agents.claude.control import Control, user
from loopguard_cli.agents.claude.replies import Replies
from loopguard_cli.agents.claude.steered import Part
from loopguard_cli.agents.settling import settled, stands
from loopguard_cli.core.effects import Abort, Prompt, Purpose, ReadSession
from loopguard_cli.core.events import (
    AgentError,
    EffectSettled,
    Event,
    Origin,
    SessionRead,
    Status,
    StatusChanged,
    UserSpoke,
)
from loopguard_cli.core.ids import NO_SESSION, EffectId, MessageId, SessionId

NO_EFFECT = EffectId("")


class _Turn:
    """From a prompt to its result. ``message``: the uuid of the prompt; empty if it began by itself."""

    def __init__(self, message: MessageId, origin: Origin, effect: EffectId, text: str) -> None:
        self.message, self.origin, self.effect, self.text = message, origin, effect, text
        self.started = not message
        self.aborted = False


class Hints(Protocol):
    """How a hint gets into a turn that runs."""

    @property
    def queued(self) -> bool:
        """Some wait in Claude Code's own queue of messages."""

    def hint(self, effect: Prompt) -> Iterator[Part]: ...
    def idle(self, session: SessionId) -> Iterator[Event]: ...


class Turns:
    """The turns of the person's session, and the sub-agents that work behind them."""

    def __init__(self, control: Control, replies: Replies, hints: Hints) -> None:
        self.session = NO_SESSION
        self._control = control
        self._replies = replies
        self._hints = hints
        self._turn: _Turn | None = None
        self._origin = Origin.PERSON
        self._prompts = 0
        self._aborts: list[Abort] = []
        self._tasks: set[str] = set()
        """Sub-agents that work in the background: their reports begin turns."""

    @property
    def busy(self) -> bool:
        return self._turn is not None or bool(self._tasks)

    @property
    def aborting(self) -> bool:
        return self._turn is not None and self._turn.aborted

    # --- beginning ---------------------------------------------------------------------------

    def send(self, text: str, origin: Origin, effect: EffectId = NO_EFFECT) -> Iterator[Part]:
        """A prompt goes out; it counts when Claude Code says that it has begun."""
        self._prompts += 1
        name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"loopguard:{self._prompts}:{effect}"))
        yield user(text, name)
        yield from self._begin(_Turn(MessageId(name), origin, effect, text))

    def began_by_itself(self) -> Iterator[Event]:
        """A turn begins; if it is none of ours, a sub-agent has reported."""
        if self._turn is None:
            yield from self._begin(_Turn(MessageId(""), Origin.HOST, NO_EFFECT, ""))

    def lifecycle(self, message: dict[str, Any]) -> Iterator[Event]:
        """What became of a prompt."""
        turn = self._turn
        if turn is None or turn.started or reading.text(message, "command_uuid") != turn.message:
            return
        if reading.text(message, "state") == "started":
            yield from self.started()

    def started(self) -> Iterator[Event]:
        """The prompt that was sent last is being answered."""
        turn = self._turn
        if turn is None or turn.started:
            return
        turn.started = True
        self._replies.asked(self.session, turn.message)
        if turn.effect:
            yield EffectSettled(session=self.session, effect=turn.effect, ok=True)
        yield UserSpoke(
            session=self.session, message=turn.message, origin=turn.origin, effect=turn.effect, text=turn.text
        )
        yield StatusChanged(session=self.session, status=Status.BUSY)

    def _begin(self, turn: _Turn) -> Iterator[Event]:
        self._turn, self._origin = turn, turn.origin
        if self.session:
            self._replies.asked(self.session, turn.message)
            yield StatusChanged(session=self.session, status=Status.BUSY)

    # --- ending ------------------------------------------------------------------------------

    def result(self, message: dict[str, Any]) -> Iterator[Event]:
        """Claude Code says how a turn ended."""
        reason = reading.text(message, "terminal_reason") or reading.text(message, "subtype")
        aborted, failure = reason.startswith("aborted"), ""
        if reading.at(message, "is_error") is True and not aborted:
            failure = reading.text(message, "result") or reason
        yield from self._over(reason, aborted=aborted, failure=failure)

    def exited(self) -> Iterator[Event]:
        """The process is gone."""
        if self._turn is not None:
            yield from self._over("exited", aborted=True)

    def tasks(self, message: dict[str, Any]) -> Iterator[Event]:
        """Which sub-agents work in the background now."""
        before, self._tasks = self._tasks, {
            reading.text(task, "task_id")
            for task in reading.listed(message, "tasks")
            if "agent" in reading.text(task, "task_type")
        }  # fmt: skip
        for task in sorted(before - self._tasks):
            child = SessionId(f"{self.session}/{task}")
            yield from self._replies.finish(child)
            yield StatusChanged(session=child, status=Status.IDLE)

    def _over(self, reason: str, *, aborted: bool, failure: str = "") -> Iterator[Event]:
        turn, self._turn = self._turn, None
        newest = self._replies.newest(self.session)
        finished = list(self._replies.finish(self.session, reason, aborted=aborted))
        yield from finished
        if failure:
            yield AgentError(session=self.session, message=newest, name=reason, text=failure)
        elif aborted and not finished:
            yield AgentError(session=self.session, message=newest, name=reason, aborted=True)
        yield from self._hints.idle(self.session)
        if turn is not None and turn.effect and not turn.started:
            yield EffectSettled(session=self.session, effect=turn.effect, ok=False, error=reason)
        yield from self._settle_aborts()
        if not self._tasks:
            yield StatusChanged(session=self.session, status=Status.IDLE)

    # --- what we want ------------------------------------------------------------------------

    def interrupt(self) -> Iterator[Outgoing]:
        if self._turn is not None and not self._turn.aborted:
            self._turn.aborted = True
            # A hint that still waits there would begin a turn of its own.
            more = {"cancel_queued": True} if self._hints.queued else {}
            yield self._control.request(self._not_interrupted, subtype="interrupt", **more)

    def abort(self, effect: Abort) -> Iterator[Part]:
        if task := reading.agent_of(effect.session):

            def stopped(error: str) -> Iterator[Part]:
                yield settled(effect, error)

            yield self._control.request(stopped, subtype="stop_task", task_id=task)
        elif self._turn is None:
            yield settled(effect)
        else:
            self._aborts.append(effect)
            yield from self.interrupt()

    def prompt(self, effect: Prompt) -> Iterator[Part]:
        error = ""
        if effect.purpose is Purpose.NUDGE:
            if self._turn is not None:
                yield from self._hints.hint(effect)
                return
            error = "no turn runs that could take a hint"
        elif not self.session or effect.session != self.session:
            error = "there is no such session"
        elif self._turn is not None:
            error = "a turn is running"
        if error:
            yield settled(effect, error)
        else:
            yield from self.send(effect.text, Origin.LOOPGUARD, effect.effect)

    def read(self, effect: ReadSession) -> SessionRead:
        return stands(
            effect,
            busy=self.busy,
            assistant=self._replies.newest(effect.session),
            user=self._replies.answers(effect.session),
            origin=self._origin,
        )

    def _not_interrupted(self, error: str) -> Iterator[Part]:
        """The answer to an interrupt; that the turn is over is told by its result."""
        if error:
            yield from self._settle_aborts(error)

    def _settle_aborts(self, error: str = "") -> Iterator[Event]:
        aborts, self._aborts = self._aborts, []
        for abort in aborts:
            yield settled(abort, error)
