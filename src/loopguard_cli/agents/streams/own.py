"""Our own events, as ``--record`` writes them; for programs that are written to be guarded."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from loopguard_cli.core.events import (
    AgentError,
    AgentSwitched,
    Compacted,
    CompactionStarting,
    Event,
    FilesChanged,
    Origin,
    PermissionAnswered,
    PermissionAsked,
    ReplyFinished,
    ReplyStarted,
    SessionGone,
    SessionSeen,
    StatusChanged,
    TextDelta,
    TextSnapshot,
    ToolAsked,
    ToolFinished,
    ToolStarted,
    Unparsed,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import SessionId

SESSION = SessionId("stream")

_Accepted = (
    SessionSeen | SessionGone | UserSpoke | ReplyStarted | ReplyFinished | TextDelta | TextSnapshot
    | ToolAsked | ToolStarted | ToolFinished | FilesChanged | UsageReported | StatusChanged | AgentError
    | AgentSwitched | CompactionStarting | Compacted | PermissionAsked | PermissionAnswered
)  # fmt: skip
"""What a program may say of itself. Commands and results of our own effects are not its to report."""


class _Recorded(msgspec.Struct, frozen=True):
    """A line of a recording holds the event beside its time."""

    event: msgspec.Raw = msgspec.Raw()
    format: str = ""
    """Only in the header."""


class Own:
    """Reads events of our own, bare or as recorded."""

    def __init__(self) -> None:
        self._decoder = msgspec.json.Decoder(_Accepted)
        self._recorded = msgspec.json.Decoder(_Recorded)

    def read(self, line: bytes) -> Iterator[Event]:
        recorded = self._recorded.decode(line)
        if recorded.format:
            return
        inner = bytes(recorded.event)
        try:
            event = self._decoder.decode(inner or line)
        except msgspec.ValidationError as error:
            yield Unparsed(native=str(error)[:100])
            return
        yield _ours(event)

    def ended(self) -> Iterator[Event]:
        yield from ()


def _ours(event: Event) -> Event:
    if not event.session:
        event = msgspec.structs.replace(event, session=SESSION)
    if isinstance(event, ToolAsked):
        # Nobody waits for our answer, so it runs.
        return ToolStarted(session=event.session, call=event.call, tool=event.tool, args=event.args)
    if isinstance(event, UserSpoke) and event.origin is Origin.LOOPGUARD:
        return msgspec.structs.replace(event, origin=Origin.HOST)
    return event
