"""What an adapter answers where its agent has no bridge and is not started again: nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loopguard_cli.agents.base import Answer, BridgeAddress, Hello, LaunchPlan
from loopguard_cli.core.effects import Prompt
from loopguard_cli.core.events import Event
from loopguard_cli.errors import UsageError


class Unbridged:
    """The part of `agents.base.Adapter` that only a bridge or ``respawn`` needs."""

    messages: Any = Hello

    def relaunch(self, _environ: Mapping[str, str], _address: BridgeAddress, _prompt: Prompt) -> LaunchPlan:
        raise UsageError("this agent is prompted, not started again")

    def greet(self, _peer: int, _hello: Hello) -> Answer:
        return Answer()

    def receive(self, _peer: int, _message: Any) -> Sequence[Event]:
        return ()

    def lost(self, _peer: int, _reason: str) -> Sequence[Event]:
        return ()
