"""``loopguard agents``: every agent of the registry, each form with its own abilities."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from tests.cli.conftest import Cli
from tests.pty.terminal import Terminal

from loopguard_cli.agents import AGENTS


def test_every_agent_has_a_line_for_each_form(cli: Cli) -> None:
    done = cli("agents")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    for name, known in AGENTS.items():
        (head,) = [n for n, line in enumerate(lines) if line.startswith(f"{known.title} ({name})")]
        examples = [surface.example for surface in known.load().SURFACES]
        shown = lines[head + 1 : head + 1 + len(examples)]
        assert [line[2 : 2 + len(example)] for line, example in zip(shown, examples, strict=True)] == examples


def test_what_an_agent_cannot_do_is_shown(cli: Cli) -> None:
    able = dict(re.split(r" {2,}", line.strip(), maxsplit=1) for line in cli("agents").stdout.splitlines()
                if re.match(r"  \S.* {2,}\S", line))  # fmt: skip
    assert able["opencode"] == "all of it"
    assert able["--agent acp -- opencode acp"] == "all but asks before a call, takes hints"
    assert able["./anything"] == "only streams, stops"


def test_it_is_readable_on_a_narrow_terminal(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "loopguard_cli", "agents"]
    with Terminal(argv, cwd=tmp_path, env=os.environ, rows=100, columns=80) as terminal:
        assert terminal.wait() == 0
        assert "  codex exec 'fix the build'" in terminal.text
        assert "all but asks before a call, takes hints" in terminal.text


def test_json_has_all_capabilities(cli: Cli) -> None:
    agents = {one["agent"]: one for one in json.loads(cli("agents", "--json").stdout)}
    assert agents["opencode"]["surfaces"][0]["capabilities"]["gate"] is True
    assert agents["acp"]["surfaces"][0]["capabilities"]["nudge"] is False
