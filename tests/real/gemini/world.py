"""The real Gemini CLI with a scripted model, a home and a project of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.pty.terminal import Terminal
from tests.real.harness import World

from loopguard_cli.testing.gemini import Sandbox
from loopguard_cli.testing.script import Call

CUT_OFF = r"^\[ANTI-LOOP STREAM\]"
WAITING = "The build is still running and I will wait for it. "
TASK = "Do the task."
ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"
STARTING = 120.0
"""Seconds; on a busy machine a start takes many."""
STILL = 0.5
"""Seconds for which what is drawn anew may be gone."""
LEAVING = 5
"""Attempts to leave, on a busy machine."""
BLOCKED = "I cannot go on: the repository asks for a password that only the user knows.\n[goal:blocked]"


class GeminiWorld(World):
    """A `World` whose agent is Gemini CLI."""

    sandbox = Sandbox

    def users(self) -> list[str]:
        """The user messages that the model was sent, each once."""
        return list(dict.fromkeys(exchange.request.user for exchange in self.model.chats()))

    @contextmanager
    def tui(self, *options: str) -> Iterator[Terminal]:
        """Interactive ``gemini``, guarded, ready for a prompt; told to end behind the block."""
        with self.guard_screen("gemini", "--yolo", options=options) as terminal:
            terminal.wait_for("Type your message", STARTING)
            # Before its session has begun, it keeps what is typed.
            self.wait_until(lambda: "idle" in self.ask("status").out, STARTING)
            yield terminal
            terminal.process.terminate()
            terminal.wait()


def enter(terminal: Terminal, text: str) -> None:
    """Type a prompt and send it. An Enter that comes too soon counts as pasted, so it may take another."""
    terminal.send(text)
    terminal.wait_for(f"* {text}" if not text.startswith("/") else text)
    while not _taken(terminal, text):
        terminal.send("\r")
        with suppress(TimeoutError):
            terminal.wait_for(lambda screen: not _typed(screen, text), 1)


def _typed(screen: str, text: str) -> bool:
    """Whether it stands in the composer."""
    return f"* {text}" in screen or f"*   {text}" in screen


def _taken(terminal: Terminal, text: str) -> bool:
    """It has left the composer, and not only while that is drawn anew."""
    with suppress(TimeoutError):
        terminal.wait_for(lambda screen: _typed(screen, text), STILL)
        return False
    return True


def leave(terminal: Terminal) -> int:
    """Press ^C twice: within a second by the agent's clock, which may take more than one attempt."""
    for _ in range(LEAVING):
        terminal.send("\x03")
        with suppress(TimeoutError):
            terminal.wait_for("Press Ctrl+C again to exit", 5)
        terminal.send("\x03")
        with suppress(TimeoutError):
            return terminal.wait(timeout=10)
    raise TimeoutError(f"did not end\n{terminal.text}")


def run(command: str) -> Call:
    return Call(tool="run_shell_command", args={"command": command})


def trace(name: str) -> Call:
    """A command without output whose runs `World.count` counts."""
    return run(f"echo x >> $TRACES/{name}")
