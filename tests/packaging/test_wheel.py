"""The built wheel, installed as a person would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prefix under which the wheel was installed, without its dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    prefix = folder / "prefix"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, "--ignore-installed", "--prefix", prefix, wheel], check=True, capture_output=True)
    return prefix


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("share/bash-completion/completions/loopguard", "completions/loopguard.bash"),
        ("share/zsh/site-functions/_loopguard", "completions/loopguard.zsh"),
        ("share/fish/vendor_completions.d/loopguard.fish", "completions/loopguard.fish"),
        ("share/loopguard/completions/loopguard.ps1", "completions/loopguard.ps1"),
        ("share/man/man1/loopguard.1", "man/loopguard.1"),
        ("share/man/man1/loopguard-run.1", "man/loopguard-run.1"),
    ],
)
def test_shells_and_man_find_their_files(installed: Path, place: str, source: str) -> None:
    assert (installed / place).read_bytes() == (ROOT / source).read_bytes()


def test_data_files_of_the_package_are_in_it(installed: Path) -> None:
    (package,) = installed.rglob("loopguard_cli")
    sources = ROOT / "src" / "loopguard_cli"
    wanted = {
        file.relative_to(sources)
        for file in sources.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    found = {file.relative_to(package) for file in package.rglob("*") if file.is_file()}
    assert wanted <= found
    assert {Path("py.typed"), Path("agents/opencode/bridge.js"), Path("cli/texts/SKILL.md")} <= found


def test_the_command_is_there(installed: Path) -> None:
    assert (installed / "bin" / "loopguard").exists()
