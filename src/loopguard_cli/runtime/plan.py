"""What a run is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from loopguard_cli.agents.base import Adapter
from loopguard_cli.core.effects import Effect
from loopguard_cli.core.events import Event
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.runtime.clock import Clock
from loopguard_cli.runtime.goals import GoalKeeper
from loopguard_cli.runtime.perform import Store
from loopguard_cli.runtime.processes.evidence import Evidence
from loopguard_cli.runtime.processes.waited import Waited
from loopguard_cli.runtime.recording import Recording
from loopguard_cli.runtime.reload import Reload
from loopguard_cli.runtime.supervisor import Brain
from loopguard_cli.runtime.telling.outside import Outside
from loopguard_cli.runtime.telling.statusline import StatusLine

HELLO_SECONDS = 10.0
"""Without a hello by then the person is told to wait. OpenCode needs 1 to 7 s, and more on a busy machine."""


class Chore(NamedTuple):
    """Something small to be done again and again while the run lasts."""

    seconds: float
    do: Callable[[], Iterable[Event | Effect]]


class Plan(msgspec.Struct, kw_only=True):
    """What a run is made of. All of it decided before anything is started."""

    run: str
    adapter: Adapter
    hub: Brain
    settings: GuardSettings
    environ: Mapping[str, str]
    argv0: str
    sockets: Path | None
    """Folder for our sockets; None: loopback ports."""
    store: Store | None = None
    recording: Recording | None = None
    tool_word: str = ""
    """See `runtime.control.server.ControlServer`."""
    goals: GoalKeeper | None = None
    goal: str = ""
    """A goal to be set before the agent starts, in the grammar of ``/goal set``."""
    reload: Reload | None = None
    chores: Sequence[Chore] = ()
    evidence: Evidence | None = None
    """Looks at what the agent's processes do, for the watchdog."""
    status_line: StatusLine | None = None
    """Where to say how a run without a screen stands."""
    waiter: Waited | None = None
    """What the shell waits for in our place."""
    outside: Outside | None = None
    """Whom a person wants told beyond the terminal."""
    clock: Clock = msgspec.field(default_factory=Clock)
    hello_seconds: float = HELLO_SECONDS
