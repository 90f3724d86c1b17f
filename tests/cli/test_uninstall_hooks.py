"""What ``install-skill`` wrote is taken out again, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import Cli


def tree(*roots: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for root in roots for file in root.rglob("*") if file.is_file()}


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


@pytest.mark.parametrize("agent", ["opencode", "claude"])
@pytest.mark.parametrize("options", [(), ("--project",), ("--context",), ("--project", "--context")])
def test_it_undoes_every_way_of_installing(
    cli: Cli, project: Path, home: Path, agent: str, options: tuple[str, ...]
) -> None:
    (project / "AGENTS.md").write_text("# Mine\n")
    (project / "CLAUDE.md").write_text("# Mine too\n")
    before = tree(home, project)
    cli("install-skill", agent, *options)
    installed = tree(home, project)
    assert installed != before
    assert cli("uninstall-hooks", "--dry-run").returncode == 0
    assert tree(home, project) == installed
    done = cli("uninstall-hooks")
    assert done.returncode == 0
    assert done.stdout.startswith(("removed: ", "paragraph taken out of "))
    assert tree(home, project) == before


def test_without_anything_installed_it_says_so(cli: Cli) -> None:
    assert cli("uninstall-hooks").stdout == "Nothing of loopguard is in the agents' folders.\n"


def test_text_around_the_paragraph_stays(cli: Cli, project: Path) -> None:
    file = project / "AGENTS.md"
    file.write_text("# Before")
    cli("install-skill", "--project", "--context")
    file.write_text(file.read_text() + "\n# After\n")
    cli("uninstall-hooks")
    assert file.read_text() == "# Before\n\n# After\n"


def test_a_changed_skill_is_kept_unless_forced(cli: Cli, home: Path) -> None:
    cli("install-skill")
    skill = home / ".config/opencode/skills/loopguard/SKILL.md"
    skill.write_text(skill.read_text() + "Mine.\n")
    assert "kept, since it was changed" in cli("uninstall-hooks").stdout
    assert skill.exists()
    cli("uninstall-hooks", "--force")
    assert not skill.parent.exists()
