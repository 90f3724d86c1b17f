"""Which changes of settings would loosen the guard.

A settings file can be written by the agent itself. So while an agent runs, a changed file may tighten
the guard at once; what loosens it needs a word from outside the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from loopguard_cli.config import schema
from loopguard_cli.core.settings import GuardSettings, Mode, RuleAction

_Judge = Callable[[Any, Any], bool]
"""Whether going from the first value to the second loosens the guard."""


def _never(_old: Any, _new: Any) -> bool:
    return False


def _changed(old: Any, new: Any) -> bool:
    return bool(old != new)


def _raised(old: Any, new: Any) -> bool:
    return bool(new > old)


def _lowered(old: Any, new: Any) -> bool:
    return bool(new < old)


def _limit_raised(old: float, new: float) -> bool:
    """0 is no limit."""
    return bool(old) and (not new or new > old)


def _mode(old: Mode, new: Mode) -> bool:
    order = (Mode.OFF, Mode.OBSERVE, Mode.ON)
    return order.index(new) < order.index(old)


def _tools(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    return not set(new) <= set(old)


def _rules(old: Mapping[str, RuleAction], new: Mapping[str, RuleAction]) -> bool:
    """A rule without an entry has no bound, which is the strongest."""
    order = list(RuleAction)

    def bound(table: Mapping[str, RuleAction], rule: str) -> int:
        return order.index(table[rule]) if rule in table else len(order)

    return any(bound(new, rule) < bound(old, rule) for rule in {*old, *new})


def _thresholds(old: Mapping[str, int], new: Mapping[str, int]) -> bool:
    """A new entry may be looser than the general threshold; losing one may be as well."""
    return any(tool not in old or tool not in new or new[tool] > old[tool] for tool in {*old, *new})


JUDGES: Mapping[str, _Judge] = {
    "guard.mode": _mode,
    "guard.preset": _changed,
    "guard.locale": _never,
    "guard.hint": _lowered,
    "guard.fail_closed": _lowered,
    "guard.rules": _rules,
    "guard.calls.repeat_threshold": _raised,
    "guard.calls.repeat_window_seconds": _lowered,
    "guard.calls.consecutive_threshold": _raised,
    "guard.calls.tool_thresholds": _thresholds,
    "guard.calls.ignore_tools": _tools,
    "guard.calls.cycle_repeats": _raised,
    "guard.calls.max_cycle_length": _lowered,
    "guard.calls.frequency_threshold": _raised,
    "guard.calls.frequency_window": _lowered,
    "guard.calls.error_threshold": _raised,
    "guard.calls.fruitless_edit_cycles": _raised,
    "guard.calls.blocked_retries": _raised,
    "guard.text.enabled": _lowered,
    "guard.text.threshold": _raised,
    "guard.text.response_threshold": _raised,
    "guard.recovery.enabled": _raised,
    "guard.recovery.max_continuations": _raised,
    "guard.recovery.idle_wait_seconds": _never,
    "guard.recovery.trim": _never,
    "guard.pace.turns": _limit_raised,
    "guard.pace.seconds": _limit_raised,
    "guard.caps.calls": _limit_raised,
    "guard.caps.turns": _limit_raised,
    "guard.caps.tokens": _limit_raised,
    "guard.caps.cost": _limit_raised,
    "guard.caps.minutes": _limit_raised,
}
"""One judge per setting of the guard; a test holds the table complete."""


def weakened(old: GuardSettings, new: GuardSettings) -> tuple[str, ...]:
    """Keys of the settings in which ``new`` guards less than ``old``."""
    return tuple(
        key
        for key, loosens in JUDGES.items()
        if loosens(schema.value_of(old, key), schema.value_of(new, key))
    )
