"""OpenCode's native events, read into ours.

OpenCode repeats itself: user messages are sent again after the turn, "busy" comes twice a step, an
abort gives two "idle". What says nothing new is left out, so that every event of ours means
something. One reader serves one run and keeps a bounded memory of what it has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from loopguard_cli.agents.opencode import cut
from loopguard_cli.agents.opencode.memory import Recent
from loopguard_cli.agents.opencode.protocol import (
    Envelope,
    MessageInfo,
    ModelName,
    NativeError,
    Part,
    Properties,
    SessionInfo,
    Tokens,
    UserMessage,
)
from loopguard_cli.core.events import (
    AgentError,
    AgentSwitched,
    Channel,
    Compacted,
    Event,
    FilesChanged,
    Origin,
    PermissionAnswered,
    PermissionAsked,
    ReplyFinished,
    ReplyStarted,
    SessionGone,
    SessionSeen,
    Status,
    StatusChanged,
    TextDelta,
    TextSnapshot,
    ToolFinished,
    ToolStarted,
    Unparsed,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import CallId, EffectId, MessageId, PartId, RequestId, SessionId

MESSAGES = 1000
PARTS = 2000
SESSIONS = 200
INVALID_TOOL = "invalid"
"""What OpenCode calls a tool that does not exist; the part claims to be completed."""

QUESTION = "question"
"""Name under which a question to the person appears among the permissions."""

_CHANNELS = {"text": Channel.TEXT, "reasoning": Channel.REASONING}
_SILENT_PARTS = {"step-start", "snapshot", "agent", "file", "subtask", "retry"}
_READ_ONLY_AGENTS = {"plan"}
_NO_EFFECT = EffectId("")


class EventReader:
    """Translates native events of all sessions of a run."""

    def __init__(self) -> None:
        self.version = ""
        """OpenCode's own version, once a session told it."""
        self.issued: Recent[EffectId, None] = Recent(MESSAGES)
        """Prompts we sent; nobody else can claim to be one."""
        self.refused: Recent[CallId, None] = Recent(MESSAGES)
        self.cancelled: Recent[CallId, None] = Recent(MESSAGES)
        self.asked: Recent[CallId, None] = Recent(MESSAGES)
        """Calls that came to the gate; the others were seen too late."""
        self.parents: Recent[SessionId, SessionId] = Recent(SESSIONS)
        self.statuses: Recent[SessionId, Status] = Recent(SESSIONS)
        self.origins: Recent[MessageId, Origin] = Recent(MESSAGES)
        self.newest_reply: Recent[SessionId, MessageId] = Recent(SESSIONS)
        self.newest_user: Recent[SessionId, MessageId] = Recent(SESSIONS)
        self.agents: Recent[SessionId, str] = Recent(SESSIONS)
        self._seen: Recent[SessionId, SessionInfo] = Recent(SESSIONS)
        self._aborting: Recent[SessionId, None] = Recent(SESSIONS)
        self._waiting: Recent[MessageId, MessageInfo] = Recent(MESSAGES)
        """User messages whose author only their parts will show."""
        self._replies: Recent[MessageId, bool] = Recent(MESSAGES)
        """Assistant messages; True once finished."""
        self._usage: Recent[MessageId, UsageReported] = Recent(MESSAGES)
        self._channels: Recent[str, Channel] = Recent(PARTS)

    # --- entrances ---------------------------------------------------------------------------

    def read(self, native: dict[str, Any]) -> Iterator[Event]:
        """What one native event means."""
        kind = native.get("type")
        if not isinstance(kind, str):
            yield Unparsed(native="event without type")
            return
        handler = _HANDLERS.get(kind)
        if handler is None:
            yield Unparsed(native=kind[:100])
            return
        try:
            envelope = msgspec.convert(native, Envelope, strict=False)
            yield from handler(self, envelope.properties)
        except msgspec.ValidationError:
            yield Unparsed(native=kind[:100], session=self._session_of(native))

    def user_message(self, message: UserMessage) -> Iterator[Event]:
        """A user message, as the bridge saw it come in."""
        if message.message in self.origins:
            return
        if message.effect and message.effect in self.issued:
            origin = Origin.LOOPGUARD
        elif self.parents.get(message.session, SessionId("")):
            origin = Origin.PARENT
        else:
            origin = Origin.PERSON if message.real else Origin.HOST
        yield from self._spoke(
            message.session,
            message.message,
            origin,
            effect=message.effect if origin is Origin.LOOPGUARD else EffectId(""),
            text=cut.text(message.text).text,
            agent=message.agent,
            model=message.model,
            variant=message.variant,
        )

    def status(self, session: SessionId, native: str) -> Iterator[Event]:
        """The session's status, if it is another one than before."""
        try:
            status = Status(native)
        except ValueError:
            yield Unparsed(session=session, native=f"status {native}"[:100])
            return
        if status is not Status.IDLE:
            self._aborting.pop(session)
        if self.statuses.get(session, Status.IDLE) is not status:
            self.statuses[session] = status
            yield StatusChanged(session=session, status=status)

    def known_sessions(self) -> list[SessionId]:
        return [session for session, _ in self._seen.items()]

    # --- sessions ----------------------------------------------------------------------------

    def _session(self, p: Properties) -> Iterator[Event]:
        info = msgspec.convert(p.info, SessionInfo, strict=False)
        session = info.id or p.session
        self.version = info.version or self.version
        if self._seen.get(session, SessionInfo()) == info:
            return
        self._seen[session] = info
        if info.parent:
            self.parents[session] = info.parent
        yield SessionSeen(session=session, parent=info.parent, directory=info.directory)

    def _deleted(self, p: Properties) -> Iterator[Event]:
        for memory in (self._seen, self.parents, self.statuses, self.agents):
            memory.pop(p.session)
        yield SessionGone(session=p.session)

    def _status(self, p: Properties) -> Iterator[Event]:
        yield from self.status(p.session, p.status.type)

    def _idle(self, p: Properties) -> Iterator[Event]:
        yield from self.status(p.session, Status.IDLE)

    def _error(self, p: Properties) -> Iterator[Event]:
        error = p.error or NativeError()
        if error.aborted:
            self._aborting[p.session] = None
        yield AgentError(session=p.session, name=error.name, text=error.data.message, aborted=error.aborted)

    def _compacted(self, p: Properties) -> Iterator[Event]:
        yield Compacted(session=p.session)

    # --- messages ----------------------------------------------------------------------------

    def _message(self, p: Properties) -> Iterator[Event]:
        info = msgspec.convert(p.info, MessageInfo, strict=False)
        if info.role == "user":
            if info.id not in self.origins:
                self._waiting[info.id] = info
        elif info.role == "assistant":
            yield from self._reply(p.session, info)
        else:
            yield Unparsed(session=p.session, native=f"message role {info.role}"[:100])

    def _reply(self, session: SessionId, info: MessageInfo) -> Iterator[Event]:
        if info.id not in self._replies:
            self._replies[info.id] = False
            self.newest_reply[session] = info.id
            yield ReplyStarted(
                session=session,
                message=info.id,
                answers=info.parent,
                agent=info.agent or info.mode,
                model=str(ModelName(info.provider, info.model_id)),
                variant=info.variant,
                summary=info.summary is True,
            )
        yield from self._tokens(session, info.id, info.tokens, info.cost)
        ended = info.time.completed is not None or info.error is not None
        if ended and not self._replies.get(info.id, True):
            self._replies[info.id] = True
            error = info.error or NativeError()
            yield ReplyFinished(
                session=session,
                message=info.id,
                finish=info.finish,
                error=error.name,
                aborted=error.aborted or (not info.finish and session in self._aborting),
            )

    def _tokens(
        self, session: SessionId, message: MessageId, tokens: Tokens | None, cost: float
    ) -> Iterator[Event]:
        if tokens is None or not (tokens.input or tokens.output or tokens.reasoning or tokens.cache.read):
            return
        usage = UsageReported(
            session=session,
            message=message,
            input=int(tokens.input),
            output=int(tokens.output),
            reasoning=int(tokens.reasoning),
            cache_read=int(tokens.cache.read),
            cache_write=int(tokens.cache.write),
            total=int(tokens.total),
            cost=cost or None,
        )
        if self._usage.get(message, UsageReported(message=message)) != usage:
            self._usage[message] = usage
            yield usage

    def _spoke(
        self,
        session: SessionId,
        message: MessageId,
        origin: Origin,
        *,
        effect: EffectId = _NO_EFFECT,
        text: str = "",
        agent: str = "",
        model: ModelName = ModelName(),  # noqa: B008 - frozen
        variant: str = "",
    ) -> Iterator[Event]:
        self.origins[message] = origin
        self.newest_user[session] = message
        self._waiting.pop(message)
        if agent and self.agents.get(session, "") != agent:
            self.agents[session] = agent
            yield AgentSwitched(session=session, agent=agent, read_only=agent in _READ_ONLY_AGENTS)
        yield UserSpoke(
            session=session,
            message=message,
            origin=origin,
            effect=effect,
            text=text,
            agent=agent,
            model=str(model),
            variant=variant,
        )

    def _author(self, session: SessionId, info: MessageInfo, part: Part) -> Iterator[Event]:
        """Who wrote a user message that the bridge did not announce (a compaction, or a gap)."""
        effect = EffectId(str((part.metadata or {}).get("loopguard", "")))
        if part.type not in ("text", "compaction"):
            return
        if effect and effect in self.issued:
            origin = Origin.LOOPGUARD
        elif part.type == "compaction" or part.synthetic:
            origin, effect = Origin.HOST, EffectId("")
        else:
            origin, effect = Origin.PERSON, EffectId("")
            if self.parents.get(session, SessionId("")):
                origin = Origin.PARENT
        text = cut.text(part.text).text if part.type == "text" else ""
        yield from self._spoke(
            session, info.id, origin, effect=effect, text=text, agent=info.agent, model=info.model,
            variant=info.variant,
        )  # fmt: skip

    # --- parts -------------------------------------------------------------------------------

    def _part(self, p: Properties) -> Iterator[Event]:
        part = p.part or Part()
        if part.message in self._waiting:
            yield from self._author(p.session, self._waiting.get(part.message, MessageInfo()), part)
        elif part.message in self.origins:
            return
        elif part.type in _CHANNELS:
            yield from self._text(p.session, part)
        elif part.type == "tool":
            yield from self._tool(p.session, part)
        elif part.type == "step-finish":
            yield from self._tokens(p.session, part.message, part.tokens, part.cost)
        elif part.type == "patch":
            yield FilesChanged(session=p.session, files=part.files)
        elif part.type not in _SILENT_PARTS and part.type != "compaction":
            yield Unparsed(session=p.session, native=f"part {part.type}"[:100])

    def _text(self, session: SessionId, part: Part) -> Iterator[Event]:
        channel = self._channels[part.id] = _CHANNELS[part.type]
        text = cut.text(part.text).text
        ended = part.time is not None and part.time.end is not None
        if text or ended:
            yield TextSnapshot(
                session=session,
                message=part.message,
                part=PartId(part.id),
                channel=channel,
                text=text,
                synthetic=part.synthetic,
                ended=ended,
            )

    def _delta(self, p: Properties) -> Iterator[Event]:
        if p.field != "text":
            return
        yield TextDelta(
            session=p.session,
            message=p.message,
            part=PartId(p.part_id),
            channel=self._channels.get(p.part_id, Channel.TEXT),
            delta=cut.text(p.delta).text,
        )

    def _tool(self, session: SessionId, part: Part) -> Iterator[Event]:
        state = part.state
        if state.status not in ("completed", "error"):
            return  # the gate has said already that the call begins
        refused = part.call in self.refused
        error = cut.text(state.error)
        read = cut.text(state.output) if state.status == "completed" else error
        args = cut.arguments(state.input)
        invalid = part.tool == INVALID_TOOL
        if invalid:
            read = cut.text(args.get("error"))
        if part.call not in self.asked:
            yield ToolStarted(
                session=session, call=part.call, tool=part.tool, args=args, message=part.message
            )
        yield ToolFinished(
            session=session,
            call=part.call,
            tool=part.tool,
            args=args,
            ok=state.status == "completed" and not invalid,
            output=read.text,
            output_digest=read.digest,
            output_chars=read.chars,
            exit_code=state.metadata.exit,
            cancelled=not refused
            and (part.call in self.cancelled or state.metadata.interrupted or session in self._aborting),
            refused=refused,
            message=part.message,
        )
        for memory in (self.asked, self.refused, self.cancelled):
            memory.pop(part.call)

    # --- questions ---------------------------------------------------------------------------

    def _permission(self, p: Properties) -> Iterator[Event]:
        yield PermissionAsked(
            session=p.session, request=RequestId(p.id), permission=p.permission, call=p.tool.call
        )

    def _permission_replied(self, p: Properties) -> Iterator[Event]:
        allowed = p.reply != "reject"
        yield PermissionAnswered(session=p.session, request=RequestId(p.request), allowed=allowed)

    def _question(self, p: Properties) -> Iterator[Event]:
        yield PermissionAsked(
            session=p.session, request=RequestId(p.id), permission=QUESTION, call=p.tool.call
        )

    def _question_replied(self, p: Properties) -> Iterator[Event]:
        yield PermissionAnswered(session=p.session, request=RequestId(p.request), allowed=True)

    def _question_rejected(self, p: Properties) -> Iterator[Event]:
        yield PermissionAnswered(session=p.session, request=RequestId(p.request), allowed=False)

    @staticmethod
    def _session_of(native: dict[str, Any]) -> SessionId:
        properties = native.get("properties")
        session = properties.get("sessionID") if isinstance(properties, dict) else ""
        return SessionId(session if isinstance(session, str) else "")


_HANDLERS: dict[str, Callable[[EventReader, Properties], Iterator[Event]]] = {
    "session.created": EventReader._session,
    "session.updated": EventReader._session,
    "session.deleted": EventReader._deleted,
    "session.status": EventReader._status,
    "session.idle": EventReader._idle,
    "session.error": EventReader._error,
    "session.compacted": EventReader._compacted,
    "message.updated": EventReader._message,
    "message.part.updated": EventReader._part,
    "message.part.delta": EventReader._delta,
    "permission.asked": EventReader._permission,
    "permission.replied": EventReader._permission_replied,
    "question.asked": EventReader._question,
    "question.replied": EventReader._question_replied,
    "question.rejected": EventReader._question_rejected,
}
