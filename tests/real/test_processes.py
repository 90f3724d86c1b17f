"""Signals, exit statuses, and what is left of a run."""

import os
import signal

import pytest
from tests.real.harness import World, trace

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Call, Fail, Hold, Say, reply, say, turn

SLEEP = reply(Call(tool="bash", args={"command": "touch $TRACES/asleep; sleep 3600", "description": "Waits"}))


def fall_asleep(world: World) -> None:
    """Wait until the agent's shell tool runs the sleeping command."""
    world.model.wait_for(lambda seen: seen and seen[0].end is End.COMPLETED)
    world.wait_until(lambda: (world.traces / "asleep").exists())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_the_run_and_all_of_it(world: World, number: signal.Signals) -> None:
    world.model.behave([turn(SLEEP)])
    started = world.guard("opencode", "run", "wait")
    fall_asleep(world)
    started.signal(number)
    assert started.wait().code == 128 + number


def test_control_c_in_a_terminal(world: World) -> None:
    world.model.behave([turn(SLEEP)])
    tty = world.guard_screen("opencode", "run", "wait")
    fall_asleep(world)
    tty.send("\x03")
    assert tty.wait() == 128 + signal.SIGINT
    assert tty.changed_modes == []


def test_stopped_and_continued(world: World) -> None:
    """Under a shell with job control, Ctrl-Z gives the prompt back and ``fg`` goes on."""
    world.model.behave([turn(reply(Say(text="I wait. "), Hold(name="go"), Say(text="I went on.")))])
    tty = world.screen("bash", "--norc", "-i", env={"PS1": "ready> "})
    tty.wait_for("ready>")
    tty.send(" ".join(map(str, world.guard_command("opencode", "run", "wait"))) + "\r")
    world.model.wait_for(lambda seen: seen and seen[0].text)
    tty.send("\x1a")
    tty.wait_for("Stopped")
    tty.send("fg\r")
    world.model.release("go")
    tty.wait_for("I went on.")
    tty.send("exit $?\r")
    assert tty.wait() == 0


def test_failure_of_the_model_is_the_agents_own_status(world: World) -> None:
    world.model.behave([turn(reply(Fail(status=401, message="bad key")))])
    # Guarded first: alone and without a registry, OpenCode leaves a lock behind that holds up the next
    # start with a plugin for a minute.
    guarded = world.guard("opencode", "run", "try").wait()
    plain = world.run("opencode", "run", "try")
    assert guarded.code == plain.code == 1
    assert "bad key" in guarded.err


def test_loopguard_killed_outright(world: World) -> None:
    world.model.behave([turn(reply(Hold(name="go")), *[reply(trace("a"))] * 3, say("Done."))])
    started = world.guard("opencode", "run", "go on alone")
    world.model.wait_for(len)
    agent = world.agent()
    started.signal(signal.SIGKILL)
    world.model.release("go")
    agent.wait(30)
    assert started.wait().code == -signal.SIGKILL
    assert world.count("a") == 0
    assert world.model.chats()[-1].end is End.COMPLETED


def test_two_runs_in_one_folder(world: World) -> None:
    world.model.behave(
        [
            turn(reply(Hold(name="both"), trace(name)), *[reply(trace(name))] * 2, say("Done."), match=name)
            for name in ("first", "second")
        ]
    )
    # One after the other: two OpenCodes that create their database at the same time break each other.
    first = world.guard("opencode", "run", "the first")
    world.model.wait_for(lambda seen: len(seen) == 1)
    second = world.guard("opencode", "run", "the second")
    world.model.wait_for(lambda seen: len(seen) == 2)
    world.model.release("both")
    assert (first.wait().code, second.wait().code) == (0, 0)
    assert (world.count("first"), world.count("second")) == (2, 2)


def test_a_run_inside_a_run_says_so_and_does_not_stack(world: World) -> None:
    inner = " ".join(map(str, world.guard_command("opencode", "run", "inner"))) + " 2>&1"
    start = reply(
        Call(tool="bash", args={"command": inner, "description": "Starts another", "timeout": 60_000})
    )
    world.model.behave([turn(say("Inner is done."), match="inner"), turn(start, say("Done."))])
    assert world.guard("opencode", "run", "outer").wait().code == 0
    said = next(e.request.results[0] for e in world.model.chats() if e.request.results)
    assert "Inner is done." in said
    assert "already" in said


def test_nothing_is_left_of_a_finished_run(world: World) -> None:
    world.model.behave([turn(say("Done."))])
    assert world.guard("opencode", "run", "go").wait().code == 0
    assert [entry for _, _, files in os.walk(world.runtime) for entry in files] == []
