"""The real Claude Code with a scripted model, a home and a project of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tests.pty.terminal import Terminal
from tests.real.harness import Result, Started, World

from loopguard_cli.testing import claude
from loopguard_cli.testing.exchange import Exchange
from loopguard_cli.testing.script import Call, Reply, Say, reply

TASK = "Do the task"
CUT_OFF = r"\[ANTI-LOOP STREAM\]"
WAITING = "The build is still running and I will wait for it. "
BUSY_SECONDS = 20.0
"""What a busy machine may add to a time that we hold."""
LEAVING = 20
"""How often ^C may be needed, on a busy machine."""

QUICK = ("--set", "goal.cooldown_seconds=0.1")
GOAL = ("--goal", "make the tests pass", *QUICK)
STREAMS = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
"""Another program talks to it."""


class ClaudeWorld(World):
    """A `World` whose agent is Claude Code."""

    sandbox = claude.Sandbox

    def drive(self, *options: str, agent: tuple[str, ...] = (), stdin: str | None = None) -> Result:
        """``claude -p``, guarded."""
        return self.guard("claude", "-p", "Do the task.", *agent, options=options, stdin=stdin).wait()

    def host(self, *options: str, agent: tuple[str, ...] = ()) -> Started:
        """``claude -p``, guarded, with streams that are the test's; `say_to` prompts it."""
        command = self.guard_command("claude", "-p", *STREAMS, *agent, options=options)
        return self.start(*command, stdin="", more=True)

    def tui(self, *options: str, env: Mapping[str, str] | None = None) -> Terminal:
        """Interactive ``claude``, guarded, ready for a prompt."""
        terminal = self.guard_screen("claude", options=(*QUICK, *options), env=env)
        terminal.wait_for("for shortcuts")
        return terminal

    def distrust(self) -> None:
        """The person has not said yet whether the project is to be trusted."""
        assert isinstance(self._sandbox, claude.Sandbox)
        self._sandbox.trust()

    def streaming(self) -> Exchange:
        """The first answer that the model has begun to send."""
        (first, *_) = self.model.wait_for(lambda chats: [chat for chat in chats if chat.text])
        return first

    def hook(self, name: str, event: str = "PreToolUse") -> dict[str, Any]:
        """Settings with a hook of the person's whose calls `World.count` counts."""
        script = self.script(f"{name}.sh", f'cat >/dev/null; echo x >> "$TRACES/{name}"')
        return {"hooks": {event: [{"hooks": [{"type": "command", "command": str(script)}]}]}}


def step(name: str) -> Call:
    """A call without output whose runs `World.count` counts."""
    return run(f"echo x >> $TRACES/{name}")


def run(command: str) -> Call:
    return Call(tool="Bash", args={"command": command, "description": "Does one step"})


def on_and_on() -> Reply:
    return reply(Say(text=WAITING, times=None, pace=0.02))


def say_to(started: Started, text: str) -> None:
    """Prompt a process whose streams are ours."""
    message = {"type": "user", "message": {"role": "user", "content": text}}
    assert started.process.stdin
    started.process.stdin.write(json.dumps(message) + "\n")
    started.process.stdin.flush()


def enter(terminal: Terminal, text: str) -> None:
    terminal.send(text)
    terminal.wait_for(text)
    terminal.send("\r")


def leave(terminal: Terminal) -> None:
    """^C twice; the first may only end what still runs."""
    for _ in range(LEAVING):
        terminal.send("\x03")
        with suppress(TimeoutError):
            terminal.wait(timeout=0.4)
            return
    terminal.wait()
