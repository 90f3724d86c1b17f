"""The real OpenCode as just any program on a terminal."""

from tests.real.harness import World

from loopguard_cli.testing.script import say, turn


def test_it_cannot_tell(world: World) -> None:
    world.model.behave([turn(say("All done here."))])
    tty = world.guard_screen("opencode", options=("--agent", "terminal"))
    tty.wait_for("Ask anything")
    tty.send("fix it\r")
    tty.wait_for("All done here.")
    tty.send("\x03")
    assert tty.wait() == 0
    assert tty.changed_modes == []
