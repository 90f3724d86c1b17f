"""The real Codex with a scripted model, a home and a project of its own."""

from __future__ import annotations

import json
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

    def hook(self, folder: Path) -> None:
        """A hook of the person's before each call; `count` counts its runs as ``hook``."""
        script = self.script("hook.sh", 'cat >/dev/null; echo x >> "$TRACES/hook"')
        groups = {"PreToolUse": [{"hooks": [{"type": "command", "command": str(script)}]}]}
        folder.mkdir(exist_ok=True)
        (folder / "hooks.json").write_text(json.dumps({"hooks": groups}))

    def trust_hooks(self) -> None:
        """Write down the hooks that there are as reviewed, as "Trust all" in the program does."""
        info = {"name": "test", "title": "test", "version": "1"}
        server = self.start("codex", "app-server", stdin="", more=True)
        requests = (
            ("initialize", {"clientInfo": info, "capabilities": {"experimentalApi": True}}),
            ("hooks/list", {"cwds": [str(self.project)]}),
        )
        for number, (method, params) in enumerate(requests):
            assert server.process.stdin
            server.process.stdin.write(json.dumps({"id": number, "method": method, "params": params}) + "\n")
            server.process.stdin.flush()
            server.wait_for(f'"id":{number},', stream="out")
        server.hang_up()
        answers = [json.loads(line) for line in server.wait().out.splitlines()]
        (listed,) = [answer["result"]["data"] for answer in answers if answer.get("id") == 1]
        with (self.codex_home / "config.toml").open("a") as config:
            for hook in listed[0]["hooks"]:
                config.write(f'[hooks.state."{hook["key"]}"]\ntrusted_hash = "{hook["currentHash"]}"\n')

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
