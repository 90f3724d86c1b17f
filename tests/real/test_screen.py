"""OpenCode's own screen, guarded, in a pseudo-terminal: what the person sees, and that the keys work."""

import os
import signal

import pytest
from tests.pty.terminal import Terminal
from tests.real.harness import World, trace
from tests.real.test_prose import CONTAINERS, CONTINUED, TAG, on_and_on

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Call, Say, reply, say, turn

READY = "Ask anything"


@pytest.fixture
def tty(world: World) -> Terminal:
    tty = world.guard_screen("opencode")
    tty.wait_for(READY)
    return tty


def leave(tty: Terminal) -> None:
    tty.send("\x03")
    assert tty.wait() == 0
    assert tty.changed_modes == []


def test_blocked_cut_off_resumed_and_used_up(world: World, tty: Terminal) -> None:
    world.model.behave(
        [
            turn(*[reply(trace("a"))] * 3, say("Counted."), match="^count"),
            turn(say("Hello."), match="^greet"),
            turn(on_and_on(CONTAINERS), match="^loop once"),
            turn(on_and_on(CONTAINERS), match="^loop for ever"),
            turn(say("Went on."), match=CONTINUED),
        ]
    )
    tty.send("count\r")
    tty.wait_for("Counted.")
    assert world.count("a") == 2
    tty.wait_for("loopguard")
    tty.wait_for("3 times")

    tty.send("loop once\r")
    tty.wait_for("Went on.")
    looping = world.model.wait_for(
        lambda seen: next((e for e in seen if e.request.user == "loop once"), None)
    )
    assert looping.end is End.CLIENT_CLOSED
    assert TAG not in tty.text, "our prompt is hidden"

    tty.send("\x10")
    tty.wait_for("Commands")
    tty.send("\x1b")
    tty.wait_for(lambda text: "Commands" not in text)
    tty.send("greet\r")
    tty.wait_for("Hello.")

    world.model.behave([turn(on_and_on(CONTAINERS))])
    tty.send("loop for ever\r")
    world.model.wait_for(lambda seen: sum(e.end is End.CLIENT_CLOSED for e in seen) == 4)
    tty.wait_for("looped again after 2")
    world.model.behave([turn(say("Still here."))])
    tty.send("and now\r")
    tty.wait_for("Still here.")
    leave(tty)


SLOW_TOOL = """
import { existsSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
export default {
  description: "Does not hear an abort",
  args: {},
  async execute() {
    while (!existsSync(process.env.TRACES + "/let go")) await setTimeout(20)
    return "let go"
  },
}
"""


def test_typing_cancels_a_pending_continuation(world: World) -> None:
    """A tool that does not hear the abort keeps the session busy, so that the continuation has to wait."""
    tools = world.project / ".opencode" / "tool"
    tools.mkdir(parents=True)
    (tools / "slow.js").write_text(SLOW_TOOL)
    world.model.behave(
        [
            turn(
                reply(Call(tool="slow"), Say(text=CONTAINERS, times=None, pace=0.02, chunk=12)),
                match="^start",
            ),
            turn(say("As you wish."), match="rather"),
        ]
    )
    tty = world.guard_screen("opencode")
    tty.wait_for(READY)
    tty.send("start\r")
    world.model.wait_for(lambda seen: seen and seen[0].end is End.CLIENT_CLOSED)
    tty.send("do this rather\r")
    (world.traces / "let go").touch()
    tty.wait_for("As you wish.")
    leave(tty)
    assert not any(e.request.user.startswith(TAG) for e in world.model.chats())


def test_agent_killed_outright(world: World, tty: Terminal) -> None:
    world.model.behave([turn(reply(Call(tool="bash", args={"command": "sleep 3600", "description": "x"})))])
    tty.send("sleep\r")
    world.model.wait_for(lambda seen: seen and seen[0].end is End.COMPLETED)
    world.agent().kill()
    assert tty.wait() == 128 + signal.SIGKILL
    assert tty.changed_modes == []


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
