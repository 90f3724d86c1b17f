"""Runs the stand-in agent against a scripted model, under the name ``opencode``, in folders of its own."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from loopguard_cli.testing.agent.turn import BASE_URL


class Sandbox:
    """A home below ``root`` with a project in it, and ``program``, an executable for the agent."""

    def __init__(self, root: Path, base_url: str) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self.program = root / "bin" / "opencode"
        for folder in (self.home, self.project, self.program.parent):
            folder.mkdir()
        self.program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {__package__} "$@"\n')
        self.program.chmod(0o755)
        self._base_url = base_url

    def environment(self) -> dict[str, str]:
        return {
            **{name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TERM") if name in os.environ},
            "HOME": str(self.home),
            BASE_URL: self._base_url,
        }
