"""Runs ``loopguard`` as a person does: as a process, with its own standard streams."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project folder, which is the working folder of the test."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def cli(project: Path) -> Cli:
    def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "loopguard_cli", *words],
            cwd=project,
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    return run
