"""OpenCode's own screen, guarded, in a pseudo-terminal: what the person sees, and that the keys work."""

import os
import signal

import pytest
from tests.pty.terminal import Terminal
from tests.real.harness import World, trace
from tests.real.test_prose import CONTAINERS, CONTINUED, TAG, on_and_on

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Call, Hold, Say, reply, say, turn

READY = "Ask anything"


@pytest.fixture
def tty(world: World) -> Terminal:
    """The screen, under an agent that is not the default one."""
    world.configure(agent={"careful": {"mode": "primary", "prompt": "You are the careful agent."}})
    tty = world.guard_screen("opencode", "--agent", "careful")
    tty.wait_for(READY)
    return tty


def leave(tty: Terminal) -> None:
    tty.send("\x03")
    assert tty.wait() == 0
    assert tty.changed_modes == []


def test_blocked_cut_off_resumed_and_used_up(world: World, tty: Terminal) -> None:
    """One sitting: each thing the guard does, and after each the keys and the agent go on working."""
    world.model.behave(
        [
            turn(*[reply(trace("a"))] * 3, say("Counted."), match="^count"),
            turn(reply(*[trace("b")] * 3), say("At once."), match="^three"),
            turn(say("Hello."), match="^greet"),
            turn(on_and_on(CONTAINERS), match="^loop"),
            turn(say("Went on."), match=CONTINUED),
        ]
    )
    tty.send("count\r")
    tty.wait_for("bash was called 3 times")
    tty.wait_for("Counted.")
    assert world.count("a") == 2

    tty.send("three at once\r")
    tty.wait_for("At once.")
    assert world.count("b") == 2, "and OpenCode's own question about repetitions was not asked"

    tty.send("loop once\r")
    tty.wait_for("Turn cut off")
    tty.wait_for("Went on.")
    assert TAG not in tty.text, "our prompt is hidden"
    looping, continued = world.model.chats()[-2:]
    assert looping.end is End.CLIENT_CLOSED
    assert continued.request.user.startswith(TAG)
    assert "You are the careful agent." in continued.request.system

    tty.send("\x10")
    tty.wait_for("Commands")
    tty.send("\x1b")
    tty.wait_for(lambda text: "Commands" not in text)
    tty.send("greet\r")
    tty.wait_for("Hello.")

    world.model.behave([turn(on_and_on(CONTAINERS))])
    tty.send("loop for ever\r")
    tty.wait_for("looped again after 2")
    assert [e.end for e in world.model.chats()[-3:]] == [End.CLIENT_CLOSED] * 3
    world.model.behave([turn(say("Still here."))])
    tty.send("and now\r")
    tty.wait_for("Still here.")
    leave(tty)


def test_what_a_person_stops_stays_stopped(world: World, tty: Terminal) -> None:
    world.model.behave(
        [
            turn(reply(Say(text="I talk and talk."), Hold()), match="^talk"),
            turn(say("As you wish."), match="rather"),
        ]
    )
    tty.send("talk\r")
    tty.wait_for("I talk and talk.")
    tty.send("\x1b")
    tty.wait_for("again to interrupt")
    tty.send("\x1b")
    tty.wait_for("interrupted")
    tty.send("do this rather\r")
    tty.wait_for("As you wish.")
    assert [e.request.user for e in world.model.chats()] == ["talk", "do this rather"]
    leave(tty)


def test_a_call_that_waits_for_us_does_not_run_when_its_turn_is_stopped(world: World, tty: Terminal) -> None:
    """OpenCode itself would run it, as soon as the answer comes."""
    world.model.behave([turn(reply(Say(text="Now."), trace("a")), match="^call"), turn(say("As you wish."))])
    guard = world.supervisor()
    guard.suspend()
    tty.send("call\r")
    tty.wait_for("Now.")
    world.model.wait_for(lambda seen: seen and seen[0].end is End.COMPLETED)
    tty.send("\x1b")
    tty.wait_for("again to interrupt")
    tty.send("\x1b")
    tty.wait_for("interrupted")
    guard.resume()
    tty.send("do this rather\r")
    tty.wait_for("As you wish.")
    assert world.count("a") == 0
    leave(tty)


def test_typing_cancels_a_pending_continuation(world: World, tty: Terminal) -> None:
    """We stand still between the abort and its confirmation, so that the person is certainly faster."""
    world.model.behave(
        [turn(on_and_on(CONTAINERS), match="^loop"), turn(say("As you wish."), match="rather")]
    )
    guard = world.supervisor()
    tty.send("loop once\r")
    world.model.wait_for(lambda seen: seen and seen[0].end is End.CLIENT_CLOSED)
    guard.suspend()
    tty.wait_for("interrupted")
    tty.send("do this rather\r")
    tty.wait_for("As you wish.")
    guard.resume()
    tty.wait_for("Turn cut off")
    tty.send("rather this\r")
    tty.wait_for(lambda text: text.count("As you wish.") == 2)
    assert [e.request.user for e in world.model.chats()] == ["loop once", "do this rather", "rather this"]
    leave(tty)


def test_agent_killed_outright(world: World, tty: Terminal) -> None:
    world.model.behave([turn(reply(Call(tool="bash", args={"command": "sleep 3600", "description": "x"})))])
    tty.send("sleep\r")
    world.model.wait_for(lambda seen: seen and seen[0].end is End.COMPLETED)
    world.agent().kill()
    assert tty.wait() == 128 + signal.SIGKILL
    assert tty.changed_modes == []


def test_loopguard_killed_outright_under_an_interactive_shell(world: World) -> None:
    """It is still the shell's job: its keys, its place in the foreground, its exit status."""
    world.model.behave([turn(*[reply(trace("a"))] * 3, say("All alone."))])
    tty = world.screen("bash", "--norc", "--noprofile", "-i", env={"PS1": "prompt> "})
    tty.wait_for("prompt>")
    tty.send(" ".join(map(str, world.guard_command("opencode"))) + "\r")
    tty.wait_for(READY)
    world.supervisor().kill()
    tty.send("go on\r")
    tty.wait_for("All alone.")
    assert world.count("a") == 3
    tty.send("\x03")
    tty.wait_for("loopguard: was killed")
    tty.wait_for(lambda text: text.endswith("prompt>"))
    tty.send("echo code $?\r")
    tty.wait_for("code 0")
    assert tty.modes.get(1049) is not True, "the agent's screen is gone"
    tty.send("exit\r")
    assert tty.wait() == 0


def test_loopguard_killed_outright(world: World) -> None:
    """The agent stays on the screen, answers, runs its calls, and ends as it would alone."""
    world.model.behave([turn(*[reply(trace("a"))] * 3, say("All alone."))])
    end = world.root / "end"
    os.mkfifo(end)
    shell = f'"$@"; read line < {end}'
    tty = world.screen("sh", "-c", shell, "sh", *world.guard_command("opencode"))
    tty.wait_for(READY)
    agent = world.agent()
    world.supervisor().kill()
    tty.send("go on\r")
    tty.wait_for("All alone.")
    assert world.count("a") == 3
    tty.send("\x03")
    agent.wait(10)
    end.write_text("\n")
    assert tty.wait() == 0
    assert tty.changed_modes == []
