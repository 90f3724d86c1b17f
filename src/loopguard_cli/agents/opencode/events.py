"""OpenCode's native events, read into ours.

OpenCode repeats itself: "busy" comes twice a step, an abort gives two "idle", parts are sent again
and again. What says nothing new is left out, so that every event of ours means something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from loopguard_cli.agents import cut
from loopguard_cli.agents.memory import Recent
from loopguard_cli.agents.opencode.messages import MessageReader
from loopguard_cli.agents.opencode.protocol import Envelope, NativeError, Part, Properties, SessionInfo
from loopguard_cli.agents.opencode.seen import SESSIONS, Seen
from loopguard_cli.core.events import (
    AgentError,
    Channel,
    Compacted,
    Event,
    FilesChanged,
    PermissionAnswered,
    PermissionAsked,
    SessionGone,
    SessionSeen,
    Status,
    StatusChanged,
    TextDelta,
    TextSnapshot,
    ToolFinished,
    ToolStarted,
    Unparsed,
)
from loopguard_cli.core.ids import PartId, RequestId, SessionId

INVALID_TOOL = "invalid"
"""What OpenCode calls a tool that does not exist; its part claims to be completed."""

QUESTION = "question"
"""Name under which a question to the person appears among the permissions."""

_CHANNELS = {"text": Channel.TEXT, "reasoning": Channel.REASONING}
_SILENT_PARTS = {"agent", "compaction", "file", "retry", "snapshot", "step-start", "subtask"}


class EventReader:
    """Translates the native events of all sessions of a run."""

    def __init__(self) -> None:
        self.seen = Seen()
        self.messages = MessageReader(self.seen)
        self._sessions: Recent[SessionId, SessionInfo] = Recent(SESSIONS)
        self._handlers: dict[str, Callable[[Properties], Iterator[Event]]] = {
            "session.created": self._session,
            "session.updated": self._session,
            "session.deleted": self._deleted,
            "session.status": lambda p: self.status(p.session, p.status.type),
            "session.idle": lambda p: self.status(p.session, Status.IDLE),
            "session.error": self._error,
            "session.compacted": self._compacted,
            "message.updated": self.messages.updated,
            "message.part.updated": self._part,
            "message.part.delta": self._delta,
            "permission.asked": self._asked,
            "permission.replied": self._answered,
            "question.asked": self._asked,
            "question.replied": self._answered,
            "question.rejected": self._rejected,
        }

    def read(self, native: dict[str, Any]) -> Iterator[Event]:
        """What one native event means. Never raises."""
        kind = native.get("type")
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if handler is None:
            yield Unparsed(native=str(kind)[:100])
            return
        try:
            yield from handler(msgspec.convert(native, Envelope, strict=False).properties)
        except msgspec.ValidationError:
            yield Unparsed(native=str(kind)[:100])

    def status(self, session: SessionId, native: str) -> Iterator[Event]:
        """The session's status, if it is another one than before."""
        try:
            status = Status(native)
        except ValueError:
            yield Unparsed(session=session, native=f"status {native}"[:100])
            return
        if status is not Status.IDLE:
            self.seen.aborting.pop(session)
        if self.seen.statuses.get(session, Status.IDLE) is not status:
            self.seen.statuses[session] = status
            yield StatusChanged(session=session, status=status)

    def rests(self, session: SessionId) -> Iterator[Event]:
        """A session of which no status was ever told has not run yet: it is idle."""
        if session not in self.seen.statuses:
            self.seen.statuses[session] = Status.IDLE
            yield StatusChanged(session=session, status=Status.IDLE)

    def known_sessions(self) -> list[SessionId]:
        return [session for session, _ in self._sessions.items()]

    # --- sessions ----------------------------------------------------------------------------

    def _session(self, p: Properties) -> Iterator[Event]:
        info = msgspec.convert(p.info, SessionInfo, strict=False)
        session = info.id or p.session
        self.seen.version = info.version or self.seen.version
        if self._sessions.get(session, None) == info:
            return
        self._sessions[session] = info
        if info.parent:
            self.seen.parents[session] = info.parent
        yield SessionSeen(session=session, parent=info.parent, directory=info.directory)
        if info.agent and not self.seen.agents.get(session, ""):
            yield from self.messages.switched(session, info.agent)

    def _deleted(self, p: Properties) -> Iterator[Event]:
        self._sessions.pop(p.session)
        self.seen.forget(p.session)
        yield SessionGone(session=p.session)

    def _error(self, p: Properties) -> Iterator[Event]:
        error = p.error or NativeError()
        if error.aborted:
            self.seen.aborting[p.session] = None
        yield AgentError(session=p.session, name=error.name, text=error.data.message, aborted=error.aborted)

    def _compacted(self, p: Properties) -> Iterator[Event]:
        yield Compacted(session=p.session)

    # --- parts of messages -------------------------------------------------------------------

    def _part(self, p: Properties) -> Iterator[Event]:
        part = p.part or Part()
        of_user = self.messages.authored(p.session, part)
        if of_user is not None:
            yield from of_user
        elif part.type in _CHANNELS:
            yield from self._text(p.session, part)
        elif part.type == "tool":
            yield from self._tool(p.session, part)
        elif part.type == "step-finish":
            yield from self.messages.tokens(p.session, part.message, part.tokens, part.cost)
        elif part.type == "patch":
            yield FilesChanged(session=p.session, files=part.files)
        elif part.type not in _SILENT_PARTS:
            yield Unparsed(session=p.session, native=f"part {part.type}"[:100])

    def _text(self, session: SessionId, part: Part) -> Iterator[Event]:
        channel = self.seen.channels[part.id] = _CHANNELS[part.type]
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
        if p.field == "text":
            yield TextDelta(
                session=p.session,
                message=p.message,
                part=PartId(p.part_id),
                channel=self.seen.channels.get(p.part_id, Channel.TEXT),
                delta=cut.text(p.delta).text,
            )

    def _tool(self, session: SessionId, part: Part) -> Iterator[Event]:
        """The end of a call; its beginning was told by the gate."""
        state, seen = part.state, self.seen
        if state.status not in ("completed", "error"):
            return
        args = cut.arguments(state.input)
        # An answer that came too late has refused nothing.
        ran = state.status == "completed" or state.metadata.exit is not None
        refused = part.call in seen.refused and not ran
        invalid = part.tool == INVALID_TOOL
        said = args.get("error") if invalid else state.output if state.status == "completed" else state.error
        output = cut.text(said)
        if part.call not in seen.asked:
            yield ToolStarted(
                session=session, call=part.call, tool=part.tool, args=args, message=part.message
            )
        stopped = part.call in seen.cancelled or state.metadata.interrupted or session in seen.aborting
        yield ToolFinished(
            session=session,
            call=part.call,
            tool=part.tool,
            args=args,
            ok=state.status == "completed" and not invalid,
            output=output.text,
            output_digest=output.digest,
            output_chars=output.chars,
            exit_code=state.metadata.exit,
            cancelled=stopped and not refused,
            refused=refused,
            message=part.message,
        )
        for calls in (seen.asked, seen.refused, seen.cancelled):
            calls.pop(part.call)

    # --- questions ---------------------------------------------------------------------------

    def _asked(self, p: Properties) -> Iterator[Event]:
        yield PermissionAsked(
            session=p.session,
            request=RequestId(p.id),
            permission=p.permission or QUESTION,
            call=p.tool.call,
        )

    def _answered(self, p: Properties) -> Iterator[Event]:
        allowed = p.reply != "reject"
        yield PermissionAnswered(session=p.session, request=RequestId(p.request), allowed=allowed)

    def _rejected(self, p: Properties) -> Iterator[Event]:
        yield PermissionAnswered(session=p.session, request=RequestId(p.request), allowed=False)
