"""The wheel, installed into clean environments in the ways the README names, dependencies and all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from loopguard_cli import __version__

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

_STEERING = ("PYTHON", "VIRTUAL_ENV", "LOOPGUARD_", "PIPX_", "UV_TOOL", "XDG_")


def run(
    *argv: str | Path, home: Path, check: bool = True, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a program as a person whose home is ``home`` and who has set nothing that steers Python or us."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_STEERING)}
    return subprocess.run(
        argv, cwd=home, env={**inherited, "HOME": str(home), **environ},
        capture_output=True, text=True, check=check, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installers(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The ``bin`` folder of an environment with uv and pipx; None where no package index has them."""
    folder = tmp_path_factory.mktemp("installers")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "pip", "install", "--quiet", "uv", "pipx"]
    done = subprocess.run(pip, capture_output=True, check=False)
    return None if done.returncode else folder / "bin"


def with_pip(wheel: Path, home: Path) -> Path:
    run(sys.executable, "-m", "venv", home / "env", home=home)
    run(home / "env" / "bin" / "pip", "install", "--quiet", wheel, home=home)
    return home / "env" / "bin" / "loopguard"


def with_uv(wheel: Path, home: Path, bin_: Path) -> Path:
    run(bin_ / "uv", "tool", "install", "--quiet", "--python", sys.executable, wheel, home=home)
    return home / ".local" / "bin" / "loopguard"


def with_pipx(wheel: Path, home: Path, bin_: Path) -> Path:
    run(bin_ / "pipx", "install", "--python", sys.executable, wheel, home=home)
    return home / ".local" / "bin" / "loopguard"


@pytest.mark.parametrize("way", ["pip", "uv", "pipx"])
def test_installed_it_works(way: str, wheel: Path, installers: Path | None, tmp_path: Path) -> None:
    if way == "pip":
        program = with_pip(wheel, tmp_path)
    elif installers is None:
        pytest.skip("no package index has uv and pipx")
    else:
        program = (with_uv if way == "uv" else with_pipx)(wheel, tmp_path, installers)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    assert run(program, "--version", home=tmp_path).stdout == f"loopguard {__version__}\n"

    found = json.loads(run(program, "doctor", "--json", home=tmp_path, PATH=path).stdout)
    assert f"started as {program}" in [one["text"] for one in found]

    played = run(program, "demo", "--stand-in", "--json", home=tmp_path, check=False)
    assert json.loads(played.stdout)["ok"], played.stdout + played.stderr

    # The shell is told by who started the program, and `&&` keeps this one from becoming the program.
    run("bash", "-c", '"$0" --install-completion && true', program, home=tmp_path)
    completions = "\n".join(file.read_text() for file in tmp_path.glob(".bash*") if file.is_file())
    completions += "\n".join(file.read_text() for file in tmp_path.glob(".bash_completions/*"))
    assert "_loopguard_completion" in completions
