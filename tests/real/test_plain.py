"""OpenCode alone against the scripted model: what the guarded scenarios rest on."""

import signal

import pytest
from tests.real.harness import World, trace

from loopguard_cli.testing.conversation import Kind
from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Hold, Say, Usage, reply, say, turn


def test_a_turn_with_a_call(world: World) -> None:
    world.model.behave(
        [
            turn(
                reply(Say(text="I look.", chunk=2), trace("out")),
                say("Fixed."),
            )
        ]
    )
    result = world.run("opencode", "run", "fix the build")
    assert result.code == 0
    assert "Fixed." in result.out
    assert world.count("out") == 1
    first, second = world.model.chats()
    assert '"fix the build"' in first.request.user
    assert "bash" in first.request.tools
    assert first.session == second.session != ""
    assert len(second.request.results) == 1
    assert [e.request.kind for e in world.model.journal(None)].count(Kind.TITLE) == 1


def test_killed_in_mid_stream(world: World) -> None:
    world.model.behave([turn(reply(Say(text="I think. "), Hold()))])
    started = world.start("opencode", "run", "think")
    world.model.wait_for(lambda seen: seen and seen[0].text)
    started.signal(signal.SIGTERM)
    assert started.wait().code == -signal.SIGTERM
    assert world.model.wait_for(lambda seen: seen[0].end is End.CLIENT_CLOSED)


def test_compaction_is_told_apart(world: World) -> None:
    full = Usage(input=95_000, output=100)
    work = reply(trace("out"), usage=full)
    world.model.behave(
        [turn(work, say("Fixed."), match="fix the build"), turn(say("Went on."), match="Continue if")]
    )
    assert world.run("opencode", "run", "fix the build").code == 0
    assert Kind.SUMMARY in [e.request.kind for e in world.model.journal(None)]
    assert world.model.chats()[-1].request.mentions("The task as given.")


def test_the_screen(world: World) -> None:
    world.model.behave([turn(say("All done here."))])
    tty = world.screen("opencode")
    tty.wait_for("Ask anything")
    tty.send("fix it\r")
    tty.wait_for("All done here.")
    tty.send("\x03")
    assert tty.wait() == 0
    assert tty.changed_modes == []


def test_what_survives_a_run_is_found(world: World) -> None:
    sleeper = world.start("sleep", "3600")
    assert [process.name() for process in world.named("sleep")] == ["sleep"]
    with pytest.raises(AssertionError, match="survived"):
        world.check_survivors(timeout=0)
    sleeper.close()
