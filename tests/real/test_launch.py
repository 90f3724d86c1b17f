"""Ways to start OpenCode, and what of the person's own set-up stays in force."""

import json
import os
from pathlib import Path

import pytest
from tests.real.harness import Result, World, trace
from tests.real.test_prose import CONTAINERS, CONTINUED, on_and_on

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import reply, say, turn

THRICE = turn(*[reply(trace("a"))] * 3, say("Done."))


def was_guarded(world: World, result: Result) -> bool:
    assert result.code == 0, result
    assert "Done." in result.out
    return world.count("a") == 2


OWN_PLUGIN = """
import { appendFileSync } from "node:fs"
export default async () => ({
  "tool.execute.before": async () => appendFileSync(process.env.TRACES + "/own plugin", "x\\n"),
})
"""


def test_own_plugins_and_configuration_stay(world: World) -> None:
    world.model.behave([THRICE])
    plugin = world.root / "own.js"
    plugin.write_text(OWN_PLUGIN)
    rules = world.root / "rules.md"
    rules.write_text("Rule number one of the person.")
    content = {"plugin": [plugin.as_uri()], "instructions": [str(rules)]}
    result = world.guard("opencode", "run", "go", env={"OPENCODE_CONFIG_CONTENT": json.dumps(content)}).wait()
    assert was_guarded(world, result)
    assert world.count("own plugin") == 3
    assert "Rule number one of the person." in world.model.chats()[0].request.system


def test_the_agents_shell_cannot_find_the_bridge(world: World) -> None:
    world.model.behave([turn(reply(trace("a", command="env > $TRACES/env")), say("Done."))])
    assert world.guard("opencode", "run", "go").wait().code == 0
    names = {line.partition("=")[0] for line in (world.traces / "env").read_text().splitlines()}
    assert "LOOPGUARD_BRIDGE" not in names
    assert "npm_config_fetch_retries" not in names


@pytest.mark.parametrize("way", ["path", "relative", "wrapper", "npx"])
def test_found(world: World, way: str) -> None:
    world.model.behave([THRICE])
    options: list[str] = []
    command: list[str | Path]
    match way:
        case "path":
            command = [world.opencode]
        case "relative":
            (world.project / "oc").symlink_to(world.opencode.parent)
            command = ["./oc/opencode"]
        case "wrapper":
            command = [world.script("my-agent", 'export WRAPPED=1\nexec opencode "$@"')]
            options = ["--agent", "opencode"]
        case _:
            (world.project / "node_modules").symlink_to(world.opencode.parent.parent)
            command = ["npx", "--no-install", "opencode"]
    assert was_guarded(world, world.guard(*command, "run", "go", options=options).wait())


def test_prompt_from_standard_input(world: World) -> None:
    world.model.behave([THRICE])
    result = world.guard("opencode", "run", stdin="go\nand go on\n").wait()
    assert was_guarded(world, result)
    assert world.model.chats()[0].request.user == "go\nand go on\n"


def test_without_unix_sockets(world: World) -> None:
    world.model.behave(
        [
            turn(say("Done."), match=CONTINUED),
            turn(*[reply(trace("a"))] * 3, on_and_on(CONTAINERS)),
        ]
    )
    result = world.guard("opencode", "run", "go", env={"LOOPGUARD_LOOPBACK": "1"}).wait()
    assert was_guarded(world, result)
    assert End.CLIENT_CLOSED in [e.end for e in world.model.chats()]


def test_told_to_load_no_plugins_says_so(world: World) -> None:
    world.model.behave([THRICE])
    result = world.guard("opencode", "run", "go", env={"OPENCODE_PURE": "1"}).wait()
    assert result.code == 0
    assert "it runs unguarded" in result.err
    assert world.count("a") == 3


def test_a_bridge_that_never_speaks_says_so(world: World) -> None:
    world.model.behave([THRICE])
    wrapper = world.script("my-agent", 'unset OPENCODE_CONFIG_CONTENT\nexec opencode "$@"')
    result = world.guard(wrapper, "run", "go", options=["--agent", "opencode"]).wait()
    assert result.code == 0
    assert "it was not guarded" in result.err
    assert world.count("a") == 3


def test_other_programs_and_commands_pass_through(world: World) -> None:
    plain = world.run("opencode", "--version")
    guarded = world.guard("opencode", "--version").wait()
    assert (guarded.code, guarded.out) == (plain.code, plain.out)
    missing = world.guard("no-such-agent").wait()
    assert missing.code == 127
    assert len(missing.err.splitlines()) == 1


def test_server_and_client(world: World) -> None:
    """The sessions of a guarded server are guarded, whoever attaches to it."""
    world.model.behave([turn(say("Done."), match=CONTINUED), turn(*[reply(trace("a"))] * 3, say("Done."))])
    server = world.guard("opencode", "serve", "--port", "0")
    server.wait_for("listening on", stream="out")
    url = server.out.split()[-1]
    client = world.start("opencode", "run", "--attach", url, "--dir", str(world.project), "go")
    assert client.wait().code == 0
    assert world.count("a") == 2
    os.kill(server.process.pid, 15)
    assert "UNGUARDED" not in server.wait().err, "it was only waiting for a client"
