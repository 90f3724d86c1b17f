"""A person said stop: what the turn that was running then asks for puts no goal into force."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.goal.shell import S, Shell, started

from loopguard_cli.core import effects as fx
from loopguard_cli.core import events as ev
from loopguard_cli.core.ids import MessageId, RequestId
from loopguard_cli.goal.model import StopReason


def tool(shell: Shell, name: str, **args: object) -> fx.Respond:
    request = RequestId(f"t{len(shell.done)}")
    shell.feed(
        ev.Asked(
            session=S,
            request=request,
            operation=f"tool.{name}",
            arguments=args,
            surface=ev.Surface.TOOL,
        )
    )
    return next(r for r in shell.of(fx.Respond) if r.request == request)


def working() -> Shell:
    """A goal whose continuation is being worked on."""
    shell = started()
    shell.reply("m1")
    return shell


def prompts(shell: Shell) -> int:
    return len(shell.of(fx.Prompt))


STOPS: dict[str, Callable[[Shell], object]] = {
    "pause": lambda shell: shell.ask("pause", session=S),
    "slash": lambda shell: shell.ask("pause", ev.Surface.SLASH, S),
    "clear": lambda shell: shell.ask("clear", session=S),
    "message": lambda shell: shell.feed(ev.UserSpoke(session=S, message=MessageId("u1"), text="wait")),
    "escape": lambda shell: shell.feed(ev.AgentError(session=S, name="MessageAbortedError", aborted=True)),
    "permission": lambda shell: shell.feed(
        ev.PermissionAnswered(session=S, request=RequestId("p"), allowed=False)
    ),
}


@pytest.mark.parametrize("stop", STOPS)
def test_the_running_turn_can_put_nothing_into_force(stop: str) -> None:
    shell = working()
    STOPS[stop](shell)
    before = prompts(shell)
    for name, args in (
        ("goal_set", {"objective": "something else"}),
        ("set_goal", {"objective": "something else"}),
        ("goal_resume", {}),
        ("update_goal", {"objective": "another", "status": "resumed"}),
    ):
        answer = tool(shell, name, **args)
        cleared_first = stop == "clear" and name == "update_goal"
        assert (answer.ok, answer.code) == (
            False,
            "no_active_goal" if cleared_first else "stopped_by_user",
        )
    for text in ("resume", "a new goal", "add a new goal", "sequence a; b"):
        assert shell.ask(text, ev.Surface.INSIDE, S).code == "stopped_by_user"
    goal = shell.goal()
    assert goal is None or (not goal.active and goal.objective == "repair the build")
    shell.idle()
    assert prompts(shell) == before


@pytest.mark.parametrize("stop", [name for name in STOPS if name != "clear"])
def test_a_later_turn_may_resume_when_the_person_asks_for_it(stop: str) -> None:
    shell = working()
    STOPS[stop](shell)
    shell.idle()
    shell.feed(ev.UserSpoke(session=S, message=MessageId("u9"), text="go on with the goal"))
    shell.reply("m9")
    assert tool(shell, "goal_resume").ok
    assert shell.goal().active


def test_a_message_taken_up_by_the_running_turn_begins_one_of_its_own() -> None:
    shell = working()
    shell.feed(ev.UserSpoke(session=S, message=MessageId("u1"), text="stop, then resume the goal"))
    assert tool(shell, "goal_resume").code == "stopped_by_user"
    shell.feed(ev.ReplyStarted(session=S, message=MessageId("m2"), answers=MessageId("to-m1")))
    assert tool(shell, "goal_resume").code == "stopped_by_user"
    shell.feed(ev.ReplyStarted(session=S, message=MessageId("m3"), answers=MessageId("u1")))
    assert tool(shell, "goal_resume").ok


def test_a_message_from_before_the_stop_is_no_word_since() -> None:
    shell = Shell()
    shell.feed(ev.UserSpoke(session=S, message=MessageId("u1"), text="repair the build"))
    shell.reply("m0")
    shell.ask("repair the build", session=S)
    shell.ask("pause", session=S)
    shell.feed(ev.ReplyStarted(session=S, message=MessageId("m1"), answers=MessageId("u1")))
    assert tool(shell, "goal_resume").code == "stopped_by_user"


def test_the_person_may_go_on_at_any_time() -> None:
    shell = working()
    shell.ask("pause", session=S)
    assert shell.ask("resume", session=S).ok
    assert tool(shell, "goal_pause").ok
    assert tool(shell, "goal_resume").ok, "the agent's own pause is nobody's stop"


def test_a_stop_between_turns_bars_no_turn() -> None:
    shell = Shell()
    shell.reply("m0")
    shell.idle()
    shell.keep = (fx.ReadSession,)
    shell.ask("repair the build", session=S)
    shell.ask("pause", session=S)
    shell.feed(ev.UserSpoke(session=S, message=MessageId("u1"), text="resume it"))
    shell.reply("m1")
    assert tool(shell, "goal_resume").ok


def test_a_prompt_just_handed_over_counts_as_a_running_turn() -> None:
    shell = started()
    assert shell.goals.book(S).focused is not None
    shell.ask("pause", session=S)
    assert tool(shell, "goal_resume").code == "stopped_by_user"


def test_the_refusal_is_an_envelope_and_leaves_the_goal_as_it_was() -> None:
    shell = working()
    shell.ask("pause", session=S)
    envelope = json.loads(tool(shell, "goal_resume").text.replace("&quot;", '"'))
    assert (envelope["ok"], envelope["error"]) == (False, "stopped_by_user")
    assert shell.goal().stop is StopReason.USER_PAUSED


def test_a_limit_refuses_an_update_before_any_of_it_is_done() -> None:
    shell = Shell()
    shell.reply("m0")
    shell.ask("repair the build --max-turns 1", session=S)
    for name in ("m1", "m2"):
        shell.idle()
        shell.reply(name)
        shell.now += 60
    shell.idle()
    shell.reply("m3")
    assert shell.goal().stop is StopReason.MAX_TURNS
    answer = tool(shell, "update_goal", objective="another", status="resumed")
    assert (answer.ok, answer.code) == (False, "limit_reached")
    assert shell.goal().objective == "repair the build"
