"""Nothing is sent after a person's stop, whenever it comes; one of two supervisors drives."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from tests.goal.racing import Race, S

from loopguard_cli.goal.model import StopReason

TRIALS = int(os.environ.get("TRIALS", "200"))

STOPS: dict[str, tuple[Callable[[Race], None], StopReason]] = {
    "pause": (lambda race: race.command("pause", stop=True), StopReason.USER_PAUSED),
    "escape": (lambda race: race.escape(), StopReason.USER_INTERRUPTED),
    "message": (lambda race: race.message(), StopReason.USER_INTERVENTION),
}


def stopped(stop: str, seed: int) -> Race:
    """A race in which the person stops the goal at a random moment, and then some time passes."""
    race = Race(seed)
    race.command("never be done --no-progress-turns 1000000")
    moment = race.now + race.chance.uniform(0.5, 25)
    race.run(moment)
    STOPS[stop][0](race)
    race.run(moment + 2000)
    return race


@pytest.mark.parametrize("stop", STOPS)
def test_no_prompt_after_a_stop(stop: str) -> None:
    prompted = 0
    for seed in range(TRIALS):
        race = stopped(stop, seed)
        goal = race.goals.book(S).focused
        assert goal is not None
        assert race.stopped_at is not None, seed
        assert len(race.prompts) == race.stopped_at, f"seed {seed}: prompted after the stop"
        assert goal.stop in (STOPS[stop][1], StopReason.USER_PAUSED), seed
        assert not race.busy, f"seed {seed}: the agent still works"
        assert race.outlived == 0, f"seed {seed}: the turn that we began was not aborted"
        prompted += len(race.prompts)
    assert prompted > 2 * TRIALS, "there was something to stop"


def test_without_a_stop_it_goes_on() -> None:
    race = Race(1)
    race.command("never be done --no-progress-turns 1000000")
    race.run(race.now + 2000)
    assert len(race.prompts) > 300
