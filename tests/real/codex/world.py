"""The real Codex with a scripted model, a home and a project of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.pty.terminal import Terminal
from tests.real.harness import World

from loopguard_cli.testing.conversation import Request
from loopguard_cli.testing.script import Call, Reply, Script, Turn

CUT_OFF = r"^\[ANTI-LOOP STREAM\]"
WAITING = "The build is still running and I will wait for it. "

_CONFIG = """
model = "scripted"
model_provider = "scripted"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "Scripted"
base_url = "{url}"
env_key = "SCRIPTED_KEY"
wire_api = "responses"

[projects."{project}"]
trust_level = "trusted"
"""


class CodexWorld(World):
    """A `World` whose agent is Codex."""

    def __init__(
        self, codex: Path, behaviour: Script | Callable[[Request], Reply] | Sequence[Turn] = ()
    ) -> None:
        super().__init__(codex, behaviour)
        self.codex_home = self.home / ".codex"
        self.codex_home.mkdir()
        config = _CONFIG.format(url=self.model.url, project=self.project)
        (self.codex_home / "config.toml").write_text(config)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return super().environment({"SCRIPTED_KEY": "none", **(extra or {})})

    def users(self) -> list[str]:
        """The user messages that the model was sent, each once."""
        return list(dict.fromkeys(exchange.request.user for exchange in self.model.chats()))

    def tui(self, *options: str) -> Terminal:
        """Interactive ``codex``, guarded, ready for a prompt."""
        terminal = self.guard_screen("codex", "-a", "never", options=options)
        terminal.wait_for("Ask Codex")
        return terminal


def enter(terminal: Terminal, text: str) -> None:
    """Type a prompt and send it. Enter in the same burst would count as pasted."""
    terminal.send(text)
    terminal.wait_for(text)
    terminal.send("\r")


def run(command: str, **more: Any) -> Call:
    return Call(tool="exec_command", args={"cmd": command, **more})


def trace(name: str) -> Call:
    """A command without output whose runs `World.count` counts."""
    return run(f"echo x >> $TRACES/{name}")
