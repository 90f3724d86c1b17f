"""More ends of goals with the real OpenCode: stale proof, loops, other clients, another terminal."""

import json
import signal

import pytest
from tests.pty.terminal import Terminal
from tests.real.harness import LOOPGUARD, World, trace
from tests.real.test_goals import ACHIEVED, CONTINUED, answers, prompts, pursue
from tests.real.test_prose import CONTAINERS, TAG, on_and_on
from tests.real.test_screen import READY, leave

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Call, Hold, Say, reply, say


def reason(world: World) -> str:
    status = json.loads(world.ask("goal", "status", "--json").out)
    return str(status["data"]["stop_reason"])


def test_an_edit_after_a_passed_check_makes_it_stale(world: World) -> None:
    """The check passes while a second call of the same response writes a file."""
    claim = Call(tool="goal_complete", args={"summary": "the suite passes"})
    edit = Call(tool="write", args={"filePath": str(world.project / "late.txt"), "content": "late\n"})
    behave = answers([reply(claim, edit), reply(claim), say("Done.")])
    check = "until test -e late.txt; do sleep 0.05; done; sleep 1"
    result = pursue(world, behave, "--check", check)
    assert result.code == 0, result
    _, after_both, after_second = (exchange.request for exchange in world.model.chats()[:3])
    assert any("Files were changed after the checks had passed" in text for text in after_both.results)
    assert '"ok":true' in after_second.results[-1].replace(" ", "")


def test_a_loop_inside_a_goals_turn_is_recovered_first(world: World) -> None:
    """One prompt after another: the guard's, and the goal's only when that turn is over."""
    behave = answers(
        [reply(trace("a")), say("Part one is done.")],
        [on_and_on(CONTAINERS)],
        [reply(trace("b")), say("Part two is done.")],
        [say(ACHIEVED)],
    )
    result = pursue(world, behave)
    assert result.code == 0, result
    users = [exchange.request.user for exchange in prompts(world)]
    assert [user.split(maxsplit=1)[0] for user in users[1:]] == [
        CONTINUED,
        TAG.split(maxsplit=1)[0],
        CONTINUED,
    ]
    assert [e.end for e in world.model.chats()].count(End.CLIENT_CLOSED) == 1
    assert [world.count(name) for name in "ab"] == [1, 1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_between_two_invocations_is_the_exit_status(world: World, number: signal.Signals) -> None:
    world.model.behave(answers([say("One part is done.")]))
    waiting = ["--goal", "make the tests pass", "--set", "goal.cooldown_seconds=600"]
    started = world.guard("opencode", "run", "start the work", options=waiting)
    world.wait_until(lambda: len(prompts(world)) == 2)  # the third is to wait
    world.wait_until(lambda: [p for p in world.processes() if p.pid != started.process.pid] == [])
    started.signal(number)
    assert started.wait().code == 128 + number
    assert len(prompts(world)) == 2


def test_the_tools_over_mcp_from_the_persons_own_configuration(world: World) -> None:
    """OpenCode starts `loopguard mcp` itself: it finds the run, and is no person and no tool of ours."""
    server = {"type": "local", "command": [*LOOPGUARD, "mcp"], "enabled": True}
    world.configure(mcp={"outside": server})
    decision = {
        "decision": "stop",
        "observedResult": "Nothing was repeated in this session so far.",
        "rationale": "There is nothing to be justified in this session.",
        "expectedInformation": "None, because there is nothing to be done.",
        "nextTool": "",
        "argsJson": "{}",
    }
    behave = answers(
        [
            reply(Call(tool="outside_goal_status")),
            reply(Call(tool="outside_loop_decide", args=decision)),
            reply(Call(tool="outside_goal_complete", args={"summary": "12 of 12 tests pass"})),
            say("Done."),
        ]
    )
    result = pursue(world, behave)
    assert result.code == 0, result
    status, decided, completed = (e.request.results[-1] for e in world.model.chats()[1:4])
    assert "make the tests pass" in status
    assert "not" in decided
    assert '"ok":true' in completed.replace(" ", "")
    history = world.ask("history", "--json").out
    assert '"inside"' in history


@pytest.fixture
def tty(world: World) -> Terminal:
    screen = world.guard_screen("opencode", options=["--set", "goal.cooldown_seconds=0.1"])
    screen.wait_for(READY)
    return screen


def test_from_another_terminal(world: World, tty: Terminal) -> None:
    """Pause aborts the turn, nothing follows it, and every command is about the session on the screen."""
    working = reply(Say(text="I work on it."), Hold())
    world.model.behave(answers([say("Hello.")], [working], [working]))
    tty.send("hello\r")
    tty.wait_for("Hello.")
    assert world.ask("goal", "set", "port the parser", "--max-turns", "7").code == 0
    world.model.wait_for(lambda seen: len(seen) == 2 and seen[1].text)
    paused = world.ask("goal", "pause")
    assert paused.code == 0, paused
    world.model.wait_for(lambda seen: seen[1].end is End.CLIENT_CLOSED)
    assert reason(world) == "user_paused"

    assert world.ask("goal", "edit", "--max-turns", "3").code == 0
    world.model.wait_for(lambda seen: len(seen) == 3 and seen[2].text)
    status = json.loads(world.ask("goal", "status", "--json").out)["data"]
    assert (status["objective"], status["state"]) == ("port the parser", "active")
    assert world.ask("goal", "set", "--max-turns", "no", "x").code == 2

    assert world.ask("goal", "complete", "looked at it").code == 0
    assert "port the parser" in world.ask("goal", "list").out
    assert world.ask("goal", "pause").code != 0, "there is nothing to pause any more"
    assert len(world.model.chats()) == 3
    leave(tty)
