"""Real agents as just any program on a terminal."""

from collections.abc import Iterator

import pytest
from tests.real.claude.world import WAITING, ClaudeWorld, enter, leave
from tests.real.harness import World
from tests.real.installed import installed

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Say, reply, say, turn

STREAMED = reply(Say(text=WAITING, times=None, pace=0.04, chunk=12))
"""One sentence for ever, about as fast as a model writes."""


@pytest.fixture
def claude() -> Iterator[ClaudeWorld]:
    with ClaudeWorld(installed("claude")) as world:
        yield world


def test_it_cannot_tell(world: World) -> None:
    world.model.behave([turn(say("All done here."))])
    tty = world.guard_screen("opencode", options=("--agent", "terminal"))
    tty.wait_for("Ask anything", 120)
    tty.send("fix it\r")
    tty.wait_for("All done here.")
    tty.send("\x03")
    assert tty.wait() == 0
    assert tty.changed_modes == []


def test_a_loop_on_a_full_screen_is_interrupted_and_continued(claude: ClaudeWorld) -> None:
    again = turn(say("Went another way."), match=r"\[ANTI-LOOP STREAM\]")
    claude.model.behave([again, turn(STREAMED)])
    tty = claude.guard_screen("claude", options=("--agent", "terminal"))
    tty.wait_for("for shortcuts")
    enter(tty, "Do the task.")
    tty.wait_for("Went another way.", 120)
    looped = next(exchange for exchange in claude.model.chats() if WAITING[:20] in exchange.text)
    assert looped.end is End.CLIENT_CLOSED
    leave(tty)
    assert tty.changed_modes == []


def test_a_full_screen_of_a_program_nobody_named_is_not_typed_into(claude: ClaudeWorld) -> None:
    text = Say(text=WAITING, times=20, pace=0.04, chunk=12)
    claude.model.behave([turn(reply(text, Say(text="So much for that.")))])
    tty = claude.guard_screen("sh", "-c", "claude")
    tty.wait_for("for shortcuts")
    enter(tty, "Do the task.")
    tty.wait_for("So much for that.", 120)
    assert [exchange.end for exchange in claude.model.chats()].count(End.CLIENT_CLOSED) == 0
    leave(tty)
    tty.read_on()
    assert b"written 3 times in a row" in tty.raw
