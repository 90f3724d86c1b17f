"""Promises of the project's own files."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from loopguard_cli import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_changelog_begins_with_this_version_or_what_comes_next() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert headings[0] in {"Unreleased", __version__}


@pytest.mark.parametrize("dependency", PROJECT["dependencies"])
def test_every_dependency_has_its_reason_written_down(dependency: str) -> None:
    name = re.match(r"[\w-]+", dependency)
    assert name
    assert f"**{name[0]}**" in (ROOT / "docs/decisions/0002-dependencies.md").read_text()


@pytest.mark.parametrize(
    "script", ["scripts/find-python", "scripts/install-agents", "scripts/test-pythons", ".ci/run"]
)
def test_scripts_can_be_run_and_parsed(script: str) -> None:
    file = ROOT / script
    shell = file.read_text().splitlines()[0].rpartition("/")[2].rpartition(" ")[2]
    assert file.stat().st_mode & 0o111
    subprocess.run([shell, "-n", file], check=True)


def test_find_python_names_one_that_fits() -> None:
    found = subprocess.run(
        [ROOT / "scripts/find-python"], capture_output=True, text=True, check=True
    ).stdout.strip()
    version = subprocess.run(
        [found, "-c", "import sys; print(sys.version_info >= (3, 11))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert version.stdout == "True\n"


def test_find_python_says_what_is_missing(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", ROOT / "scripts/find-python"],
        env={"PATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "needs Python 3.11" in done.stderr


def _install_agents(tmp_path: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """The script in an otherwise empty project, with nothing but basic tools on the path."""
    place = tmp_path / "scripts"
    place.mkdir(exist_ok=True)
    (place / "install-agents").write_text((ROOT / "scripts/install-agents").read_text())
    tools = tmp_path / "bin"
    tools.mkdir(exist_ok=True)
    for tool in ("cat", "cmp", "cp", "dirname", "grep", "mkdir", "rm"):
        if not (tools / tool).exists():
            (tools / tool).symlink_to(f"/usr/bin/{tool}")
    for agent, npm in (("here", "exit 0"), ("away", "echo npm error code ECONNREFUSED >&2; exit 1")):
        wanted = tmp_path / "tests" / "real" / "agents" / agent
        wanted.mkdir(parents=True, exist_ok=True)
        (wanted / "package.json").write_text(npm)
    return subprocess.run(
        ["/bin/sh", place / "install-agents", *words],
        env={"PATH": f"{tools}:{tmp_path / 'node'}", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def node(tmp_path: Path) -> None:
    """A Node, and an npm that does what the wanted package says."""
    for name, body in (("node", "exit 0"), ("npm", '[ "$1" = --version ] || . "$3/package.json"')):
        program = tmp_path / "node" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)


@pytest.mark.usefixtures("node")
def test_what_cannot_be_installed_is_left_out_with_the_reason_where_that_is_offered(tmp_path: Path) -> None:
    done = _install_agents(tmp_path, "--offered", CI="true")
    assert done.returncode == 0, done
    assert "ECONNREFUSED" in done.stderr
    assert (tmp_path / ".agents/here/installed.json").exists()
    assert not (tmp_path / ".agents/away/installed.json").exists()
    assert "ECONNREFUSED" in (tmp_path / ".agents/away/not-installed").read_text()


@pytest.mark.usefixtures("node")
def test_what_cannot_be_installed_is_an_error_under_ci(tmp_path: Path) -> None:
    assert _install_agents(tmp_path, "here", CI="true").returncode == 0
    assert _install_agents(tmp_path, "away", CI="true").returncode == 1


def test_without_node_it_is_offered_that_all_are_left_out(tmp_path: Path) -> None:
    done = _install_agents(tmp_path, "--offered", CI="true")
    assert done.returncode == 0
    assert "Node is not installed" in (tmp_path / ".agents/here/not-installed").read_text()


def test_without_node_the_agents_are_skipped_and_that_is_said(tmp_path: Path) -> None:
    done = _install_agents(tmp_path)
    assert done.returncode == 0
    assert "Node is not installed: tests that drive the real agents will be skipped" in done.stderr


def test_under_ci_a_missing_node_is_an_error(tmp_path: Path) -> None:
    assert _install_agents(tmp_path, CI="true").returncode == 1
