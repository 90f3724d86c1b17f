"""The real Copilot CLI with a scripted model, a home and a project of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tests.real.harness import Result, World

from loopguard_cli.testing.copilot import Sandbox
from loopguard_cli.testing.script import Call

CUT_OFF = r"(?m)^\[ANTI-LOOP STREAM\]"
WAITING = "The build is still running and I will wait for it. "
TASK = "Do the task."
ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"
BLOCKED = "I cannot go on: the repository asks for a password that only the user knows.\n[goal:blocked]"

COPILOT = ("copilot", "--allow-all-tools")
JSON = ("--output-format", "json")

_AROUND = re.compile(
    r"<current_datetime>.*?</current_datetime>\s*|\s*<system_reminder>.*?</system_reminder>", re.DOTALL
)
"""What Copilot CLI puts around each prompt."""


class CopilotWorld(World):
    """A `World` whose agent is Copilot CLI."""

    sandbox = Sandbox

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        # It unpacks itself at its first start, which takes it seconds.
        unpacked = self.opencode.parents[2] / "unpacked"
        return super().environment({"COPILOT_PKG_CACHE_HOME": str(unpacked), **(extra or {})})

    def drive(self, *options: str, agent: tuple[str, ...] = ()) -> Result:
        return self.guard(*COPILOT, *agent, "-p", TASK, options=options).wait()

    def users(self) -> list[str]:
        """The user messages that the model was sent, each once, without what the agent adds."""
        said = [_AROUND.sub("", exchange.request.user) for exchange in self.model.chats()]
        return list(dict.fromkeys(said))


def run(command: str) -> Call:
    return Call(tool="bash", args={"command": command, "description": "Notes that it ran"})


def trace(name: str) -> Call:
    """A command without output whose runs `World.count` counts."""
    return run(f"echo x >> $TRACES/{name}")
