"""The template for adapters of other packages: installed beside us, it is one agent more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).parents[2] / "contrib" / "adapter"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for ``PYTHONPATH`` with the template installed in it as a distribution of its own."""
    folder = tmp_path_factory.mktemp("template")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=TEMPLATE, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, "--target", folder / "site", wheel], check=True, capture_output=True)
    return folder / "site"


def run(site: Path, home: Path, *argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LOOPGUARD_")}
    environment = {
        **inherited,
        "HOME": str(home),
        "PYTHONPATH": str(site),
        "PATH": f"{TEMPLATE / 'tests'}{os.pathsep}{inherited['PATH']}",
        "XDG_RUNTIME_DIR": str(home),
    }
    return subprocess.run(
        [sys.executable, "-m", *argv], cwd=home, env=environment, input=stdin, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def test_it_is_an_agent_like_ours(site: Path, tmp_path: Path) -> None:
    done = run(site, tmp_path, "loopguard_cli", "agents", "--json")
    agents = {one["agent"]: one for one in json.loads(done.stdout)}
    assert [surface["form"] for surface in agents["example"]["surfaces"]] == ["console", "one-shot"]


def test_its_agent_is_recognised_and_its_loop_stopped(site: Path, tmp_path: Path) -> None:
    healthy = run(site, tmp_path, "loopguard_cli", "run", "--", "example-agent", stdin="hello")
    assert healthy.returncode == 0, healthy.stderr
    assert "1 tool call, 0 blocked, 0 turns cut off" in healthy.stderr
    looping = run(site, tmp_path, "loopguard_cli", "run", "--", "example-agent", stdin="again")
    assert looping.returncode == 80, looping.stderr
    assert "3 turns cut off, 2 continuations" in looping.stderr


def test_it_passes_the_conformance_suite(site: Path, tmp_path: Path) -> None:
    options = ("-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path))
    done = run(site, tmp_path, "pytest", *options, str(TEMPLATE / "tests"))
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout


def test_one_that_cannot_be_loaded_is_named_and_harms_no_other(site: Path, tmp_path: Path) -> None:
    broken = tmp_path / "site" / "broken-1.dist-info"
    broken.mkdir(parents=True)
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (broken / "entry_points.txt").write_text("[loopguard.adapters]\nbroken = no_such_module:AGENT\n")
    both = Path(f"{tmp_path / 'site'}{os.pathsep}{site}")
    listed = run(both, tmp_path, "loopguard_cli", "agents")
    assert listed.returncode == 0, listed.stderr
    assert "example-agent" in listed.stdout
    assert "broken" in listed.stderr
    assert run(both, tmp_path, "loopguard_cli", "run", "--", "example-agent", stdin="hello").returncode == 0
    asked = run(both, tmp_path, "loopguard_cli", "run", "--agent", "broken", "--", "true")
    assert asked.returncode == 2
    assert "no_such_module" in asked.stderr
