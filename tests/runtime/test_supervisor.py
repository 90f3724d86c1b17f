"""The queue in the middle: order, results that come at once, and a brain that fails."""

import asyncio
from collections.abc import Callable, Sequence

from loopguard_cli.core.effects import AnswerGate, Effect, Record, Respond, Tell
from loopguard_cli.core.events import Asked, EffectSettled, Event, Gap, ToolAsked
from loopguard_cli.core.ids import CallId, EffectId, RequestId
from loopguard_cli.runtime.clock import Clock
from loopguard_cli.runtime.supervisor import Supervisor


class Brain:
    def __init__(self, think: Callable[[Event], list[Effect]]) -> None:
        self.seen: list[Event] = []
        self.due: float | None = None
        self.ticks = 0
        self._think = think

    def receive(self, event: Event, now: float) -> list[Effect]:
        self.seen.append(event)
        return self._think(event)

    def deadline(self) -> float | None:
        return self.due

    def tick(self, now: float) -> list[Effect]:
        self.ticks += 1
        self.due = None
        return [Tell(text="rang")]

    def pending(self) -> bool:
        return False


def played(brain: Brain, events: Sequence[Event], perform: Callable[[Effect], Sequence[Event]]) -> Supervisor:
    async def play() -> Supervisor:
        supervisor = Supervisor(brain, lambda effect, _: perform(effect), Clock())
        supervisor.post(events)
        for _ in range(5):
            await asyncio.sleep(0)
        supervisor.close()
        return supervisor

    return asyncio.run(play())


def test_results_that_are_known_at_once_come_behind_what_waits() -> None:
    settled = EffectSettled(effect=EffectId("e1"), ok=True)
    first, second = Gap(reason="first"), Gap(reason="second")
    brain = Brain(lambda event: [Tell(text="x")] if event is first else [])
    played(brain, [first, second], lambda _: [settled])
    assert brain.seen == [first, second, settled]


def test_a_brain_that_fails_lets_everything_through_and_says_so_once() -> None:
    def fail(_: Event) -> list[Effect]:
        raise RuntimeError("secret content")

    performed: list[Effect] = []

    def perform(effect: Effect) -> Sequence[Event]:
        performed.append(effect)
        return ()

    events = [
        ToolAsked(request=RequestId("1"), call=CallId("c"), tool="bash"),
        ToolAsked(request=RequestId("2"), call=CallId("d"), tool="bash"),
        Asked(request=RequestId("3"), operation="guard.status"),
    ]
    supervisor = played(Brain(fail), events, perform)
    assert supervisor.failed == "RuntimeError"
    assert [effect.allow for effect in performed if isinstance(effect, AnswerGate)] == [True, True]
    assert [effect.ok for effect in performed if isinstance(effect, Respond)] == [False]
    assert len([effect for effect in performed if isinstance(effect, Tell)]) == 1
    assert len([effect for effect in performed if isinstance(effect, Record)]) == 1
    assert "secret" not in str(performed)


def test_an_effect_that_cannot_be_performed_does_not_keep_the_others_back() -> None:
    performed: list[str] = []

    def perform(effect: Effect) -> Sequence[Event]:
        assert isinstance(effect, Tell | Record)
        if isinstance(effect, Tell):
            performed.append(effect.text)
            if effect.text == "bad":
                raise OSError
        return ()

    played(Brain(lambda _: [Tell(text="bad"), Tell(text="good")]), [Gap(reason="x")], perform)
    assert performed[0] == "bad"
    assert "good" in performed


def test_the_timer_rings_when_it_is_due() -> None:
    brain = Brain(lambda _: [])
    brain.due = 0.0
    told: list[Effect] = []

    def perform(effect: Effect) -> Sequence[Event]:
        told.append(effect)
        return ()

    played(brain, [Gap(reason="x")], perform)
    assert brain.ticks == 1
    assert told == [Tell(text="rang")]
