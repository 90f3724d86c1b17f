"""What the guard would have said about a conversation that is long over, and what that would have saved.

The events go through `study.hindsight`. Savings are a lower bound: a *step* (one assistant message
and the calls it made) counts as wasted only from the moment an alarm was raised in it, and each step
by itself; what an earlier stop would have spared besides is left out.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from loopguard_cli.core.events import (
    AgentConnected,
    Event,
    ReplyStarted,
    SessionSeen,
    Status,
    StatusChanged,
    TextDelta,
    TextSnapshot,
    ToolAsked,
    ToolFinished,
    ToolStarted,
    UsageReported,
    UserSpoke,
)
from loopguard_cli.core.ids import NO_SESSION, SessionId
from loopguard_cli.core.session import Usage
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.detect.masking import mask_volatile
from loopguard_cli.detect.outcomes import KEPT
from loopguard_cli.history import Conversation, Tally
from loopguard_cli.store.folder import reason
from loopguard_cli.study.evaluate import ALARMS
from loopguard_cli.study.hindsight import Hindsight, Raised
from loopguard_cli.study.histories import events
from loopguard_cli.study.replay import Found

PROGRESS_BYTES = 256 << 10

OUTCOMES = 64
"""Call keys per session whose last outcome is remembered."""

NEAR_STEPS = 3
"""An alarm so few steps after the one before belongs to the same loop, whichever rule raised it."""

AFTERWARDS = 400
"""Characters of new text behind an alarm that say the agent got out of it by itself."""

_SENTENCE_END = re.compile(r"[.!?\n\u3002\uff01\uff1f]+")

SHOWN = 240
"""Characters of raw content that ``--show`` may print per loop."""


class Loop(msgspec.Struct, kw_only=True):
    """One loop in one session: from its first alarm to its last."""

    rule: str
    action: str
    """What the guard would have done at first: block, abort or stop."""
    explanation: str
    tool: str = ""
    session: str
    event: int
    """Number of the event in the conversation, from 0."""
    time: float
    """Unix time of the first alarm, in seconds."""
    alarms: int = 1
    calls: int = 0
    """Calls that would not have run."""
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    suspect: str = ""
    """Why this may have been a false alarm; empty when nothing speaks for it."""
    shown: str = ""
    """A piece of what repeated; only when asked for."""


class Study(msgspec.Struct, kw_only=True):
    """One conversation, judged."""

    agent: str
    path: str
    project: str = ""
    version: str = ""
    started: float = 0.0
    ended: float = 0.0
    sessions: int = 0
    """The conversation's own and its sub-agents', as far as they are in it."""
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    """US dollars, as far as the agent wrote them down."""
    has_cost: bool = False
    loops: list[Loop] = []
    hints: int = 0
    """Nudges: the model would have been told, nothing stopped."""
    left_out: bool = False
    """Of another project than asked for."""
    unreadable: str = ""
    tally: Tally = msgspec.field(default_factory=Tally)


def study(
    conversation: Conversation,
    settings: GuardSettings,
    *,
    project: str = "",
    since: float = 0.0,
    show: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> Study:
    """Judge one conversation. Never raises for what is wrong with the file.

    ``project``: only conversations that worked in this folder or below it. ``since``: only loops
    after this Unix time. ``progress`` is told, now and then, how many bytes have been read; what it
    raises ends the study.
    """
    tally = Tally()
    result = Study(agent=conversation.agent, path=str(conversation.path), tally=tally)
    sessions: dict[SessionId, _Session] = {}
    session: _Session | None = None
    number = told = 0
    try:
        for time, event in events(conversation, tally):
            # There may be millions of events: what hardly any of them needs is asked last.
            if session is None or event.session != session.id:
                if event.session == NO_SESSION:
                    if isinstance(event, AgentConnected):
                        result.version = event.version
                        result.agent = event.agent or result.agent
                    continue
                session = sessions.get(event.session)
                if session is None:
                    session = sessions[event.session] = _Session(event.session, settings, show=show)
            if not result.started:
                result.started = time
            if isinstance(event, SessionSeen) and event.directory:
                result.project = result.project or event.directory
                if project and not _within(event.directory, project):
                    result.left_out = True
                    return result
            session.take(number, time, event)
            number += 1
            if tally.bytes - told >= PROGRESS_BYTES:
                told = tally.bytes
                progress(told)
    except OSError as error:
        result.unreadable = reason(error)
    result.left_out = bool(project) and not _within(result.project, project)
    for session in sessions.values():
        session.close()
        _sum(session, result, since)
        result.ended = max(result.ended, session.last)
    return result


def _sum(session: _Session, result: Study, since: float) -> None:
    result.sessions += 1
    result.calls += session.calls
    result.tokens += session.usage.tokens
    result.cost += session.usage.cost
    result.has_cost = result.has_cost or session.usage.cost > 0
    result.hints += session.hints
    for loop in session.loops:
        if session.usage.tokens and not loop.cost:
            loop.cost = session.usage.cost * loop.tokens / session.usage.tokens
        if loop.time >= since:
            result.loops.append(loop)


def _within(folder: str, project: str) -> bool:
    return bool(folder) and (folder == project or Path(folder).is_relative_to(project))


class _Session:
    """One session's judge, and the sums around it."""

    def __init__(self, session: SessionId, settings: GuardSettings, *, show: bool) -> None:
        self.id = session
        self.loops: list[Loop] = []
        self.usage = Usage()
        self.calls = self.hints = 0
        self._hindsight = Hindsight(session, settings)
        self._show = show
        self._open: dict[str, Loop] = {}
        """Loops by what repeats."""
        self._latest: Loop | None = None
        self._step = _Step(0.0)
        self._quiet = 0
        """Steps since the latest alarm."""
        self.last = 0.0
        """When the latest event happened."""
        self._outcomes: OrderedDict[tuple[str, bytes], tuple[bool, int, str]] = OrderedDict()
        self._flagged: dict[str, Loop] = {}
        """Calls that an alarm was raised about and that are still running."""

    def take(self, index: int, time: float, event: Event) -> None:
        kind = type(event)
        if isinstance(event, UsageReported):
            self._used(event)
            self.last = time
            return
        if kind is ToolStarted or kind is ToolAsked:
            self.calls += 1
        elif kind is UserSpoke:
            self._end_step(time)
        elif kind is ReplyStarted or (isinstance(event, StatusChanged) and event.status is Status.IDLE):
            self._end_step(self.last)
        if raised := self._hindsight.take(index, time, event):
            self._raised(raised, event)
        if isinstance(event, ToolFinished):
            self._finished(event)
        self.last = time

    def close(self) -> None:
        self._end_step(self.last)

    # --- inside ------------------------------------------------------------------------------

    def _raised(self, raised: Sequence[Raised], event: Event) -> None:
        for one in raised:
            if one.found.action in ALARMS:
                self._alarm(one.found, one.event)
                if isinstance(event, TextSnapshot):
                    self._in_text(event.text, one.at)
            elif one.found.action == "nudge":
                self.hints += 1

    def _used(self, event: UsageReported) -> None:
        before = self.usage.tokens
        self.usage.add(event)
        self._step.tokens += self.usage.tokens - before

    def _alarm(self, found: Found, event: Event) -> None:
        loop = self._open.get(found.key)
        if loop is None and self._latest is not None and self._quiet <= NEAR_STEPS:
            loop = self._open[found.key] = self._latest
            loop.alarms += 1
        elif loop is None:
            loop = self._open[found.key] = Loop(
                rule=found.rule,
                action=found.action,
                explanation=found.explanation,
                tool=found.tool,
                session=self.id,
                event=found.event,
                time=found.time,
                shown=_excerpt(event) if self._show else "",
            )
            self.loops.append(loop)
        else:
            loop.alarms += 1
            if loop.rule == found.rule:
                loop.explanation = found.explanation
        self._latest, self._quiet = loop, 0
        if isinstance(event, ToolAsked):
            self._step.calls += 1
            self._flagged[event.call] = loop
        self._step.wasted_by(loop)

    def _in_text(self, text: str, at: int) -> None:
        """An alarm after ``at`` characters: only the rest would have been saved, if that repeats too."""
        loop = self._step.loop
        if self._step.alarms == 1:
            self._step.share = 1.0 - at / len(text)
        if loop is not None:
            moved_on = _new(text[at:], text[:at]) > AFTERWARDS
            loop.suspect = "the text went on to something else by itself" if moved_on else ""

    def _finished(self, event: ToolFinished) -> None:
        """A call that the guard would have refused, and that brought something new, was worth it."""
        # Compared only within this session, so the text of the arguments will do for a key.
        key = (event.tool, msgspec.json.encode(event.args))
        outcome = (event.ok, len(event.output), event.output[:KEPT])
        before = self._outcomes.get(key)
        self._outcomes[key] = outcome
        self._outcomes.move_to_end(key)
        if len(self._outcomes) > OUTCOMES:
            self._outcomes.popitem(last=False)
        loop = self._flagged.pop(event.call, None)
        if loop is None or before is None or event.cancelled or before == outcome:
            return
        if mask_volatile(before[2]) != mask_volatile(outcome[2]):
            loop.suspect = "the call that would have been blocked returned something new"

    def _end_step(self, now: float) -> None:
        step, self._step = self._step, _Step(now)
        self._quiet += 1
        if (loop := step.loop) is not None:
            loop.calls += step.calls
            loop.tokens += round(step.tokens * step.share)
            loop.seconds += max(0.0, self.last - step.start) * step.share


class _Step:
    """One assistant message and the calls it made."""

    def __init__(self, start: float) -> None:
        self.start = start
        self.loop: Loop | None = None
        """The first loop an alarm was raised about in it."""
        self.share = 1.0
        """How much of the step came after the alarm."""
        self.calls = self.tokens = self.alarms = 0

    def wasted_by(self, loop: Loop) -> None:
        self.alarms += 1
        self.loop = self.loop or loop


def _new(rest: str, before: str) -> int:
    """Characters of ``rest`` in sentences that ``before`` does not have; a cut first one is not looked at."""
    known = {sentence.strip() for sentence in _SENTENCE_END.split(before)}
    return sum(len(one) for one in _SENTENCE_END.split(rest)[1:] if one.strip() not in known)


def _excerpt(event: Event) -> str:
    match event:
        case ToolAsked():
            raw = f"{event.tool} {msgspec.json.encode(event.args).decode()}"
        case TextDelta():
            raw = event.delta[-SHOWN:]
        case ToolFinished():
            raw = event.output
        case _:
            raw = ""
    return " ".join(raw.split())[:SHOWN]
