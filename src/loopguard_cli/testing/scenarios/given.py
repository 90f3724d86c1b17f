"""What a scenario is given: texts, and options under the names of the format."""

from __future__ import annotations

from typing import Any

from loopguard_cli.goal.settings import Audit, GoalSettings, OnFailure, tolerant
from loopguard_cli.testing.scenarios.host import Auditor


def text_of(value: Any) -> str:
    """A text of a scenario: plain, or prefix + repeat x count + suffix."""
    if isinstance(value, dict):
        middle = str(value.get("repeat", "")) * int(value.get("count", 1))
        return f"{value.get('prefix', '')}{middle}{value.get('suffix', '')}"
    return str(value)


_SETTINGS: dict[str, tuple[str, float]] = {
    "max_turns": ("max_turns", 1),
    "max_duration_ms": ("max_seconds", 1e-3),
    "max_tokens": ("max_tokens", 1),
    "min_delay_ms": ("cooldown_seconds", 1e-3),
    "no_progress_token_threshold": ("no_progress_threshold", 1),
    "no_progress_turns": ("no_progress_turns", 1),
    "no_tool_turns": ("no_tool_turns", 1),
    "interrupt_on_user_message": ("pause_on_message", 1),
    "budget_wrapup_ratio": ("wrapup_ratio", 1),
    "warn_turns_remaining": ("warn_turns", 1),
    "warn_ms_remaining": ("warn_seconds", 1e-3),
    "warn_tokens_remaining": ("warn_tokens", 1),
    "max_prompt_failures": ("max_prompt_failures", 1),
    "result_retention_ms": ("retention_seconds", 1e-3),
    "max_stored_results": ("max_results", 1),
    "audit_messages": ("audit_messages", 1),
    "lifecycle_messages": ("notices", 1),
}


def settings_of(given: dict[str, Any], auditor: Auditor) -> tuple[GoalSettings, tuple[str, ...]]:
    """The settings that ``given`` of a scenario asks for."""
    values: dict[str, Any] = {}
    for name, (ours, scale) in _SETTINGS.items():
        if name in given:
            value = given[name]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            values[ours] = value * scale if number and scale != 1 else value
    if auditor.present:
        values["audit"] = Audit.BUILTIN if auditor.builtin else Audit.COMMAND
        values["audit_command"] = "" if auditor.builtin else "auditor"
        values["audit_timeout"] = auditor.timeout_ms / 1000
        values["audit_on_failure"] = OnFailure(auditor.failure_policy)
    return tolerant(values)
