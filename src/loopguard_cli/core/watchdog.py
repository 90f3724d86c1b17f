"""Tells an agent that hangs from one that is busy and quiet, by evidence; silence alone proves nothing.

A machine over events with time as an argument. Every `SAMPLE_SECONDS` the shell says what the agent's
processes have done since (`Sampled`). Anything of the following is life and starts the wait anew: an
event of the agent; processor time, data or new processes of what it started; a lot of data read by
itself. An agent that is idle, waits to ask its provider again, or waits for a person does not hang,
however long it is still.

How long a busy agent may show no life depends on what it can be waiting for:

==================  ========  ==================================================================
nothing known       1 window  no call runs, and no connection to a provider is open
an answer           3         a connection is open: a model may think, a page may load
a command           6         a call runs and so does a process for it: it may sleep, or wait
itself              3         it uses the processor all the time and nothing comes of it
==================  ========  ==================================================================

Sources: complaints about watchdogs that killed healthy work after 30 s to 30 min of silence, and about
agents that hung while they used one per cent of a processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from loopguard_cli.core.effects import Abort, Effect, Level, Prompt, Purpose, Tell
from loopguard_cli.core.events import (
    AgentConnected,
    AgentDisconnected,
    AgentExited,
    Asked,
    AuditFinished,
    CheckFinished,
    EffectSettled,
    Event,
    LeaseSettled,
    PermissionAnswered,
    PermissionAsked,
    Sampled,
    SessionGone,
    SessionRead,
    Status,
    StatusChanged,
    Surface,
    ToolAsked,
    ToolFinished,
    ToolStarted,
)
from loopguard_cli.core.ids import CallId, Mint, RequestId, SessionId
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.core.wording import Wording

SAMPLE_SECONDS = 15.0

ASLEEP_FACTOR = 4.0
"""A sample that comes so many times later than due: the machine slept, or we were suspended."""

PARKED_SHARE = 0.03
"""Of a processor, used by what the agent started. Parked programs were seen to use 0.013."""

SPINNING_SHARE = 0.5
"""Of a processor, used by the agent itself; drawing a spinner takes some hundredths."""

OWN_BYTES_PER_SECOND = 1024
"""Read by the agent itself; keepalives of a connection stay far below."""

BELOW_BYTES_PER_SECOND = 64
"""Read or written by what it started."""

REACT_SECONDS = 60.0
"""An interrupted agent shows life by then, or cannot be interrupted."""

MINUTE = 60.0

_WINDOWS = {"nothing": 1, "answer": 3, "command": 6, "itself": 3}

_NOT_OF_THE_AGENT = (
    Sampled, EffectSettled, SessionRead, LeaseSettled, CheckFinished, AuditFinished, AgentConnected,
)  # fmt: skip


class HangAction(StrEnum):
    """What to do about an agent that hangs."""

    OFF = "off"
    NOTIFY = "notify"
    """Say so."""
    INTERRUPT = "interrupt"
    """Abort its turn as well."""
    RESTART = "restart"
    """Start a one-shot agent again in the same session; others are interrupted."""


class WatchdogSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What tells an agent that hangs from one that is busy."""

    action: HangAction = HangAction.NOTIFY
    """What to do about an agent that hangs: ``off``, ``notify``, ``interrupt`` or ``restart``."""
    window_minutes: Annotated[float, Meta(ge=1, le=1440)] = 10.0
    """How long a busy agent may show no sign of life at all; three times as long while it waits for an
    answer of its model, six times while a command runs."""


class _Session:
    """What is known of one session."""

    def __init__(self) -> None:
        self.status = Status.IDLE
        self.calls: set[CallId] = set()
        self.questions: set[RequestId] = set()
        """Put to a person and not answered."""

    @property
    def busy(self) -> bool:
        return self.status is Status.BUSY and not self.questions


