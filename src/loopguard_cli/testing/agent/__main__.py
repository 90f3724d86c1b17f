"""``python -m loopguard_cli.testing.agent run [--session ID] [MESSAGE]``.

Without a message, the prompt is read from standard input.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from loopguard_cli.testing.agent.history import History
from loopguard_cli.testing.agent.turn import Agent


def main() -> int:
    parser = argparse.ArgumentParser(prog="opencode", description="A scripted stand-in for an agent.")
    parser.add_argument("command", choices=["run"])
    parser.add_argument("--session", "-s", default="")
    parser.add_argument("--agent")
    parser.add_argument("--model", "-m")
    parser.add_argument("message", nargs="*")
    given = parser.parse_intermixed_args()
    folder = Path(os.environ["HOME"]) / ".local" / "share" / "scripted-agent"
    prompt = " ".join(given.message) or sys.stdin.read()
    return Agent(History(folder, given.session)).run(prompt)


if __name__ == "__main__":
    sys.exit(main())
