from __future__ import annotations

from typing import Any

import pytest

from loopguard_cli.config import schema
from loopguard_cli.config.load import load
from loopguard_cli.config.sources import from_flags
from loopguard_cli.config.weaken import JUDGES, weakened
from loopguard_cli.core.settings import GuardSettings


def guard(*assignments: str) -> GuardSettings:
    return load([from_flags(f"guard.{assignment}" for assignment in assignments)]).settings.guard


def test_every_setting_of_the_guard_is_judged() -> None:
    assert {key for key in schema.leaves() if key.startswith("guard.")} == JUDGES.keys()


@pytest.mark.parametrize(
    ("tight", "loose"),
    [
        ("mode=on", "mode=observe"),
        ("mode=observe", "mode=off"),
        ("hint=true", "hint=false"),
        ("calls.repeat_threshold=3", "calls.repeat_threshold=4"),
        ("calls.repeat_window_seconds=60", "calls.repeat_window_seconds=30"),
        ("calls.max_cycle_length=8", "calls.max_cycle_length=3"),
        ("calls.ignore_tools=a", "calls.ignore_tools=a,b"),
        ("calls.tool_thresholds=bash=2", "calls.tool_thresholds=bash=3"),
        ("rules=call-cycle=block", "rules=call-cycle=nudge"),
        ("hint=true", "rules=call-cycle=off"),
        ("text.enabled=true", "text.enabled=false"),
        ("recovery.max_continuations=1", "recovery.max_continuations=2"),
        ("caps.calls=10", "caps.calls=20"),
        ("caps.minutes=10", "caps.minutes=0"),
        ("pace.turns=5", "pace.turns=0"),
    ],
)
def test_one_way_loosens_and_the_way_back_does_not(tight: str, loose: str) -> None:
    (key,) = weakened(guard(tight), guard(loose))
    assert loose.startswith(key.removeprefix("guard."))
    assert weakened(guard(loose), guard(tight)) == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [("calls.tool_thresholds=bash=2", "hint=true"), ("hint=true", "calls.tool_thresholds=bash=2")],
)
def test_gaining_or_losing_a_tools_own_threshold_may_loosen(old: str, new: str) -> None:
    assert weakened(guard(old), guard(new)) == ("guard.calls.tool_thresholds",)


def test_another_preset_is_another_guard() -> None:
    assert "guard.preset" in weakened(guard(), guard("preset=infinity"))


def test_nothing_changed_loosens_nothing() -> None:
    settings: Any = guard("locale=ko", "calls.ignore_tools=a")
    assert weakened(settings, settings) == ()
    assert weakened(guard(), guard("locale=ko", "recovery.trim=false", "recovery.idle_wait_seconds=5")) == ()
