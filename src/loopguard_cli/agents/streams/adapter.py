"""The adapter for event streams: every line that can be read is an event, all bytes go on to the person.

Nothing can be said to such a program, so a loop costs the run: it is interrupted as by ^C, and given time to
end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from loopguard_cli.agents.base import (
    Answer,
    BridgeAddress,
    Form,
    Interrupt,
    LaunchPlan,
    Outgoing,
    Setup,
    Streams,
    answer,
)
from loopguard_cli.agents.streams.claude import Claude
from loopguard_cli.agents.streams.codex import Codex
from loopguard_cli.agents.streams.own import Own
from loopguard_cli.agents.unbridged import Unbridged
from loopguard_cli.core.effects import Abort, Effect, Prompt, ReadSession, Trim
from loopguard_cli.core.events import (
    AgentConnected,
    AgentExited,
    EffectSettled,
    Event,
    SessionRead,
    Status,
    StatusChanged,
    Unparsed,
)
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.errors import UsageError
from loopguard_cli.wire.lines import LineBuffer

CAPABILITIES = Capabilities(text_deltas=True, reasoning=True, abort=True, read_session=True, usage=True)

LINE_BYTES = 16 << 20
"""Longest event; a longer line is passed on and not read."""


class Format(StrEnum):
    """Whose events the program prints."""

    NDJSON = "ndjson"
    """Ours: what ``--record`` writes."""
    CLAUDE = "claude"
    """``--output-format stream-json`` of Claude Code, and of programs that print the same."""
    CODEX = "codex"
    """``codex exec --json``."""


class Reader(Protocol):
    """Reads one format."""

    def read(self, line: bytes) -> Iterator[Event]:
        """The events in one line. Raises `msgspec.DecodeError` (a ValueError) when it is not JSON."""

    def ended(self) -> Iterator[Event]:
        """The output is at its end."""


_READERS: dict[Format, type[Reader]] = {Format.NDJSON: Own, Format.CLAUDE: Claude, Format.CODEX: Codex}


class EventStream(Unbridged):
    """One run of one program."""

    name = "stream"
    capabilities = CAPABILITIES

    def __init__(self, setup: Setup) -> None:
        """Raises UsageError."""
        try:
            self._format = Format(setup.events)
        except ValueError:
            known = ", ".join(Format)
            raise UsageError(
                f"unknown format of events {setup.events!r}", f"--events takes one of: {known}"
            ) from None
        self._argv = setup.argv
        self._reader: Reader = _READERS[self._format]()
        self._lines = LineBuffer(LINE_BYTES)
        self._connected = False
        self._statuses: dict[SessionId, Status] = {}

    def launch(self, _environ: Mapping[str, str], _address: BridgeAddress) -> LaunchPlan:
        return LaunchPlan(argv=self._argv, form=Form.ONE_SHOT, streams=Streams.TAPPED)

    def printed(self, data: bytes) -> Answer:
        before = self._lines.dropped
        events = [event for line in self._lines.feed(data) for event in self._read(line)]
        events += [Unparsed(native="line: too long") for _ in range(self._lines.dropped - before)]
        return Answer(events=tuple(events))

    def paused(self) -> Answer:
        return Answer()

    def exited(self, code: int) -> Sequence[Event]:
        rest = self.printed(b"\n").events  # a last line without an end
        ended = [event for event in self._reader.ended() if self._notes(event)]
        idle = [
            StatusChanged(session=session, status=Status.IDLE)
            for session, status in self._statuses.items()
            if status is not Status.IDLE
        ]
        silent = [] if self._connected else [Unparsed(native="no line was an event")]
        return (*rest, *ended, *idle, *silent, AgentExited(code=code))

    def carry_out(self, effect: Effect) -> Answer:
        return answer(self._do(effect))

    # --- inside ------------------------------------------------------------------------------

    def _read(self, line: bytes) -> Iterator[Event]:
        if not line.lstrip().startswith(b"{"):
            return  # what programs print beside their events
        try:
            events = [*self._reader.read(line)]
        except (msgspec.DecodeError, RecursionError):
            yield Unparsed(native="line: not JSON")
            return
        if not self._connected:
            self._connected = True
            yield AgentConnected(agent=f"{self.name} ({self._format})")
        for event in events:
            self._notes(event)
            yield event

    def _notes(self, event: Event) -> bool:
        if isinstance(event, StatusChanged):
            self._statuses[event.session] = event.status
        return True

    def _do(self, effect: Effect) -> Iterator[Outgoing | Event]:
        match effect:
            case Abort():
                yield Interrupt()
                yield EffectSettled(session=effect.session, effect=effect.effect, ok=True)
            case ReadSession():
                status = self._statuses.get(effect.session, Status.IDLE)
                yield SessionRead(session=effect.session, effect=effect.effect, ok=True, status=status)
            case Prompt() | Trim():
                error = "a program that only prints its events can be told nothing"
                yield EffectSettled(session=effect.session, effect=effect.effect, ok=False, error=error)
            case _:
                pass
