"""An adapter: what every one provides, and what some provide besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from loopguard_cli.agents.base.bridged import Hello
from loopguard_cli.agents.base.launching import BridgeAddress, LaunchPlan
from loopguard_cli.agents.base.orders import Answer
from loopguard_cli.core.effects import Effect, Prompt, RunAudit
from loopguard_cli.core.events import Event
from loopguard_cli.core.settings import Capabilities


class Adapter(Protocol):
    """One agent. One instance serves one run."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities:
        """Of this launch, not of the agent in general."""

    @property
    def messages(self) -> Any:
        """The union of message types that its bridge sends after `Hello`, for `wire.ndjson.Decoder`."""

    def launch(self, environ: Mapping[str, str], address: BridgeAddress) -> LaunchPlan:
        """The first start."""

    def relaunch(self, environ: Mapping[str, str], address: BridgeAddress, prompt: Prompt) -> LaunchPlan:
        """With ``respawn``: the invocation that goes on in ``prompt.session`` with ``prompt.text``."""

    def greet(self, peer: int, hello: Hello) -> Answer:
        """A bridge was let in. ``peer`` numbers the connection; orders are sent with the welcome."""

    def receive(self, peer: int, message: Any) -> Sequence[Event]:
        """What one message means."""

    def carry_out(self, effect: Effect) -> Answer:
        """What ``effect`` means to the agent. What cannot reach it is settled as failed at once."""

    def lost(self, peer: int, reason: str) -> Sequence[Event]:
        """The connection is gone; what it still owes is settled when the agent is back or gone."""

    def exited(self, code: int) -> Sequence[Event]:
        """The agent's process is gone. The code of the `AgentExited` among these is the run's."""


@runtime_checkable
class Opened(Protocol):
    """An agent that can be given its first prompt where the command line has none."""

    opening: str
    """Set before `Adapter.launch`; empty: there is none to give."""


@runtime_checkable
class Auditing(Protocol):
    """An agent that can verify a goal in a process of its own."""

    def auditor(self, environ: Mapping[str, str], audit: RunAudit) -> LaunchPlan | None:
        """The agent once more, able to read and to do nothing else; None: `Adapter.carry_out` does it."""

    def verdict(self, output: str) -> str:
        """What the auditor said, from the standard output of its process."""
