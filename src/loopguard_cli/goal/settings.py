"""Settings of the goal loop: the ``[goal]`` table, typed, with ranges; `config` fills them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from loopguard_cli.goal.model import Limits

Positive = Annotated[int, Meta(ge=1, le=2**53 - 1)]
NonNegative = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Seconds = Annotated[float, Meta(gt=0, le=1e9)]


class Audit(StrEnum):
    """Who looks at a completion besides the evidence gate and the checks."""

    NONE = "none"
    BUILTIN = "builtin"
    """A child session of the agent that may only read."""
    COMMAND = "command"
    """A program of the user's."""


class OnFailure(StrEnum):
    """What an auditor that cannot work means."""

    REJECT = "reject"
    APPROVE = "approve"


class GoalSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Defaults for every goal, and rules for all."""

    max_turns: Positive = 10
    """Continuations of one goal."""
    max_seconds: Seconds = 900.0
    """Working time of one goal; the clock stands while the goal does."""
    max_tokens: Positive = 200_000
    """Size of one request, not a sum."""
    max_total_tokens: NonNegative = 0
    """Sum over all requests. 0 = no limit."""
    max_cost: Annotated[float, Meta(ge=0)] = 0.0
    """As the agent reports it, usually in US dollars. 0 = no limit."""
    cooldown_seconds: Seconds = 1.5
    """Least time between two continuations."""
    max_cooldown_seconds: Seconds = 600.0
    """Where doubling after fruitless turns and failed prompts ends."""
    no_progress_threshold: Positive = 50
    """A turn with fewer output tokens, and nothing new, is a stalled one."""
    no_progress_turns: Positive = 2
    """Stalled turns in a row that pause the goal."""
    no_tool_turns: NonNegative = 2
    """Continuations in a row without a tool call that pause the goal. 0 = turns without tools are fine."""
    wrapup_ratio: Annotated[float, Meta(gt=0, lt=1)] = 0.8
    """Share of ``max_tokens`` at which the one handoff prompt is sent."""
    warn_turns: NonNegative = 3
    """The agent is told when so few continuations remain."""
    warn_seconds: Annotated[float, Meta(ge=0)] = 60.0
    """The agent is told when so little working time remains."""
    warn_tokens: NonNegative = 25_000
    """The agent is told when so few tokens of ``max_tokens`` remain."""
    max_prompt_failures: Positive = 3
    """Prompts that could not be delivered, and, counted apart, claims without proof."""
    max_check_failures: Positive = 5
    """Claims refused in a row by a check before the goal pauses."""
    pause_on_message: bool = True
    """A person's message pauses the goal; off: it steers the goal."""
    retention_seconds: Seconds = 7 * 86_400.0
    """How long the result of an ended goal is shown."""
    max_results: Positive = 200
    """How many results are kept."""
    audit: Audit = Audit.NONE
    """Who looks at a completion besides the evidence gate and the checks."""
    audit_command: str = ""
    """The auditor's command line, for ``audit = "command"``. Not taken from project files."""
    audit_timeout: Seconds = 120.0
    """Seconds an audit may take."""
    audit_on_failure: OnFailure = OnFailure.REJECT
    """What it means when the auditor cannot work."""
    audit_messages: bool = True
    """Tell the person that an audit begins, and how it ended."""
    notices: bool = True
    """Tell the person what happens to the goal."""
    command_name: str = "goal"
    """Name of the slash command inside the agent."""

    @property
    def limits(self) -> Limits:
        """The limits of a goal for which nothing else was said."""
        return Limits(
            turns=self.max_turns,
            seconds=self.max_seconds,
            context_tokens=self.max_tokens,
            total_tokens=self.max_total_tokens,
            cost=self.max_cost,
            cooldown=self.cooldown_seconds,
            low_output=self.no_progress_threshold,
            low_output_turns=self.no_progress_turns,
            talk_turns=self.no_tool_turns,
        )


_TYPES = {field.name: field.type for field in msgspec.structs.fields(GoalSettings)}


def tolerant(values: Mapping[str, Any]) -> tuple[GoalSettings, tuple[str, ...]]:
    """Settings from ``values``; a bad value falls back to its default and is named in the second result.

    For sources that must never keep a run from starting; files and flags are checked strictly.
    """
    good: dict[str, Any] = {}
    bad: list[str] = []
    for name, value in values.items():
        try:
            good[name] = msgspec.convert(value, _TYPES[name])
        except (KeyError, msgspec.ValidationError):
            bad.append(name)
    return GoalSettings(**good), tuple(bad)
