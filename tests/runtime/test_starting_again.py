"""Which start of a one-shot agent a prompt is for: the one that is kept for it, or the next."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_cli.agents.base import Answer
from loopguard_cli.core.effects import Effect, Prompt, Purpose
from loopguard_cli.core.ids import EffectId, SessionId
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.runtime.checks import Jobs
from loopguard_cli.runtime.perform import Performer
from loopguard_cli.runtime.reach.channels import Channels
from loopguard_cli.runtime.telling.notices import Notices


class Agent:
    """One that can be kept, and started again."""

    capabilities = Capabilities(respawn=True, nudge=True)

    def __init__(self, *, holding: bool) -> None:
        self.holding = holding
        self.told: list[Effect] = []

    def release(self, end: bool) -> Answer:
        raise AssertionError(end)

    def carry_out(self, effect: Effect) -> Answer:
        self.told.append(effect)
        return Answer()


@pytest.mark.parametrize(
    ("holding", "purpose", "now"),
    [
        (True, Purpose.RECOVERY, True),
        (False, Purpose.RECOVERY, False),
        (False, Purpose.NUDGE, True),
    ],
)
def test_a_prompt_goes_to_the_process_that_is_kept_for_it(holding: bool, purpose: Purpose, now: bool) -> None:
    agent: Any = Agent(holding=holding)
    perform = Performer(
        adapter=agent,
        channels=Channels(None, lambda _: None),
        store=None,
        notices=Notices(screen=True),
        jobs=Jobs(lambda _: None),
        reply=lambda _: False,
        goals=None,
        environ={},
    )
    prompt = Prompt(session=SessionId("ses"), effect=EffectId("e"), text="go on", purpose=purpose)
    assert perform(prompt, 1000.0) == ()
    assert agent.told == ([prompt] if now else [])
    assert perform.next_prompt == (None if now else prompt)
