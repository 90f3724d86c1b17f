"""What a person granted is all the agent gets, whatever it resumes, replaces, clears or adds."""

from __future__ import annotations

from typing import Any

import pytest
from tests.goal.shell import DONE, S, Shell

from loopguard_cli.core import effects as fx
from loopguard_cli.core import events as ev
from loopguard_cli.core.ids import MessageId, RequestId
from loopguard_cli.goal.answers import budget
from loopguard_cli.goal.limits import left, raised, tighter
from loopguard_cli.goal.model import EXIT_ACHIEVED, EXIT_STOPPED, Goal, Limits, Meters, StopReason, Usage
from loopguard_cli.goal.prompts import continuation
from loopguard_cli.goal.settings import GoalSettings

FLAGS = '--max-turns 6 --max-minutes 10 --max-total-tokens 10k --max-cost 2 --check "make test"'


def tool(shell: Shell, name: str, **args: Any) -> fx.Respond:
    request = RequestId(f"t{len(shell.done)}")
    shell.feed(
        ev.Asked(
            session=S, request=request, operation=f"tool.{name}", arguments=args, surface=ev.Surface.TOOL
        )
    )
    return next(r for r in shell.of(fx.Respond) if r.request == request)


def used(flags: str = FLAGS) -> Shell:
    """A goal of a person after two continuations; 4000 tokens and half a dollar, and a minute or so."""
    shell = Shell()
    shell.reply("m0")
    shell.ask(f"repair the build {flags}", session=S)
    for name in ("m1", "m2"):
        shell.idle()
        shell.reply(name)
        shell.feed(ev.UsageReported(session=S, message=MessageId(name), input=1900, output=100, cost=0.25))
        shell.now += 25
    shell.idle()
    shell.reply("m3")
    assert shell.goal().turns == 3
    return shell


def replaced(shell: Shell) -> None:
    assert tool(shell, "goal_set", objective="repair half of it").ok


def cleared(shell: Shell) -> None:
    assert tool(shell, "clear_goal").ok
    replaced(shell)


def replaced_twice(shell: Shell) -> None:
    replaced(shell)
    replaced(shell)


@pytest.mark.parametrize("how", [replaced, cleared, replaced_twice])
def test_a_goal_of_the_agent_gets_what_is_left(how: Any) -> None:
    shell = used()
    rest = left(shell.goal(), shell.now)
    how(shell)
    goal = shell.goal()
    assert goal.objective == "repair half of it"
    assert goal.limits == rest
    assert (goal.limits.turns, goal.limits.total_tokens, goal.limits.cost) == (3, 6000, 1.5)
    assert goal.limits.seconds == 600 - (shell.now - 1005)
    assert [check.command for check in goal.checks] == ["make test"]


def test_it_may_ask_for_less_and_prove_more_but_not_for_more() -> None:
    shell = used()
    assert tool(shell, "goal_set", objective="x", maxTurns=4).code == "limit_raise_refused"
    assert shell.goal().objective == "repair the build"
    assert tool(shell, "goal_set", objective="x", maxTurns=2, checks=["make lint", "make test"]).ok
    assert shell.goal().limits.turns == 2
    assert [check.command for check in shell.goal().checks] == ["make test", "make lint"]


def test_no_goal_of_the_agent_stands_beside_another() -> None:
    shell = used()
    for text in ("add another", "sequence a; b"):
        assert shell.ask(text, ev.Surface.INSIDE, S).code == "limit_raise_refused"
    assert tool(shell, "clear_goal").ok
    assert shell.ask("sequence a; b", ev.Surface.INSIDE, S).code == "limit_raise_refused"


def test_a_limit_is_not_left_behind_by_another_goal() -> None:
    shell = used("--max-turns 3")
    shell.now += 60
    shell.idle()
    assert shell.goal().stop is StopReason.MAX_TURNS
    shell.reply("m4")
    assert tool(shell, "goal_set", objective="another").code == "limit_reached"
    assert tool(shell, "clear_goal").ok
    assert tool(shell, "goal_set", objective="another").code == "limit_reached"


def test_a_resume_by_the_agent_opens_no_fresh_budget() -> None:
    shell = used()
    before = shell.goal()
    assert tool(shell, "goal_pause").ok
    assert "stays used" in tool(shell, "goal_resume").text
    after = shell.goal()
    assert after.active
    assert (after.turns, after.meters, after.limits) == (before.turns, before.meters, before.limits)
    assert after.time_in_force(shell.now) == before.time_in_force(shell.now)
    shell.ask("pause", session=S)
    assert shell.ask("resume", session=S).ok
    assert (shell.goal().turns, shell.goal().meters) == (0, Meters())


def test_a_persons_word_opens_one() -> None:
    shell = used()
    assert shell.ask("another goal", session=S).ok
    assert shell.goal().limits == Limits()
    shell = used()
    assert tool(shell, "clear_goal").ok
    shell.feed(ev.UserSpoke(session=S, message=MessageId("u9"), text="set a goal: tidy up"))
    assert tool(shell, "goal_set", objective="tidy up").ok
    assert shell.goal().limits.turns == 6, "as much as the person allowed last"


def test_a_goal_that_the_agent_cleared_was_not_achieved() -> None:
    shell = used("")
    assert tool(shell, "clear_goal").ok
    assert shell.goals.exit_code() == EXIT_STOPPED
    replaced(shell)
    shell.reply("m4", DONE)
    shell.idle()
    assert shell.goals.exit_code() == EXIT_ACHIEVED


def test_limits_are_compared_field_by_field_and_none_means_endless() -> None:
    some, endless = Limits(turns=4, total_tokens=10), Limits(turns=9, talk_turns=0)
    assert tighter(endless, some) == Limits(turns=4, total_tokens=10)
    assert raised(some, endless)
    assert not raised(some, tighter(endless, some))
    goal = Goal(id="g", objective="o", meters=Meters(usage=Usage(input=7)), since=10.0)
    assert left(goal, 20.0) == Limits(seconds=890.0)


def test_budgets_are_said_in_grouped_digits_and_one_is_one() -> None:
    limits = Limits(turns=1, context_tokens=200_000, total_tokens=1_500_000)
    assert budget(limits).startswith("1 continuation, ")
    assert "200,000 context tokens, 1,500,000 tokens in total" in budget(limits)
    prompt = continuation(Goal(id="g", objective="o", limits=limits), GoalSettings(), 1.0, starting=True)
    assert "Budget: 1 continuation, 200,000 context tokens and " in prompt
    assert "Total tokens left: 1,500,000." in prompt
