from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopguard_cli.config import importing, replaced, schema, write
from loopguard_cli.config.load import load_for
from loopguard_cli.core.settings import GuardSettings, Mode, Preset
from loopguard_cli.errors import ConfigError

PI = {
    "mode": "observe",
    "locale": "ko",
    "maxTurns": 20,
    "turnTimeoutMs": 240_000,
    "repeatToolThreshold": 4,
    "repeatErrorThreshold": 5,
    "repeatAssistantThreshold": 6,
    "cycleRepeats": 7,
    "maxCycleLength": 2,
    "repeatFrequencyThreshold": 8,
    "frequencyWindowSize": 12,
    "ignoreTools": ["sleep"],
    "toolThresholdOverrides": {"bash": 2},
}
INFINITY = {
    "threshold": 4,
    "windowMs": 30_000,
    "streamGuard": False,
    "streamThreshold": 5,
    "streamRecovery": False,
    "streamMaxRecoveries": 1,
    "streamIdleWaitMs": 500,
    "logFile": "x.log",
    "notify": True,
}
GOAL = {
    "maxTurns": 20,
    "maxDurationMs": 600_000,
    "maxTokens": 1000,
    "minDelayMs": 2500,
    "maxRecentMessages": 50,
    "noProgressTokenThreshold": 40,
    "noProgressTurnsBeforePause": 3,
    "noToolCallTurnsBeforePause": 0,
    "budgetWrapupRatio": 0.7,
    "maxPromptFailures": 4,
    "warnTurnsRemaining": 2,
    "warnDurationMsRemaining": 30_000,
    "warnTokensRemaining": 9,
    "resultRetentionMs": 60_000,
    "maxStoredResults": 5,
    "commandName": "objective",
    "auditMessages": False,
    "completionAudit": True,
    "auditorOptions": {"timeoutMs": 60_000, "failurePolicy": "approve"},
    "persistState": True,
}


def imported(tmp_path: Path, document: object) -> GuardSettings:
    """The settings of a project after an import."""
    file = tmp_path / "old.json"
    file.write_text(json.dumps(document))
    write.put(tmp_path / "loopguard.toml", importing.read(file).values)
    return load_for(tmp_path, environ={"XDG_CONFIG_HOME": str(tmp_path)}).settings.guard


def test_every_option_of_pi_loop_guard(tmp_path: Path) -> None:
    guard = imported(tmp_path, PI)
    calls = guard.calls
    assert (guard.preset, guard.mode, guard.locale) == (Preset.PI, Mode.OBSERVE, "ko")
    assert (guard.pace.turns, guard.pace.seconds) == (20, 240.0)
    assert (calls.consecutive_threshold, calls.error_threshold, guard.text.response_threshold) == (4, 5, 6)
    assert (calls.cycle_repeats, calls.max_cycle_length) == (7, 2)
    assert (calls.frequency_threshold, calls.frequency_window) == (8, 12)
    assert (calls.ignore_tools, calls.tool_thresholds) == (("sleep",), {"bash": 2})


def test_enabled_false_is_mode_off_and_enabled_true_says_nothing(tmp_path: Path) -> None:
    assert imported(tmp_path, {"enabled": False, "mode": "on"}).mode is Mode.OFF
    assert imported(tmp_path, {"enabled": True, "mode": "observe"}).mode is Mode.OBSERVE


def test_every_option_of_the_infinity_guard(tmp_path: Path) -> None:
    guard = imported(tmp_path, INFINITY)
    assert (guard.preset, guard.calls.repeat_threshold) == (Preset.INFINITY, 4)
    assert guard.calls.repeat_window_seconds == 30.0
    assert (guard.text.enabled, guard.text.threshold) == (False, 5)
    assert (guard.recovery.enabled, guard.recovery.max_continuations) == (False, 1)
    assert guard.recovery.idle_wait_seconds == 0.5