class Watchdog:
    """One run's."""

    def __init__(
        self,
        settings: WatchdogSettings,
        *,
        capabilities: Capabilities,
        mint: Mint,
        wording: Wording,
    ) -> None:
        self._settings = settings
        self._can = capabilities
        self._mint = mint
        self.wording = wording
        self._sessions: dict[SessionId, _Session] = {}
        self._alive = 0.0
        """The latest sign of life."""
        self._sampled: float | None = None
        """The latest sample."""
        self._worked: float | None = None
        """Since when the agent itself uses the processor without a break."""
        self._told = False
        self._interrupted: float | None = None

    @property
    def attentive(self) -> bool:
        """Samples are wanted: a session is busy."""
        return self._settings.action is not HangAction.OFF and any(s.busy for s in self._sessions.values())

    def receive(self, event: Event, now: float) -> Iterator[Effect]:
        if isinstance(event, Sampled):
            yield from self._sample(event, now)
        elif not isinstance(event, _NOT_OF_THE_AGENT) and not _asked_outside(event):
            was = self.attentive
            self._follow(event)
            if event.session or not was:
                self._lives(now)

    # --- what the agent says -----------------------------------------------------------------

    def _follow(self, event: Event) -> None:
        if isinstance(event, AgentExited | AgentDisconnected):
            self._sessions.clear()  # nothing is known any more
        if not event.session:
            return
        if isinstance(event, SessionGone):
            self._sessions.pop(event.session, None)
            return
        session = self._sessions.setdefault(event.session, _Session())
        match event:
            case StatusChanged():
                session.status = event.status
                if event.status is Status.IDLE:
                    session.calls.clear()
                    session.questions.clear()
            case ToolAsked() | ToolStarted():
                session.calls.add(event.call)
            case ToolFinished():
                session.calls.discard(event.call)
            case PermissionAsked():
                session.questions.add(event.request)
            case PermissionAnswered():
                session.questions.discard(event.request)
            case _:
                pass

    def _lives(self, now: float) -> None:
        self._alive = now
        self._told, self._interrupted, self._worked = False, None, None

    # --- what its processes do ---------------------------------------------------------------

    def _sample(self, seen: Sampled, now: float) -> Iterator[Effect]:
        before, self._sampled = self._sampled, now
        slept = before is None or now - before > ASLEEP_FACTOR * SAMPLE_SECONDS
        if not self.attentive or slept or _shows_life(seen):
            self._lives(now)
            return
        if seen.own_cpu < SPINNING_SHARE * seen.seconds:
            self._worked = None
        elif self._worked is None:
            self._worked = self._alive
        waits = self._waits_for(seen)
        window = self._settings.window_minutes * MINUTE
        quiet = now - self._alive
        if not self._told and quiet >= _WINDOWS[waits] * window:
            self._told = True
            yield from self._hung(waits, quiet, now)
        elif self._interrupted is not None and now - self._interrupted >= REACT_SECONDS:
            self._interrupted = None
            yield from self._deaf()

    def _waits_for(self, seen: Sampled) -> str:
        if self._worked is not None:
            return "itself"
        if any(session.calls for session in self._sessions.values()) and seen.below:
            return "command"
        return "answer" if seen.connected else "nothing"

    # --- what is done about it ---------------------------------------------------------------

    def _hung(self, waits: str, quiet: float, now: float) -> Iterator[Effect]:
        text = self.wording.hung(waits, quiet / MINUTE)
        yield Tell(level=Level.WARNING, topic="agent.hung", text=text)
        action = self._settings.action
        busy = [name for name, session in self._sessions.items() if session.busy]
        if action is HangAction.RESTART and self._can.respawn:
            for name in busy[:1]:
                yield Prompt(
                    session=name,
                    effect=self._mint.effect(),
                    text=self.wording.restarted(),
                    purpose=Purpose.RECOVERY,
                )
        elif action in (HangAction.INTERRUPT, HangAction.RESTART) and self._can.abort:
            self._interrupted = now
            for name in busy:
                yield Abort(session=name, effect=self._mint.effect())

    def _deaf(self) -> Iterator[Effect]:
        yield Tell(level=Level.ERROR, topic="agent.hung", text=self.wording.deaf())


def _asked_outside(event: Event) -> bool:
    return isinstance(event, Asked) and event.surface is Surface.CLI


def _shows_life(seen: Sampled) -> bool:
    return (
        seen.came_or_went > 0
        or seen.below_cpu >= PARKED_SHARE * seen.seconds
        or seen.below_bytes >= BELOW_BYTES_PER_SECOND * seen.seconds
        or seen.own_bytes >= OWN_BYTES_PER_SECOND * seen.seconds
    )
