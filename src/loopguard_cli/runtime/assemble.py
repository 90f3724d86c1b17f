"""Puts the brain of a run together: the one place that knows all its parts."""

from __future__ import annotations

import secrets

from loopguard_cli.core.hub import Hub
from loopguard_cli.core.ports import GoalLoop
from loopguard_cli.core.settings import Capabilities, GuardSettings
from loopguard_cli.core.watchdog import WatchdogSettings
from loopguard_cli.detect.panel import Panels


def make_hub(
    settings: GuardSettings,
    capabilities: Capabilities,
    *,
    goals: GoalLoop | None = None,
    watchdog: WatchdogSettings | None = None,
    salt: str | None = None,
) -> Hub:
    """A hub with the real detectors. ``salt``: makes effect ids; random unless a replay gives one."""
    return Hub(
        settings,
        capabilities=capabilities,
        panels=Panels(mixed=capabilities.mixed),
        goals=goals,
        watchdog=watchdog,
        salt=secrets.token_hex(4) if salt is None else salt,
    )
