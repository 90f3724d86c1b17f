"""What the bridge tells of a session, read into events."""

from __future__ import annotations

from collections.abc import Iterator

from loopguard_cli.agents import cut
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.pi import protocol
from loopguard_cli.core.events import (
    AgentError,
    Compacted,
    CompactionStarting,
    Event,
    FilesChanged,
    Origin,
    ReplyFinished,
    ReplyStarted,
    SessionSeen,
    Status,
    StatusChanged,
    TextDelta,
    ToolFinished,
    ToolStarted,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import NO_SESSION, CallId, EffectId, MessageId, PartId, SessionId

CALLS = 1000
PROMPTS = 1000
_ABORTED, _FAILED = "aborted", "error"
_CHANGING = {"edit", "write"}
"""pi's own tools that change the file ``path``."""
_NO_EFFECT = EffectId("")


class EventReader:
    """One session at a time; ``prompted``: the first one has something to do at once."""

    def __init__(self, *, prompted: bool) -> None:
        self.session: SessionId = NO_SESSION
        self.user = self.reply = MessageId("")
        self.origin = Origin.PERSON
        self.model = ""
        self.asked: Recent[CallId, bool] = Recent(CALLS)
        """Calls that came to the gate; True: refused."""
        self.issued: Recent[EffectId, None] = Recent(PROMPTS)
        """Prompts that we sent; nothing else can claim to be one."""
        self._prompted = prompted
        self._status: Status | None = None
        self._error: AgentError | None = None
        """What the newest reply ended with; told if nothing follows it."""

    def read(self, message: protocol.AnyMessage) -> Iterator[Event]:
        match message:
            case protocol.Begun():
                yield from self._begun(message)
            case protocol.Busy():
                self._error = None
                yield from self.status(message.session, Status.BUSY)
            case protocol.User():
                yield self._spoke(message)
            case protocol.Reply():
                yield from self._reply(message)
            case protocol.Text():
                yield TextDelta(
                    session=message.session,
                    message=message.message,
                    part=PartId(message.part),
                    channel=message.channel,
                    delta=message.delta,
                )
            case protocol.Replied():
                yield from self._replied(message)
            case protocol.Tool():
                yield from self._tool(message)
            case protocol.Compacting():
                yield CompactionStarting(session=message.session)
            case protocol.Compacted():
                yield Compacted(session=message.session)
            case _:
                pass

    def status(self, session: SessionId, status: Status) -> Iterator[Event]:
        """The session's status, if it is another one than before."""
        if self._status is not status:
            self._status = status
            yield StatusChanged(session=session, status=status)

    def over(self, session: SessionId, *, aborted: bool) -> Iterator[Event]:
        """The turn has ended: whether by an error, or by somebody."""
        error, self._error = self._error, None
        if aborted:
            yield AgentError(session=session, message=self.reply, name=_ABORTED, aborted=True)
        elif error is not None:
            yield error

    def rest(self, session: SessionId) -> Iterator[Event]:
        yield from self.status(session, Status.IDLE)

    def _begun(self, message: protocol.Begun) -> Iterator[Event]:
        prompted, self._prompted = self._prompted, False
        if message.session != self.session:
            self.session, self._status, self._error = message.session, None, None
            self.user = self.reply = MessageId("")
        yield SessionSeen(session=message.session, directory=message.directory)
        if not prompted:
            yield from self.status(message.session, Status.IDLE)

    def _spoke(self, message: protocol.User) -> Event:
        ours = message.effect != _NO_EFFECT and message.effect in self.issued
        if ours:
            self.origin = Origin.LOOPGUARD
        else:
            self.origin = Origin.HOST if message.foreign or message.effect else Origin.PERSON
        self.user = message.message
        return UserSpoke(
            session=message.session,
            message=message.message,
            origin=self.origin,
            effect=message.effect if ours else _NO_EFFECT,
            text=cut.text(message.text).text,
            model=self.model,
        )

    def _reply(self, message: protocol.Reply) -> Iterator[Event]:
        self.reply, self.model = message.message, message.model or self.model
        yield ReplyStarted(
            session=message.session, message=message.message, answers=message.answers, model=message.model
        )

    def _replied(self, message: protocol.Replied) -> Iterator[Event]:
        error = cut.text(message.error).text
        aborted = message.reason == _ABORTED
        failed = message.reason == _FAILED
        if failed:
            self._error = AgentError(
                session=message.session, message=message.message, name=_FAILED, text=error
            )
        yield ReplyFinished(
            session=message.session,
            message=message.message,
            finish=message.reason,
            error=error if failed else "",
            aborted=aborted,
        )
        usage = message.usage
        if usage.total or usage.input or usage.output:
            yield UsageReported(
                session=message.session,
                message=message.message,
                input=int(usage.input),
                output=int(usage.output),
                reasoning=int(usage.reasoning),
                cache_read=int(usage.cache_read),
                cache_write=int(usage.cache_write),
                total=int(usage.total),
                cost=usage.cost or None,
            )

    def _tool(self, message: protocol.Tool) -> Iterator[Event]:
        """The end of a call; its beginning was told by the gate, unless pi itself turned it away."""
        refused = self.asked.pop(message.call)
        args, output = cut.arguments(message.args), cut.text(message.output)
        if refused is None:
            yield ToolStarted(
                session=message.session,
                call=message.call,
                tool=message.tool,
                args=args,
                message=message.message,
            )
        yield ToolFinished(
            session=message.session,
            call=message.call,
            tool=message.tool,
            args=args,
            ok=message.ok,
            output=output.text,
            output_digest=output.digest,
            output_chars=output.chars,
            exit_code=message.exit,
            cancelled=message.stopped and not message.ok and not refused,
            refused=bool(refused) and not message.ok and message.exit is None,
            message=message.message,
        )
        path = args.get("path")
        if message.ok and message.tool in _CHANGING and isinstance(path, str):
            yield FilesChanged(session=message.session, files=(path,))
