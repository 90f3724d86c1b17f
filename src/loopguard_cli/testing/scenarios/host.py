"""A scripted agent program: transcripts, statuses, and how it takes the effects of the goal loop."""

from __future__ import annotations

from typing import Any

from loopguard_cli.core.events import Origin, Status
from loopguard_cli.core.settings import Capabilities

START = 1_000_000
"""Virtual time at the beginning, in seconds."""
DEFAULT_SESSION = "s1"

ABLE = Capabilities(
    gate=True, text_deltas=True, reasoning=True, abort=True, prompt=True, nudge=True, trim=True,
    read_session=True, usage=True, child_sessions=True, tools=True, context=True, screen=True,
)  # fmt: skip


class Message:
    """One line of a transcript."""

    def __init__(self, name: str, role: str, origin: Origin = Origin.PERSON) -> None:
        self.name, self.role, self.origin = name, role, origin


class HostSession:
    """One conversation, as the agent program itself knows it."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.status = Status.IDLE
        self.agent = ""
        self.system = ""
        self.compaction = ""
        self.host_continues = True
        self.systems: list[str] = []
        """Every standing text so far."""
        self.prompts: list[Sent] = []
        self.aborts = 0

    def newest(self, role: str) -> Message | None:
        return next((m for m in reversed(self.messages) if m.role == role), None)


class Sent:
    """One prompt that was attempted."""

    def __init__(self, purpose: str, text: str, at: int) -> None:
        self.purpose, self.text, self.at = purpose, text, at


class Outcomes:
    """What becomes of the next prompts or reads: ``ok``, ``error`` or ``throw``; then always ok."""

    def __init__(self) -> None:
        self._plan: list[str] = []

    def plan(self, outcomes: list[str]) -> None:
        self._plan = list(outcomes)

    def next(self) -> str:
        return self._plan.pop(0) if self._plan else "ok"


class Auditor:
    """What the auditor of a scenario does."""

    def __init__(self, given: dict[str, Any] | None) -> None:
        self.present = given is not None
        self.builtin = False
        self.verdict, self.reason, self.text = "approve", "", ""
        self.failure_policy = "reject"
        self.timeout_ms = 120_000
        self.change(given or {})

    def change(self, given: dict[str, Any]) -> None:
        self.present = self.present or bool(given)
        self.builtin = bool(given.get("builtin", self.builtin))
        self.verdict = str(given.get("verdict", self.verdict))
        self.reason = str(given.get("reason", ""))
        self.text = str(given.get("text", ""))
        self.failure_policy = str(given.get("failure_policy", self.failure_policy))
        self.timeout_ms = int(given.get("timeout_ms", self.timeout_ms))
