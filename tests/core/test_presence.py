"""A lost connection is worth a word only while the agent lives on."""

from __future__ import annotations

from loopguard_cli.core.effects import Effect, Record, Tell
from loopguard_cli.core.events import AgentConnected, AgentDisconnected, AgentExited, Event
from loopguard_cli.core.presence import PATIENCE_SECONDS
from tests.core.playbook import Desk, of

HELLO = AgentConnected(agent="opencode", version="1.18.33")
LOST = AgentDisconnected(reason="closed")


def topics(effects: list[Effect]) -> list[str]:
    return [tell.topic for tell in of(effects, Tell)]


def later(desk: Desk, seconds: float) -> list[Effect]:
    desk.now += seconds
    return desk.hub.tick(desk.now)


def test_the_end_of_the_agent_is_no_loss() -> None:
    desk = Desk()
    assert topics(desk.send(HELLO, LOST, AgentExited(code=0))) == []
    assert desk.hub.deadline() is None
    assert later(desk, PATIENCE_SECONDS) == []


def test_a_reconnection_in_time_is_none_either() -> None:
    desk = Desk()
    again: Event = AgentConnected(agent="opencode", reconnected=True)
    assert topics(desk.send(HELLO, LOST, again)) == []
    assert later(desk, PATIENCE_SECONDS) == []
    assert desk.hub.presence.version == "1.18.33"


def test_an_agent_that_goes_on_alone_is_told_of_aloud_and_so_is_its_return() -> None:
    desk = Desk()
    desk.send(HELLO, LOST)
    assert desk.hub.deadline() == desk.now + PATIENCE_SECONDS
    effects = later(desk, PATIENCE_SECONDS)
    assert topics(effects) == ["agent.lost"]
    assert "NOT GUARDED" in of(effects, Tell)[0].text
    assert [type(r.record).__name__ for r in of(effects, Record)] == ["AgentSeen"]
    assert topics(desk.send(AgentConnected(agent="opencode", reconnected=True))) == ["agent.back"]


def test_an_agent_that_works_without_asking_is_told_of_at_once() -> None:
    desk = Desk()
    effects = desk.send(HELLO, AgentDisconnected(reason="a tool ran unasked", bypassed=True))
    assert topics(effects) == ["agent.lost"]
    assert "a tool ran unasked" in of(effects, Tell)[0].text
    assert desk.hub.deadline() is None


def test_an_agent_that_never_said_hello_is_written_down_at_once() -> None:
    effects = Desk().send(AgentDisconnected(reason="no hello"))
    assert [r.record.connected for r in of(effects, Record)] == [False]  # type: ignore[union-attr]
    assert topics(effects) == []
