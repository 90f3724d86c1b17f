"""The committed completions at work: each in its real shell, where that shell is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.pty.terminal import Terminal

from loopguard_cli.cli.app import COMMANDS

COMPLETIONS = Path(__file__).parents[2] / "completions"

PACE = ["guard.pace.seconds", "guard.pace.turns"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home of its own, and our program on PATH."""
    program = tmp_path / "bin" / "loopguard"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m loopguard_cli "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return {"HOME": str(tmp_path), "PATH": path, "TERM": "xterm-256color", "LANG": "C.UTF-8"}


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(environment: dict[str, str], *argv: str) -> list[str]:
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_bash(environment: dict[str, str]) -> None:
    def completed(*words: str) -> list[str]:
        script = f"""
            source {COMPLETIONS}/loopguard.bash
            COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1}
            $(complete -p loopguard | sed 's/.*-F \\([^ ]*\\) .*/\\1/') loopguard
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        return run(environment, shell("bash"), "--norc", "-c", script)

    assert completed("loopguard", "sta") == ["status"]
    assert sorted(completed("loopguard", "config", "set", "guard.pace.")) == PACE
    assert completed("loopguard", "scan", "--agent", "c") == ["claude", "codex"]
    assert completed("loopguard", "run", "--pre") == ["--preset"]


def test_fish(environment: dict[str, str]) -> None:
    def completed(line: str) -> dict[str, str]:
        script = f"source {COMPLETIONS}/loopguard.fish; complete -C '{line}'"
        told = run(environment, shell("fish"), "--no-config", "-c", script)
        return dict(entry.partition("\t")[::2] for entry in told)

    summaries = {entry.name: entry.summary for entry in COMMANDS}
    assert completed("loopguard sta") == {"status": summaries["status"]}
    assert completed("loopguard ").items() >= summaries.items()
    assert sorted(completed("loopguard config set guard.pace.")) == PACE
    assert set(completed("loopguard scan --agent c")) == {"claude", "codex"}
    assert set(completed("loopguard run --pre")) == {"--preset"}


@pytest.mark.parametrize("way", ["sourced", "on the path of functions"])
def test_zsh(way: str, environment: dict[str, str], tmp_path: Path) -> None:
    """Typed into an interactive zsh; the packagers' way loads the script on its first use."""
    if way == "sourced":
        begin = f"autoload -Uz compinit; compinit -u; source {COMPLETIONS}/loopguard.zsh"
    else:
        functions = tmp_path / "functions"
        functions.mkdir()
        shutil.copy(COMPLETIONS / "loopguard.zsh", functions / "_loopguard")
        begin = f"fpath=({functions} $fpath); autoload -Uz compinit; compinit -u"
    (tmp_path / ".zshrc").write_text(f"PS1='zsh> '; unsetopt beep; {begin}\n")
    environment["ZDOTDIR"] = str(tmp_path)
    with Terminal([shell("zsh"), "-d", "-i"], cwd=tmp_path, env=environment) as terminal:
        terminal.wait_for("zsh>")
        terminal.send("loopguard sta\t")
        terminal.wait_for("loopguard status")
        terminal.send("\x15loopguard config set guard.pace.\t")
        terminal.wait_for(lambda screen: all(key in screen for key in PACE))
        terminal.send("\x03")
        terminal.send("\x15loopguard mo\t")
        terminal.wait_for("loopguard mode")


def test_powershell(environment: dict[str, str]) -> None:
    """Asks PowerShell itself what the line would be completed with."""

    def completed(line: str) -> list[str]:
        script = (
            f". {COMPLETIONS}/loopguard.ps1; "
            f"(TabExpansion2 '{line}' {len(line)}).CompletionMatches | % CompletionText"
        )
        return run(environment, shell("pwsh"), "-NoProfile", "-NonInteractive", "-Command", script)

    assert completed("loopguard sta") == ["status"]
    assert sorted(completed("loopguard config set guard.pace.")) == PACE
