"""Every command line in the documentation is run, page by page and in the order of the page.

A page gets a project and a home of its own, a stand-in for the agent, and a scripted model. What
counts: no command line is wrong (status 2), and none fails inside (125, or a crash report).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopguard_cli.cli.app import COMMANDS
from loopguard_cli.exit_codes import ExitCode
from loopguard_cli.testing.agent import sandbox
from loopguard_cli.testing.model import ScriptedModel
from loopguard_cli.testing.script import say, turn

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
ENDLESS = ("--watch", "--follow", "-f")
ELSEWHERE = {"demo"}
"""Has tests of its own, and takes its time."""

TRACE = """\
{"trace": "a", "label": "progress"}
{"t": 0, "kind": "user", "text": "fix it"}
{"t": 1, "kind": "text", "text": "Done."}
{"t": 2, "kind": "turn_end"}
"""
"""A labelled trace in the neutral format."""

_FENCED = re.compile(r"^```(?:sh|console)?\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`(loopguard [^`]+)`")
_FINE = {ExitCode.OK, ExitCode.FAILED, ExitCode.GOAL_LIMIT}
"""1: there is no live run to ask. 82: the stand-in does not finish the goal. Both are answers."""
_MENTION = re.compile(
    r"missing (argument|parameter|command)|no agent given|requires an argument|no run and no session"
)
"""What a command says of which a text only gives the name."""


def command_lines(page: Path) -> list[str]:
    """In fenced blocks and, where they are whole, inline; in the order of the page."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in re.finditer(f"{_FENCED.pattern}|{_INLINE.pattern}", text, _FENCED.flags):
        if match[2]:
            found.append(" ".join(match[2].split()))
            continue
        for line in match[1].replace("\\\n", " ").splitlines():
            line = re.sub(r"\s+#.*", "", line.strip().removeprefix("$ "))
            if line.startswith("loopguard "):
                found.append(line)
    names = {entry.name for entry in COMMANDS}
    return [
        line
        for line in dict.fromkeys(found)
        if (words := line.split()[1:]) and "…" not in line and not re.search(r"\b[A-Z]{2,}\b", line)
        and (words[0] in names or words[0].startswith("-"))
    ]  # fmt: skip


ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"
AGENTS = ("claude", "claude-agent-acp", "codex", "copilot", "gemini", "pi", "qwen")
"""Have stand-ins that do nothing and end well; the real ones are tried in tests/real."""


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """It finishes a goal as soon as it is continued, so that no page waits for a limit."""
    with ScriptedModel((turn(say(ACHIEVED), match="^<goal_continuation>"), turn(say("Done.")))) as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, model: ScriptedModel) -> sandbox.Sandbox:
    """Home, project and programs; the project has what the pages take for granted."""
    box = sandbox.Sandbox(tmp_path, model.url)
    (box.project / ".git").mkdir()
    settings = box.home / ".config" / "loopguard" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[goal]\nmax_turns = 1\n")  # the stand-in never finishes one
    (box.project / "traces").mkdir()
    (box.project / "traces" / "a.jsonl").write_text(TRACE)
    (box.project / "opencode.json").write_text('{"plugin": ["opencode-infinity-loop-guard"]}')
    (box.project / ".pi").mkdir()
    (box.project / ".pi" / "loop-guard.json").write_text("{}")
    (tmp_path / "run").mkdir(mode=0o700)
    agent = box.program.read_text().splitlines()[-1]
    box.program.write_text(f'#!/bin/sh\n[ "$1" = run ] || exit 0\n{agent}\n')
    programs = [box.program.parent / name for name in ("some-agent", "make", *AGENTS)]
    for program in (*programs, box.project / "my-agent", box.project / "anything"):
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)
    return box


def run(line: str, box: sandbox.Sandbox) -> tuple[int, str]:
    """Exit status and standard error; of a command without an end, once it has said something."""
    words = shlex.split(re.split(r" [|<>&]+ ", line)[0])[1:]
    path = f"{box.program.parent}{os.pathsep}{os.environ['PATH']}"
    environ = {
        **box.environment(),
        "PATH": path,
        "XDG_RUNTIME_DIR": str(box.home.parent / "run"),
        "SHELL": "/bin/bash",
    }
    with subprocess.Popen(
        [sys.executable, "-m", "loopguard_cli", *words], cwd=box.project, env=environ,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        if set(ENDLESS) & set(words):
            assert process.stdout
            if "--watch" in words:
                assert process.stdout.readline()
            process.terminate()
            process.wait()
            return 0, ""
        try:
            errors = process.communicate(timeout=150)[1]
        finally:
            process.terminate()
        return process.returncode, errors


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_line_works_as_it_stands(page: Path, place: sandbox.Sandbox) -> None:
    failed, text = [], page.read_text(encoding="utf-8")
    for line in command_lines(page):
        if line.split()[1] in ELSEWHERE:
            continue
        code, errors = run(line, place)
        mentioned = f"`{line}`" in text and _MENTION.search(errors)
        if not mentioned and (code not in _FINE or "this is a bug" in errors):
            failed.append((line, code, errors))
    assert not failed, "\n".join(f"{line}: {code} {errors}" for line, code, errors in failed)


def test_enough_command_lines_are_found() -> None:
    found = {line for page in PAGES for line in command_lines(page)}
    assert {line.split()[1] for line in found} >= {
        "run",
        "goal",
        "status",
        "history",
        "scan",
        "replay",
        "config",
    }
