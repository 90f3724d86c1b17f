"""Makes the events of one session out of what every agent's history says in its own way.

A history says what was written, called and returned; it does not say when the agent was busy, or
that a reply was over. That follows here, so that all readers tell it alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopguard_cli.core.events import (
    AgentError,
    Channel,
    Compacted,
    Event,
    Origin,
    ReplyFinished,
    ReplyStarted,
    SessionSeen,
    Status,
    StatusChanged,
    TextSnapshot,
    ToolFinished,
    ToolStarted,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import NO_SESSION, CallId, MessageId, PartId, SessionId
from loopguard_cli.core.wording import BLOCKED_TAG, STREAM_TAG
from loopguard_cli.history.base import Timed

OUR_TAGS = (BLOCKED_TAG, STREAM_TAG)

OPEN_CALLS = 512
"""Calls without a result that are remembered."""


class Building:
    """One session in the making. Readers call its methods and then `take` what has come of it."""

    def __init__(self, session: str, *, parent: str = "") -> None:
        self.session = SessionId(session)
        self.time = 0.0
        self.message = MessageId("")
        self._made: list[Timed] = []
        self._parent = SessionId(parent) if parent else NO_SESSION
        self._directory = ""
        self._announced = False
        self._busy = False
        self._parts = 0
        self._calls: dict[str, tuple[str, dict[str, Any]]] = {}

    def take(self) -> Sequence[Timed]:
        if not self._made:  # mostly: of many records nothing follows at once
            return ()
        made, self._made = self._made, []
        return made

    def at(self, time: float) -> None:
        """What follows happened at ``time`` (0: unknown). Time never goes back."""
        self.time = max(self.time, time)

    def seen(self, directory: str = "", parent: str = "") -> None:
        """The session's folder and parent, as soon as they are known."""
        known = (directory or self._directory, SessionId(parent) if parent else self._parent)
        if known != (self._directory, self._parent):
            self._directory, self._parent = known
            self._announced = False
        self._announce()

    def user(self, message: str, text: str, *, origin: Origin = Origin.PERSON, model: str = "") -> None:
        self._announce()
        if origin is not Origin.HOST:
            self.idle()
        if origin is Origin.PERSON:
            # A history does not say who sent a message. Ours begin like this, and nothing is
            # permitted by it here.
            if text.startswith(OUR_TAGS):
                origin = Origin.LOOPGUARD
            elif self._parent != NO_SESSION:
                origin = Origin.PARENT
        self._add(
            UserSpoke(session=self.session, message=MessageId(message), text=text, origin=origin, model=model)
        )
        if not self._busy:
            self._busy = True
            self._add(StatusChanged(session=self.session, status=Status.BUSY))

    def reply(self, message: str, *, model: str = "", agent: str = "", summary: bool = False) -> None:
        """An assistant message goes on; it began if it is another than before."""
        self._announce()
        if message == self.message:
            return
        self.finish()
        self.message, self._parts = MessageId(message), 0
        self._busy = True
        self._add(
            ReplyStarted(
                session=self.session, message=self.message, model=model, agent=agent, summary=summary
            )
        )

    def text(self, text: str, *, channel: Channel = Channel.TEXT, synthetic: bool = False) -> None:
        if not text:
            return
        self._parts += 1
        part = PartId(f"{self.message}/{self._parts}")
        self._add(
            TextSnapshot(
                session=self.session,
                message=self.message,
                part=part,
                channel=channel,
                text=text,
                synthetic=synthetic,
                ended=True,
            )
        )

    def call(self, call: str, tool: str, args: Any) -> None:
        self._announce()
        given = args if isinstance(args, dict) else {} if args is None else {"input": args}
        self._calls[call] = (tool, given)
        if len(self._calls) > OPEN_CALLS:
            del self._calls[next(iter(self._calls))]
        self._add(
            ToolStarted(session=self.session, call=CallId(call), tool=tool, args=given, message=self.message)
        )

    def result(
        self,
        call: str,
        output: str,
        *,
        ok: bool = True,
        exit_code: int | None = None,
        cancelled: bool = False,
    ) -> None:
        """A call's end; ignored for calls that were never seen."""
        if call not in self._calls:
            return
        tool, args = self._calls.pop(call)
        self._add(
            ToolFinished(
                session=self.session,
                call=CallId(call),
                tool=tool,
                args=args,
                ok=ok,
                output=output,
                exit_code=exit_code,
                cancelled=cancelled,
                message=self.message,
            )
        )

    def usage(self, message: str = "", **figures: Any) -> None:
        """Token figures of a message so far (the names are those of `UsageReported`)."""
        self._add(UsageReported(session=self.session, message=MessageId(message) or self.message, **figures))

    def error(self, name: str, text: str = "", *, aborted: bool = False) -> None:
        self._add(
            AgentError(session=self.session, message=self.message, name=name, text=text, aborted=aborted)
        )

    def compacted(self) -> None:
        self._announce()
        self._add(Compacted(session=self.session))

    def add(self, event: Event) -> None:
        """An event that only some agents have."""
        self._add(event)

    def finish(self, reason: str = "", *, error: str = "", aborted: bool = False) -> None:
        """The assistant message is complete."""
        if self.message:
            self._add(
                ReplyFinished(
                    session=self.session, message=self.message, finish=reason, error=error, aborted=aborted
                )
            )
            self.message = MessageId("")

    def idle(self) -> None:
        """The turn is over."""
        self.finish()
        if self._busy:
            self._busy = False
            self._add(StatusChanged(session=self.session, status=Status.IDLE))

    # --- inside ------------------------------------------------------------------------------

    def _announce(self) -> None:
        if not self._announced:
            self._announced = True
            self._add(SessionSeen(session=self.session, parent=self._parent, directory=self._directory))

    def _add(self, event: Event) -> None:
        self._made.append(Timed(self.time, event))
