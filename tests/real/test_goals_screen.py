"""Goals on OpenCode's own screen: commands typed in, what keys mean, and what the model sees."""

from collections.abc import Callable, Sequence

import pytest
from tests.pty.terminal import Terminal
from tests.real.harness import World, trace
from tests.real.test_goals import ACHIEVED, AUDITED, BLOCKED, CONTINUED, answers, verifying
from tests.real.test_screen import READY, leave

from loopguard_cli.testing.conversation import Kind
from loopguard_cli.testing.exchange import Exchange
from loopguard_cli.testing.script import Call, Hold, Say, reply, say, turn

Open = Callable[..., Terminal]


@pytest.fixture
def screen(world: World) -> Open:
    def start(*agent: str, options: Sequence[str] = ()) -> Terminal:
        quick = ["--set", "goal.cooldown_seconds=0.1", *options]
        tty = world.guard_screen("opencode", *agent, options=quick)
        tty.wait_for(READY)
        return tty

    return start


def begun(seen: Sequence[Exchange]) -> bool:
    """The newest request is a continuation whose answer has begun."""
    return bool(seen) and seen[-1].request.user.startswith(CONTINUED) and bool(seen[-1].text)


def status(world: World) -> str:
    return world.ask("goal", "status").out


def paused(world: World) -> None:
    world.wait_until(lambda: "State: paused" in status(world))


def test_commands_typed_in_are_answered_and_do_not_reach_the_model(world: World, screen: Open) -> None:
    tty = screen()
    world.model.behave([turn(say(ACHIEVED), match=CONTINUED), turn(say("Hello."))])
    tty.send("hello\r")
    tty.wait_for("Hello.")
    tty.send("/goal status\r")
    tty.wait_for("No active goal")
    tty.send("/goal set port the parser\r")
    tty.wait_for("I ran the suite.")
    world.wait_until(lambda: "State: achieved" in status(world))
    assert CONTINUED not in tty.text, "our prompt is hidden"
    tty.send("/goal status\r")
    tty.wait_for("Evidence: 12 of 12")
    users = [exchange.request.user for exchange in world.model.chats()]
    assert len(users) == 2
    assert "port the parser" in users[1]
    assert not any("/goal " in user for user in users)
    leave(tty)


def test_a_message_pauses_the_goal_at_once(world: World, screen: Open) -> None:
    tty = screen()
    working = reply(Say(text="I work on it."), Hold())
    world.model.behave([turn(working, match=CONTINUED), turn(say("As you wish."))])
    tty.send("/goal port the parser\r")
    world.model.wait_for(begun)
    tty.send("do this rather\r")
    paused(world)
    tty.wait_for("As you wish.")
    users = [exchange.request.user for exchange in world.model.chats()]
    assert [user for user in users if not user.startswith(CONTINUED)] == ["do this rather"]
    assert users[-1] == "do this rather"
    assert "Reason: user" in status(world) or "message" in status(world)
    leave(tty)


def test_planning_is_not_driven(world: World, screen: Open) -> None:
    tty = screen("--agent", "plan")
    world.model.behave([turn(say("This is the plan."))])
    tty.send("plan it\r")
    tty.wait_for("This is the plan.")
    tty.send("/goal port the parser\r")
    paused(world)
    assert len(world.model.chats()) == 1
    leave(tty)


def test_a_compaction_keeps_the_goal(world: World, screen: Open) -> None:
    tty = screen()
    behave = answers([say("One part is done.")], [reply(Hold(name="go"), Say(text=ACHIEVED))])
    world.model.behave(lambda request: behave(request) if CONTINUED in request.user else say("Fine."))
    tty.send("/goal port the parser\r")
    world.model.wait_for(lambda seen: len(seen) == 2)
    tty.send("\x1b")
    tty.wait_for("again to interrupt")
    tty.send("\x1b")
    paused(world)
    assert len(world.model.chats()) == 2, "Escape is the person's stop: nothing follows"
    tty.send("/compact")
    tty.wait_for("Compact session")
    tty.send("\r")
    world.wait_until(lambda: bool(world.model.journal(Kind.SUMMARY)))
    (summary,) = world.model.journal(Kind.SUMMARY)
    assert any("port the parser" in message.text for message in summary.request.messages)
    world.model.release("go")
    assert world.ask("goal", "resume").code == 0
    world.wait_until(lambda: "State: achieved" in status(world))
    last = world.model.chats()[-1].request
    assert "port the parser" in last.user
    assert "port the parser" in last.system
    leave(tty)


def test_the_auditor_is_a_session_below_that_may_only_read(world: World, screen: Open) -> None:
    (world.project / "README.md").write_text("what the auditor reads\n")
    tty = screen(options=["--set", "goal.audit=builtin"])
    for verdict, state, sessions in (("[audit:rejected]", "paused", 2), ("[audit:approved]", "achieved", 3)):
        world.model.behave(verifying(verdict))
        tty.send("/goal port the parser\r")
        world.wait_until(lambda: f"State: {state}" in status(world))  # noqa: B023
        audits = [e for e in world.model.chats() if AUDITED in e.request.user]
        assert len({e.session for e in world.model.chats()}) == sessions
        assert audits[-1].request.mentions("what the auditor reads")
        assert not (world.project / "tampered").exists()
    leave(tty)


def test_the_turns_of_sub_agents_do_not_count(world: World, screen: Open) -> None:
    tty = screen()
    delegate = Call(
        tool="task",
        args={"description": "sub job", "prompt": "do the sub job", "subagent_type": "general"},
    )
    work = answers([reply(delegate), say("The sub-agent did it.")], [say(BLOCKED)])
    sub = answers([reply(trace("sub")), say(ACHIEVED)])
    world.model.behave(lambda request: sub(request) if "sub job" in request.user else work(request))
    tty.send("/goal port the parser\r")
    world.wait_until(lambda: "State: blocked" in status(world))
    assert world.count("sub") == 1
    continued = [e for e in world.model.chats() if e.request.user.startswith(CONTINUED)]
    assert len({e.request.user for e in continued}) == 2, "what the sub-agent claims ends nothing"
    leave(tty)
