"""Settings of the guards that loopguard replaces, as ours.

Two option sets are understood, told apart by their names: ``.pi/loop-guard.json`` of pi-loop-guard,
and the options of opencode-infinity-loop-guard (as an object, or as the entry of a ``plugin`` list
in ``opencode.json``). docs/migrating.md has the same tables for people.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from loopguard_cli.config import schema, sources
from loopguard_cli.core.settings import Preset
from loopguard_cli.errors import ConfigError


class Imported(NamedTuple):
    preset: Preset
    """The preset that behaves as the replaced guard did."""
    values: dict[tuple[str, ...], Any]
    """Plain values by path, ready for `write.put`."""
    notes: tuple[str, ...]
    """What has no counterpart, and why."""


class _Option(NamedTuple):
    key: str
    """Ours, dotted."""
    change: Callable[[Any], Any] = lambda value: value


def _seconds(milliseconds: Any) -> Any:
    return milliseconds / 1000 if _is_number(milliseconds) else milliseconds


PI_OPTIONS: Mapping[str, _Option] = {
    "mode": _Option("guard.mode"),
    "locale": _Option("guard.locale"),
    "maxTurns": _Option("guard.pace.turns"),
    "turnTimeoutMs": _Option("guard.pace.seconds", _seconds),
    "repeatToolThreshold": _Option("guard.calls.consecutive_threshold"),
    "repeatErrorThreshold": _Option("guard.calls.error_threshold"),
    "repeatAssistantThreshold": _Option("guard.text.response_threshold"),
    "cycleRepeats": _Option("guard.calls.cycle_repeats"),
    "maxCycleLength": _Option("guard.calls.max_cycle_length"),
    "repeatFrequencyThreshold": _Option("guard.calls.frequency_threshold"),
    "frequencyWindowSize": _Option("guard.calls.frequency_window"),
    "ignoreTools": _Option("guard.calls.ignore_tools"),
    "toolThresholdOverrides": _Option("guard.calls.tool_thresholds"),
}

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
"""The variables of pi-loop-guard; their values use the text forms of our own variables."""

INFINITY_OPTIONS: Mapping[str, _Option] = {
    "threshold": _Option("guard.calls.repeat_threshold"),
    "windowMs": _Option("guard.calls.repeat_window_seconds", _seconds),
    "streamGuard": _Option("guard.text.enabled"),
    "streamThreshold": _Option("guard.text.threshold"),
    "streamRecovery": _Option("guard.recovery.enabled"),
    "streamMaxRecoveries": _Option("guard.recovery.max_continuations"),
    "streamIdleWaitMs": _Option("guard.recovery.idle_wait_seconds", _seconds),
}

WITHOUT_COUNTERPART: Mapping[str, str] = {
    "logFile": "events go to the ledger; 'loopguard history' shows them",
    "notify": "had no effect there either",
}

INFINITY_PACKAGE = "opencode-infinity-loop-guard"


def read(path: Path) -> Imported:
    """Read a file of either guard. `ConfigError` names the file and the option at fault."""
    text = sources.read_text(path)
    if text is None:
        raise ConfigError(f"{path}: no such file", "name the old guard's JSON file")
    try:
        document = json.loads(text)
    except RecursionError:
        raise ConfigError(f"{path}: values nested too deeply") from None
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        what = getattr(error, "msg", "") or str(error).split(";")[0]
        place = f"{path}:{line}" if line else str(path)
        raise ConfigError(f"{place}: not JSON: {what[:1].lower()}{what[1:]}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: expected a JSON object of options")
    options = _plugin_entry(document, path) if "plugin" in document else document
    return translate(options, str(path))


def translate(options: Mapping[str, Any], place: str) -> Imported:
    """Options of either guard as our values. ``place`` names them in errors."""
    known = PI_OPTIONS.keys() | {"enabled"}
    is_pi = len(options.keys() & known) >= len(options.keys() & INFINITY_OPTIONS.keys())
    table = PI_OPTIONS if is_pi else INFINITY_OPTIONS
    preset = Preset.PI if is_pi else Preset.INFINITY
    values: dict[tuple[str, ...], Any] = {("guard", "preset"): preset.value}
    notes = []
    for name, value in options.items():
        if name in table:
            key, change = table[name]
            values[tuple(key.split("."))] = _checked(f"{place}: {name}", key, value, change)
        elif name in WITHOUT_COUNTERPART and not is_pi:
            notes.append(f"{name}: {WITHOUT_COUNTERPART[name]}")
        elif name == "enabled" and is_pi:
            if not isinstance(value, bool):
                raise ConfigError(f"{place}: enabled: expected true or false, got {value!r:.40}")
        else:
            near = schema.near(name, [*table, *WITHOUT_COUNTERPART])
            raise ConfigError(f"{place}: unknown option {name!r}", near and f"did you mean {near!r}?")
    if is_pi and options.get("enabled") is False:
        values["guard", "mode"] = "off"
    return Imported(preset, values, tuple(notes))


def _checked(place: str, key: str, value: Any, change: Callable[[Any], Any]) -> Any:
    leaf = schema.leaves()[key]
    try:
        schema.convert(leaf.type, change(value))
    except ValueError as error:
        unit = " (in seconds here)" if change is _seconds else ""
        raise ConfigError(f"{place}: {error}{unit}") from None
    return change(value)


def _plugin_entry(document: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    entries = document["plugin"] if isinstance(document["plugin"], list) else []
    for entry in entries:
        name, options = entry if isinstance(entry, list) and len(entry) == 2 else (entry, {})
        if isinstance(name, str) and name.split("@")[0] == INFINITY_PACKAGE and isinstance(options, dict):
            return options or {"streamGuard": True}
    raise ConfigError(f"{path}: no entry of {INFINITY_PACKAGE} among its plugins")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
