"""What is waited for beside a running agent: a hello that is late, and an end that does not come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from loopguard_cli.agents.base import Form, LaunchPlan, Streams
from loopguard_cli.core.events import AgentDisconnected
from loopguard_cli.core.settings import Locale
from loopguard_cli.core.wording import Wording
from loopguard_cli.runtime import watchers
from loopguard_cli.runtime.watchers import Watchers

BRIDGED = LaunchPlan(argv=("agent",), form=Form.SCREEN)
ONE_SHOT = LaunchPlan(argv=("agent",), form=Form.ONE_SHOT, bridged=False)


class Desk:
    """A run in which nothing happens but what a test lets happen."""

    def __init__(self, *, hello_seconds: float = 60.0, late_seconds: float = 60.0) -> None:
        self.posted: list[Any] = []
        self.said: list[str] = []
        self.ended = asyncio.Event()
        self.wanted = True
        self.changed = asyncio.Event()
        self.performer = SimpleNamespace(next_prompt=None, ending=None)
        self.process: Any = SimpleNamespace(
            driven=False, over=False, child=SimpleNamespace(end=self._end), dismiss=self._dismiss
        )
        self.dismissals = 0
        self.watchers = Watchers(
            adapter=cast("Any", SimpleNamespace(name="agent")),
            supervisor=cast(
                "Any",
                SimpleNamespace(
                    changed=self.changed,
                    post=self.posted.extend,
                    hub=SimpleNamespace(pending=lambda: self.wanted),
                ),
            ),
            performer=cast("Any", self.performer),
            channels=cast("Any", None),
            notices=cast("Any", SimpleNamespace(say=self.said.append, wording=Wording(Locale.EN))),
            hello_seconds=hello_seconds,
            late_seconds=late_seconds,
        )

    async def _end(self, _: float) -> None:
        self.ended.set()

    def _dismiss(self) -> None:
        self.dismissals += 1


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchers, "EXIT_SECONDS", 0.0)


def played(test: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(test(), 30)

    asyncio.run(within())


async def settled() -> None:
    """Everything that can go on without anybody's doing has gone on."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_program_that_prints_no_events_is_not_said_to_be_guarded() -> None:
    async def test() -> None:
        desk = Desk(hello_seconds=0)
        plan = LaunchPlan(argv=("agent",), form=Form.ONE_SHOT, streams=Streams.TAPPED)
        desk.watchers.watch(desk.process, plan)
        while not desk.said:
            await asyncio.sleep(0)
        assert "none of what it printed was an event" in desk.said[0]
        assert not desk.watchers.guarded
        desk.watchers.connected.set()
        await settled()
        assert len(desk.said) == 2
        assert desk.watchers.guarded
        await desk.watchers.dismissed()

    played(test)


def test_no_hello_in_time_is_said_aloud_and_a_late_one_too() -> None:
    async def test() -> None:
        desk = Desk(hello_seconds=0, late_seconds=0)
        desk.watchers.watch(desk.process, BRIDGED)
        await settled()
        assert [type(event) for event in desk.posted] == [AgentDisconnected]
        assert len(desk.said) == 2
        assert "UNGUARDED" in desk.said[1]
        assert not desk.watchers.guarded
        desk.watchers.connected.set()
        await settled()
        assert "after all" in desk.said[2]
        assert desk.watchers.guarded
        await desk.watchers.dismissed()

    played(test)


def test_an_agent_that_is_slow_is_waited_for_without_an_alarm() -> None:
    async def test() -> None:
        desk = Desk(hello_seconds=0)
        desk.watchers.watch(desk.process, BRIDGED)
        await settled()
        assert desk.posted == []
        assert len(desk.said) == 1
        assert "until it has, it is not guarded" in desk.said[0]
        assert "UNGUARDED" not in desk.said[0]
        assert not desk.watchers.guarded
        desk.watchers.connected.set()
        await settled()
        assert desk.said[1].endswith("has connected and is guarded now")
        assert desk.watchers.guarded
        assert desk.posted == []
        await desk.watchers.dismissed()

    played(test)


def test_a_server_without_clients_is_no_alarm() -> None:
    async def test() -> None:
        desk = Desk(hello_seconds=0)
        desk.watchers.watch(desk.process, LaunchPlan(argv=("agent",), form=Form.SERVER, lazy=True))
        await settled()
        assert desk.posted == [], "nothing is lost that was never there"
        assert len(desk.said) == 1
        assert "with its first client" in desk.said[0]
        assert not desk.watchers.guarded
        desk.watchers.connected.set()
        await settled()
        assert "guarded now" in desk.said[1]
        assert desk.watchers.guarded
        await desk.watchers.dismissed()

    played(test)


def test_a_hello_in_time_needs_no_words() -> None:
    async def test() -> None:
        desk = Desk()
        desk.watchers.watch(desk.process, BRIDGED)
        desk.watchers.connected.set()
        await settled()
        assert desk.watchers.guarded
        assert (desk.posted, desk.said) == ([], [])
        await desk.watchers.dismissed()

    played(test)


@pytest.mark.parametrize("field", ["next_prompt", "ending"])
def test_a_one_shot_agent_that_does_not_end_for_its_continuation_is_ended(field: str) -> None:
    async def test() -> None:
        desk = Desk()
        desk.watchers.watch(desk.process, ONE_SHOT)
        desk.changed.set()
        await settled()
        assert not desk.ended.is_set()
        setattr(desk.performer, field, object())
        desk.changed.set()
        await desk.ended.wait()
        await desk.watchers.dismissed()

    played(test)


@pytest.mark.parametrize("why", ["nothing is wanted", "the person gives up"])
def test_a_driven_agent_is_let_go(why: str) -> None:
    async def test() -> None:
        desk = Desk()
        desk.process.driven = True
        desk.watchers.watch(desk.process, ONE_SHOT)
        await settled()
        desk.process.over = True
        desk.changed.set()
        await settled()
        assert desk.dismissals == 0, "a continuation is still wanted"
        if why == "nothing is wanted":
            desk.wanted = False
        else:
            desk.watchers.giving_up = True
        desk.changed.set()
        await desk.ended.wait()
        assert desk.dismissals == 1
        await desk.watchers.dismissed()

    played(test)
