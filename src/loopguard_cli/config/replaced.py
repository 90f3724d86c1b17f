"""The options of the plugins that loopguard replaces, and what each is called here.

docs/migrating.md is made from these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from loopguard_cli.core.settings import Preset


class Option(NamedTuple):
    key: str
    """Ours, dotted."""
    change: Callable[[Any], Any] = lambda value: value
    note: str = ""
    """How its values differ."""


class Plugin(NamedTuple):
    name: str
    """Of its package."""
    preset: Preset | None
    """The preset that behaves as it did."""
    options: Mapping[str, Option]
    """By its own name; options of an inner object are dotted."""
    dropped: Mapping[str, str]
    """Options without counterpart, and why."""


def seconds(milliseconds: Any) -> Any:
    number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    return milliseconds / 1000 if number else milliseconds


def _in_seconds(key: str) -> Option:
    return Option(key, seconds, "in seconds")


def _off_if_false(value: Any) -> Any:
    """``enabled`` says something only when it is false."""
    return {False: "off", True: None}.get(value, value) if isinstance(value, bool) else value


def _built_in(value: Any) -> Any:
    return {False: "none", True: "builtin"}.get(value, value) if isinstance(value, bool) else value


PI = Plugin(
    name="pi-loop-guard",
    preset=Preset.PI,
    options={
        "mode": Option("guard.mode"),
        "locale": Option("guard.locale"),
        "maxTurns": Option("guard.pace.turns"),
        "turnTimeoutMs": _in_seconds("guard.pace.seconds"),
        "repeatToolThreshold": Option("guard.calls.consecutive_threshold"),
        "repeatErrorThreshold": Option("guard.calls.error_threshold"),
        "repeatAssistantThreshold": Option("guard.text.response_threshold"),
        "cycleRepeats": Option("guard.calls.cycle_repeats"),
        "maxCycleLength": Option("guard.calls.max_cycle_length"),
        "repeatFrequencyThreshold": Option("guard.calls.frequency_threshold"),
        "frequencyWindowSize": Option("guard.calls.frequency_window"),
        "ignoreTools": Option("guard.calls.ignore_tools"),
        "toolThresholdOverrides": Option("guard.calls.tool_thresholds"),
        "enabled": Option("guard.mode", _off_if_false, "false is off"),
    },
    dropped={},
)

PI_VARIABLES: Mapping[str, str] = {
    "PI_LOOP_GUARD_MODE": "mode",
    "PI_LOOP_GUARD_LOCALE": "locale",
    "PI_LOOP_GUARD_MAX_TURNS": "maxTurns",
    "PI_LOOP_GUARD_TURN_TIMEOUT_MS": "turnTimeoutMs",
    "PI_LOOP_GUARD_REPEAT_TOOL": "repeatToolThreshold",
    "PI_LOOP_GUARD_REPEAT_ERROR": "repeatErrorThreshold",
    "PI_LOOP_GUARD_REPEAT_ASSISTANT": "repeatAssistantThreshold",
    "PI_LOOP_GUARD_CYCLE_REPEATS": "cycleRepeats",
    "PI_LOOP_GUARD_MAX_CYCLE_LENGTH": "maxCycleLength",
    "PI_LOOP_GUARD_REPEAT_FREQUENCY": "repeatFrequencyThreshold",
    "PI_LOOP_GUARD_FREQUENCY_WINDOW": "frequencyWindowSize",
    "PI_LOOP_GUARD_IGNORE_TOOLS": "ignoreTools",
    "PI_LOOP_GUARD_TOOL_OVERRIDES": "toolThresholdOverrides",
}
"""The variables of pi-loop-guard; lists and tables are written as in ours."""

INFINITY = Plugin(
    name="opencode-infinity-loop-guard",
    preset=Preset.INFINITY,
    options={
        "threshold": Option("guard.calls.repeat_threshold"),
        "windowMs": _in_seconds("guard.calls.repeat_window_seconds"),
        "streamGuard": Option("guard.text.enabled"),
        "streamThreshold": Option("guard.text.threshold"),
        "streamRecovery": Option("guard.recovery.enabled"),
        "streamMaxRecoveries": Option("guard.recovery.max_continuations"),
        "streamIdleWaitMs": _in_seconds("guard.recovery.idle_wait_seconds"),
    },
    dropped={
        "logFile": "events go to the ledger; 'loopguard history' shows them",
        "notify": "had no effect there either",
    },
)

GOAL = Plugin(
    name="opencode-goal-plugin",
    preset=None,
    options={
        "maxTurns": Option("goal.max_turns"),
        "maxDurationMs": _in_seconds("goal.max_seconds"),
        "maxTokens": Option("goal.max_tokens"),
        "minDelayMs": _in_seconds("goal.cooldown_seconds"),
        "noProgressTokenThreshold": Option("goal.no_progress_threshold"),
        "noProgressTurnsBeforePause": Option("goal.no_progress_turns"),
        "noToolCallTurnsBeforePause": Option("goal.no_tool_turns"),
        "budgetWrapupRatio": Option("goal.wrapup_ratio"),
        "maxPromptFailures": Option("goal.max_prompt_failures"),
        "warnTurnsRemaining": Option("goal.warn_turns"),
        "warnDurationMsRemaining": _in_seconds("goal.warn_seconds"),
        "warnTokensRemaining": Option("goal.warn_tokens"),
        "resultRetentionMs": _in_seconds("goal.retention_seconds"),
        "maxStoredResults": Option("goal.max_results"),
        "commandName": Option("goal.command_name"),
        "auditMessages": Option("goal.audit_messages"),
        "completionAudit": Option("goal.audit", _built_in, 'true is "builtin"'),
        "auditorOptions.timeoutMs": _in_seconds("goal.audit_timeout"),
        "auditorOptions.failurePolicy": Option("goal.audit_on_failure"),
    },
    dropped={
        "maxRecentMessages": "every message is seen as it comes; none are looked up",
        "auditor": "a function cannot be taken over; goal.audit_command names a program",
        "auditMessenger": "a function cannot be taken over",
        "registerCommand": "the command belongs to the run, and ends with it",
        "registerTools": "the tools belong to the run, and end with it",
        "registerAgents": "no agents are added",
        "goalAgentName": "no agents are added",
        "verifierAgentName": "no agents are added",
        "sdkShape": "the bridge finds out by itself",
        "persistState": "goals always survive",
        "stateFilePath": "LOOPGUARD_STATE_DIR names the state folder",
        "ledgerMaxBytes": "the ledger rotates at 2 MiB",
        "ledgerRetentionFiles": "three former generations are kept",
    },
)

PLUGINS = (PI, INFINITY, GOAL)
