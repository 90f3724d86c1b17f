"""Whether the agent is connected, and when its absence is worth a word.

A connection closes at every normal end, just before the process does; only one that stays away
while the agent lives on means that it runs unguarded.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopguard_cli.core.effects import Effect, Level, Record, Tell
from loopguard_cli.core.events import AgentConnected, AgentDisconnected, AgentExited, Event
from loopguard_cli.core.records import AgentSeen
from loopguard_cli.core.wording import Wording

PATIENCE_SECONDS = 3.0
"""For an exit to follow, or for the bridge to reconnect (it tries again within 0.1 to 2 s)."""


class Presence:
    """The connection to the agent of one run."""

    def __init__(self) -> None:
        self.connected = False
        self.agent = self.version = ""
        self._due: float | None = None
        self._reason = ""
        self._missed = False
        """The person was told that the agent is unguarded."""

    def deadline(self) -> float | None:
        return self._due

    def receive(self, event: Event, wording: Wording, now: float) -> Iterator[Effect]:
        match event:
            case AgentConnected():
                self.connected, self._due = True, None
                self.agent, self.version = event.agent, event.version or self.version
                yield Record(record=AgentSeen(connected=True, agent=event.agent, version=self.version))
                if self._missed:
                    self._missed = False
                    text = wording.guarded_again(self.agent)
                    yield Tell(level=Level.SUCCESS, topic="agent.back", text=text)
            case AgentDisconnected(bypassed=True):
                self.connected, self._due, self._missed = False, None, True
                yield Record(record=AgentSeen(connected=False, agent=self.agent, reason=event.reason))
                text = wording.bypassed(self.agent, event.reason)
                yield Tell(level=Level.ERROR, topic="agent.lost", text=text)
            case AgentDisconnected() if self.connected:
                self.connected, self._reason, self._due = False, event.reason, now + PATIENCE_SECONDS
            case AgentDisconnected():
                # It never said hello; whoever waited for that has told the person.
                yield Record(record=AgentSeen(connected=False, agent=self.agent, reason=event.reason))
            case AgentExited():
                self.connected, self._due = False, None
            case _:
                pass

    def tick(self, wording: Wording, now: float) -> Iterator[Effect]:
        if self._due is None or now < self._due:
            return
        self._due, self._missed = None, True
        yield Record(record=AgentSeen(connected=False, agent=self.agent, reason=self._reason))
        yield Tell(level=Level.ERROR, topic="agent.lost", text=wording.unguarded(self.agent))
