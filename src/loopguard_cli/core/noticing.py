"""Which of the things that are told deserve a notice outside the terminal, and how often.

Pure: time is an argument. Sending is `runtime.telling.notify`'s.
"""

from __future__ import annotations

from collections import deque
from typing import Annotated

import msgspec
from msgspec import Meta

from loopguard_cli.core.effects import Effect, Level, Record, Tell
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import AgentSeen, GoalRecord
from loopguard_cli.core.wording import Wording

TOPICS = (
    "loop.stopped", "goal.achieved", "goal.blocked", "goal.limit", "agent.hung", "agent.unguarded",
)  # fmt: skip
"""What somebody who is not looking wants to know."""

_TOLD = {
    "loop.stopped": "loop.stopped",
    "recovery.failed": "loop.stopped",
    "cap.reached": "loop.stopped",
    "agent.hung": "agent.hung",
}
"""Topics of `Tell` that deserve a notice, and which."""

_RECORDED = {
    "completed": "goal.achieved",
    "blocked": "goal.blocked",
    "limit": "goal.limit",
    "budget-wrapup": "goal.limit",
}
"""Events of `GoalRecord` that do."""

_BY_ITSELF = (
    "no_progress",
    "no_tool_calls",
    "format_failures",
    "check_failures",
    "prompt_failures",
    "provider_error",
    "audit_rejected",
    "claim_persist_failed",
    "terminal_persist_failed",
)
"""Reasons for which a goal pauses without a person: it stands still until somebody comes."""

HOUR = 3600.0


class NotifySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Notices outside the terminal: when an agent was stopped, reached its goal, or hangs."""

    topics: tuple[str, ...] = TOPICS
    """What is worth a notice."""
    desktop: bool = True
    """Show a notice on the desktop, where there is one."""
    command: str = ""
    """A command to run for each notice; it gets the notice as JSON on standard input. Not taken from
    project files."""
    webhook: str = ""
    """An http or https address to which each notice is posted as JSON. Not taken from project files."""
    min_seconds: Annotated[float, Meta(ge=0)] = 60.0
    """Least time between two notices of one topic and session."""
    max_per_hour: Annotated[int, Meta(ge=1, le=1000)] = 20
    """Notices per hour, whatever they are about."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """One notice. Never holds content of the session."""

    topic: str
    title: str
    text: str
    level: Level
    session: SessionId
    time: float
    """Unix time in seconds."""
    held_back: int = 0
    """Notices of this topic and session that came too soon after the one before and were not sent."""


class Noticing:
    """Decides, effect by effect."""

    def __init__(self, settings: NotifySettings, wording: Wording) -> None:
        self._settings = settings
        self._wording = wording
        self._sent: dict[tuple[str, SessionId], float] = {}
        self._held: dict[tuple[str, SessionId], int] = {}
        self._hour: deque[float] = deque()

    def decide(self, effect: Effect, now: float) -> Notice | None:
        """The notice that ``effect`` is worth, or None: not worth one, or too many of late."""
        topic, text, level = self._worth(effect)
        if topic not in self._settings.topics:
            return None
        about = (topic, effect.session)
        while self._hour and now - self._hour[0] >= HOUR:
            self._hour.popleft()
        if self._too_soon(about, now):
            if about in self._sent:
                self._held[about] = self._held.get(about, 0) + 1
            return None
        self._forget(now)
        self._sent[about] = now
        self._hour.append(now)
        return Notice(
            topic=topic,
            title=self._wording.notice_title(topic),
            text=text or self._wording.notice_title(topic),
            level=level,
            session=effect.session,
            time=now,
            held_back=self._held.pop(about, 0),
        )

    def _worth(self, effect: Effect) -> tuple[str, str, Level]:
        """Topic (empty: none), text and level."""
        match effect:
            case Tell():
                return _TOLD.get(effect.topic, ""), effect.text, effect.level
            case Record(record=GoalRecord() as record):
                topic = _RECORDED.get(record.event, "")
                if record.event == "paused" and record.data.get("reason") in _BY_ITSELF:
                    topic = "goal.limit"
                return topic, "", Level.SUCCESS if topic == "goal.achieved" else Level.WARNING
            case Record(record=AgentSeen(connected=False)):
                # Nothing may be written to a screen that is the agent's.
                return "agent.unguarded", "", Level.ERROR
            case _:
                return "", "", Level.INFO

    def _too_soon(self, about: tuple[str, SessionId], now: float) -> bool:
        last = self._sent.get(about)
        return len(self._hour) >= self._settings.max_per_hour or (
            last is not None and now - last < self._settings.min_seconds
        )

    def _forget(self, now: float) -> None:
        """What is long past holds nothing back any more."""
        kept = max(self._settings.min_seconds, HOUR)
        self._sent = {about: at for about, at in self._sent.items() if now - at < kept}
        self._held = {about: count for about, count in self._held.items() if about in self._sent}
