"""Prompts of ours on their way through the input box, whatever time the agent takes over them."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_cli.agents.base import Answer, BridgeAddress, HookCall, Keys, Setup
from loopguard_cli.agents.gemini import make
from loopguard_cli.agents.gemini.composer import PRESSES
from loopguard_cli.agents.tools import LOOP_GUARD, goal_command
from loopguard_cli.core.effects import Prompt, Purpose, ReadSession
from loopguard_cli.core.events import Asked, EffectSettled, Origin, Surface, UserSpoke
from loopguard_cli.core.ids import EffectId, SessionId

SESSION = SessionId("s1")
TEXT = "[ANTI-LOOP STREAM] Go on."
PROMPT = Prompt(session=SESSION, effect=EffectId("e1"), text=TEXT, purpose=Purpose.CONTINUATION)
ENTER = b"\r"


class Screen:
    """An idle session on a screen."""

    def __init__(self) -> None:
        commands = (LOOP_GUARD, goal_command())
        self.adapter: Any = make(Setup(argv=("gemini",), commands=commands, directory="/p", interactive=True))
        self.adapter.launch({}, BridgeAddress(token="", folder="/f", hook_command=("sh",)))
        self.calls = 0
        self.hook("SessionStart")
        self.adapter.carry_out(ReadSession(session=SESSION, effect=EffectId("e0")))

    def hook(self, hook: str, **body: Any) -> Answer:
        self.calls += 1
        body = {"session_id": SESSION, "hook_event_name": hook, **body}
        answer: Answer = self.adapter.called(HookCall(call=self.calls, hook=hook, body=body))
        return answer

    def typed(self, answer: Answer) -> list[bytes]:
        return [order.data for order in answer.orders if isinstance(order, Keys)]

    def prompt(self) -> None:
        (pasted,) = self.typed(self.adapter.carry_out(PROMPT))
        assert TEXT.encode() in pasted


@pytest.fixture
def screen() -> Screen:
    screen = Screen()
    screen.prompt()
    return screen


def test_enter_waits_until_the_text_is_on_the_screen(screen: Screen) -> None:
    assert not screen.typed(screen.adapter.paused())
    assert not screen.typed(screen.adapter.still()), "an Enter would answer whatever is open there"
    screen.adapter.printed(b"* [ANTI-")
    screen.adapter.printed(b"LOOP STREAM] Go on.")
    assert screen.typed(screen.adapter.paused()) == [ENTER]
    assert not screen.typed(screen.adapter.paused()), "once, as long as something moves"


@pytest.mark.parametrize("shown", [b"* [ANTI-LOOP STREAM]", b"* [Pasted Text: 7 lines]"])
def test_enter_is_pressed_again_while_the_screen_rests(screen: Screen, shown: bytes) -> None:
    screen.adapter.printed(shown)
    assert screen.typed(screen.adapter.paused()) == [ENTER]
    pressed = [screen.typed(screen.adapter.still()) for _ in range(PRESSES + 3)]
    assert pressed == [[ENTER]] * (PRESSES - 1) + [[]] * 4


def test_what_the_person_has_typed_behind_it_is_theirs_to_send(screen: Screen) -> None:
    screen.adapter.printed(TEXT.encode())
    assert screen.typed(screen.adapter.paused()) == [ENTER]
    screen.adapter.keyed(b"\x1b[?62;c")
    assert screen.typed(screen.adapter.still()) == [ENTER], "that was the terminal"
    screen.adapter.keyed(b"and")
    assert not screen.typed(screen.adapter.still())


def test_once_the_prompt_has_come_nothing_is_pressed(screen: Screen) -> None:
    screen.adapter.printed(TEXT.encode())
    came = screen.hook("BeforeAgent", prompt=f"{TEXT}\n").events
    assert [event.ok for event in came if isinstance(event, EffectSettled)] == [True]
    assert [event.origin for event in came if isinstance(event, UserSpoke)] == [Origin.LOOPGUARD]
    assert not screen.typed(screen.adapter.paused())
    assert not screen.typed(screen.adapter.still())


@pytest.mark.parametrize("typed", ["loopguard:command goal make it pass", "/goal make it pass"])
def test_a_command_is_one_even_if_the_agent_does_not_know_it_yet(typed: str) -> None:
    came = Screen().hook("BeforeAgent", prompt=typed).events
    (asked,) = [event for event in came if isinstance(event, Asked)]
    assert (asked.operation, asked.surface) == ("goal.command", Surface.SLASH)
    assert not [event for event in came if isinstance(event, UserSpoke)]


@pytest.mark.parametrize("typed", ["/goals are fine", "goal make it pass", "/about", "see /goal"])
def test_other_words_are_a_prompt(typed: str) -> None:
    came = Screen().hook("BeforeAgent", prompt=typed).events
    assert [event.text for event in came if isinstance(event, UserSpoke)] == [typed]
