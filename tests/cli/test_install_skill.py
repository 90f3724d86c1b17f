from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.conftest import Cli

OPENCODE = ".config/opencode/skills/loopguard/SKILL.md"
CLAUDE = ".claude/skills/loopguard/SKILL.md"


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


@pytest.mark.parametrize(("agent", "place"), [("opencode", OPENCODE), ("claude", CLAUDE)])
def test_writes_a_skill_where_the_agent_looks_and_says_where(
    cli: Cli, home: Path, agent: str, place: str
) -> None:
    done = cli("install-skill", agent)
    assert done.stdout == f"written: {home / place}\n"
    text = (home / place).read_text()
    assert text.startswith("---\nname: loopguard\ndescription: ")
    assert all(word in text for word in ("[ANTI-LOOP]", "[ANTI-LOOP STREAM]", "loop_check", "loop_decide"))


def test_writes_into_the_project_when_asked(cli: Cli, project: Path, home: Path) -> None:
    cli("install-skill", "--project")
    assert (project / ".opencode/skills/loopguard/SKILL.md").exists()
    assert not (home / OPENCODE).exists()


def test_never_overwrites_without_force(cli: Cli, home: Path) -> None:
    cli("install-skill")
    assert "up to date" in cli("install-skill").stdout
    (home / OPENCODE).write_text("mine")
    done = cli("install-skill")
    assert done.returncode == 2
    assert "exists already (--force replaces it" in done.stderr
    assert (home / OPENCODE).read_text() == "mine"
    assert cli("install-skill", "--force").returncode == 0
    assert (home / OPENCODE).read_text() != "mine"


def test_prints_without_writing(cli: Cli, home: Path) -> None:
    assert "loop_decide" in cli("install-skill", "--print").stdout
    assert not (home / OPENCODE).exists()


def test_the_paragraph_joins_what_is_there_and_is_replaced_only_by_force(cli: Cli, project: Path) -> None:
    file = project / "AGENTS.md"
    file.write_text("# Mine")
    cli("install-skill", "--project", "--context")
    first = file.read_text()
    assert first.startswith("# Mine\n\n<!-- loopguard: begin -->\n")
    assert "up to date" in cli("install-skill", "--project", "--context").stdout
    file.write_text(first.replace("Before repeating", "Ere repeating") + "# More\n")
    done = cli("install-skill", "--project", "--context")
    assert done.returncode == 2
    cli("install-skill", "--project", "--context", "--force")
    assert file.read_text() == first + "# More\n"


def test_a_context_file_that_is_no_text_is_left_alone(cli: Cli, project: Path) -> None:
    (project / "AGENTS.md").write_bytes(b"\xff")
    done = cli("install-skill", "--project", "--context")
    assert done.returncode == 2
    assert (project / "AGENTS.md").read_bytes() == b"\xff"