def test_every_option_of_the_goal_plugin(tmp_path: Path) -> None:
    guard = imported(tmp_path, GOAL)
    goal = load_for(tmp_path, environ={"XDG_CONFIG_HOME": str(tmp_path)}).settings.goal
    assert guard == GuardSettings()
    assert (goal.max_turns, goal.max_seconds, goal.max_tokens, goal.cooldown_seconds) == (
        20,
        600.0,
        1000,
        2.5,
    )
    assert (goal.no_progress_threshold, goal.no_progress_turns, goal.no_tool_turns) == (40, 3, 0)
    assert (goal.wrapup_ratio, goal.max_prompt_failures, goal.retention_seconds) == (0.7, 4, 60.0)
    assert (goal.warn_turns, goal.warn_seconds, goal.warn_tokens, goal.max_results) == (2, 30.0, 9, 5)
    assert (goal.command_name, goal.audit_messages) == ("objective", False)
    assert (goal.audit, goal.audit_timeout, goal.audit_on_failure) == ("builtin", 60.0, "approve")


def test_several_plugins_of_one_list_are_all_taken_over(tmp_path: Path) -> None:
    guard = imported(
        tmp_path,
        {"plugin": [["opencode-goal-plugin@1.0.0", {"maxTurns": 7}], ["opencode-infinity-loop-guard", {}]]},
    )
    goal = load_for(tmp_path, environ={"XDG_CONFIG_HOME": str(tmp_path)}).settings.goal
    assert (guard.preset, goal.max_turns) == (Preset.INFINITY, 7)


def test_what_has_no_counterpart_is_said() -> None:
    notes = importing.translate(replaced.INFINITY, INFINITY, "f").notes
    assert [note.split(":")[0] for note in notes] == ["logFile", "notify"]


@pytest.mark.parametrize("name", ["opencode-infinity-loop-guard", "opencode-infinity-loop-guard@1.2.3"])
def test_options_are_found_in_opencode_json(tmp_path: Path, name: str) -> None:
    guard = imported(tmp_path, {"model": "x", "plugin": ["other", [name, {"threshold": 6}]]})
    assert (guard.preset, guard.calls.repeat_threshold) == (Preset.INFINITY, 6)


def test_a_plugin_without_options_brings_the_preset(tmp_path: Path) -> None:
    assert imported(tmp_path, {"plugin": ["opencode-infinity-loop-guard"]}).preset is Preset.INFINITY


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", ":1: not JSON"),
        ("{\n 'a': 1}", ":2: not JSON"),
        ("[]", "expected a JSON object"),
        ('{"maxTurn": 3}', "unknown option 'maxTurn' (did you mean 'maxTurns'?)"),
        ('{"plugin": ["other"]}', "none of the replaced plugins"),
        ('{"plugin": 3}', "none of the replaced plugins"),
        ('{"maxTurns": -1}', "maxTurns: expected a whole number of at least 0, got -1"),
        ('{"turnTimeoutMs": "soon"}', "at least 0, got 'soon' (in seconds)"),
        ('{"streamThreshold": 11}', "streamThreshold: expected a whole number from 3 to 10, got 11"),
        ('{"streamMaxRecoveries": 6}', "streamMaxRecoveries: expected a whole number from 0 to 5, got 6"),
        ('{"streamIdleWaitMs": 99}', "streamIdleWaitMs: expected a number from 0.1 to 60, got 0.099"),
        ('{"windowMs": 0}', "windowMs: expected a number above 0, got 0.0"),
        ('{"threshold": 1}', "threshold: expected a whole number from 2 to 1000, got 1"),
        ('{"enabled": "no", "mode": "on"}', "enabled: expected one of on, observe, off, got 'no'"),
        ("[" * 100_000, "nested too deeply"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_place_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "old.json"
    file.write_text(text[: 60 * 1024])
    with pytest.raises(ConfigError) as caught:
        importing.read(file)
    assert str(caught.value).startswith(str(file))
    assert message in str(caught.value)


def test_a_missing_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        importing.read(tmp_path / "none.json")


def test_all_targets_are_settings() -> None:
    targets = {option.key for plugin in replaced.PLUGINS for option in plugin.options.values()}
    assert targets <= schema.leaves().keys()
    assert set(replaced.PI_VARIABLES.values()) == replaced.PI.options.keys() - {"enabled"}
