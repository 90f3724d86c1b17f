"""Claude Code in print mode, driven by another program: only its hooks are ours."""

from __future__ import annotations

import json
import signal

import pytest
from tests.real.claude.world import BUSY_SECONDS, ClaudeWorld, say_to, step
from tests.real.harness import Started

from loopguard_cli.testing.script import reply, say, turn


def finish(started: Started) -> str:
    """Close its input; what it said last."""
    started.hang_up()
    return str(json.loads(started.wait().out.splitlines()[-1])["result"])


def test_its_streams_are_its_drivers_and_the_gate_is_asked(world: ClaudeWorld) -> None:
    world.model.behave([turn(*[reply(step("again"))] * 3, say("Went another way."))])
    started = world.host()
    say_to(started, "Do the task.")
    assert finish(started) == "Went another way."
    assert world.count("again") == 2


def test_hooks_of_the_persons_own_run_beside_ours(world: ClaudeWorld) -> None:
    """Those in a file of settings, and those given by ``--settings``."""
    world.configure(**world.hook("file"))
    given = json.dumps(world.hook("given"))
    world.model.behave([turn(*[reply(step("again"))] * 3, say("Went another way."))])
    started = world.host(agent=("--settings", given))
    say_to(started, "Do the task.")
    assert finish(started) == "Went another way."
    assert (world.count("again"), world.count("file"), world.count("given")) == (2, 3, 3)


def test_hooks_that_are_switched_off_are_noticed(world: ClaudeWorld) -> None:
    world.configure(disableAllHooks=True)
    world.model.behave([turn(*[reply(step("again"))] * 3, say("Done."))])
    started = world.host()
    say_to(started, "Do the task.")
    assert finish(started) == "Done."
    assert world.count("again") == 3
    assert "was not guarded" in started.err


def test_a_session_that_nobody_reports_is_said_not_to_be_guarded_within_ten_seconds(
    world: ClaudeWorld,
) -> None:
    world.configure(disableAllHooks=True)
    started = world.host()
    started.wait_for("until it has, it is not guarded", timeout=10 + BUSY_SECONDS)
    started.wait_for("UNGUARDED", timeout=20 + BUSY_SECONDS)
    started.hang_up()
    started.wait()


@pytest.mark.parametrize(("options", "ran"), [((), 1), (("--set", "guard.fail_closed=true"), 0)])
def test_without_loopguard_calls_run_unless_the_person_chose_otherwise(
    world: ClaudeWorld, options: tuple[str, ...], ran: int
) -> None:
    world.model.behave([turn(say("Ready."), match="Hello"), turn(reply(step("later")), say("Over."))])
    started = world.host(*options)
    say_to(started, "Hello.")
    started.wait_for("Ready.", stream="out")
    world.supervisor().send_signal(signal.SIGKILL)
    say_to(started, "Do the task.")
    started.wait_for("Over.", stream="out")
    started.hang_up()
    started.wait()
    assert world.count("later") == ran
