"""The demonstration: it succeeds only when everything was really seen."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from loopguard_cli.testing.demonstration import SCENES, Played, Scene, cast


def demo(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "loopguard_cli", "demo", *options]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=100, env=dict(os.environ), check=False
    )


def test_with_the_stand_in_everything_is_seen() -> None:
    told = demo("--stand-in", "--json")
    report = json.loads(told.stdout)
    assert (told.returncode, told.stderr) == (0, "")
    assert report["ok"] is True
    assert report["agent"] == "stand-in"
    assert [scene["exit_code"] for scene in report["scenes"]] == [0, 0, 80]
    assert all(check["ok"] for scene in report["scenes"] for check in scene["checks"])


def test_told_as_a_story() -> None:
    told = demo("--stand-in")
    assert told.returncode == 0
    for scene in SCENES:
        assert scene.title in told.stdout
        assert f"$ {scene.command}" in told.stdout
    assert "FAIL" not in told.stdout
    assert "\x1b" not in told.stdout


def test_a_program_that_is_not_there() -> None:
    told = demo("--opencode", "/no/such/opencode")
    assert told.returncode == 127
    assert len(told.stderr.splitlines()) == 1
    assert "/no/such/opencode" in told.stderr


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.title)
def test_nothing_seen_is_nothing_shown(scene: Scene, tmp_path: Path) -> None:
    assert not any(check.ok for check in scene.checks(Played(None, [], tmp_path)))


def test_who_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    played_by = cast(None)
    assert played_by is not None
    assert played_by.name == "stand-in"
    program = tmp_path / "opencode"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert [c.name for c in (cast(None), cast(str(program)), cast(None, only_stand_in=True)) if c] == [
        "opencode",
        "opencode",
        "stand-in",
    ]
    assert cast("no-such-program") is None
