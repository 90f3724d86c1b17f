"""Programs that no adapter knows: started as they are, unguarded, and told so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loopguard_cli.agents.base import Answer, BridgeAddress, Form, Hello, LaunchPlan
from loopguard_cli.core.effects import Effect, Prompt
from loopguard_cli.core.events import AgentExited, Event
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.errors import UsageError


class Plain:
    """Any program."""

    name = "none"
    messages: Any = Hello
    capabilities = Capabilities()

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = tuple(argv)

    def launch(self, _environ: Mapping[str, str], _address: BridgeAddress) -> LaunchPlan:
        remark = f"no adapter knows {self._argv[0]!r}, so it runs unguarded (--agent names one)"
        return LaunchPlan(argv=self._argv, form=Form.PLAIN, bridged=False, remarks=(remark,))

    def relaunch(self, _environ: Mapping[str, str], _address: BridgeAddress, _prompt: Prompt) -> LaunchPlan:
        raise UsageError("only an agent that an adapter knows can be continued")

    def greet(self, _peer: int, _hello: Hello) -> Answer:
        return Answer()

    def receive(self, _peer: int, _message: Any) -> Sequence[Event]:
        return ()

    def carry_out(self, _effect: Effect) -> Answer:
        return Answer()

    def lost(self, _peer: int, _reason: str) -> Sequence[Event]:
        return ()

    def exited(self, code: int) -> Sequence[Event]:
        return (AgentExited(code=code),)
