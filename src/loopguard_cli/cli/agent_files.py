"""What we ever write into an agent's own folders, and only on request: where it is and how it looks.

``loopguard install-skill`` writes it, ``loopguard uninstall-hooks`` takes it out again. A run
itself writes nothing there: what it gives to the agent goes with the process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from loopguard_cli.errors import InputError

BEGIN, END = "<!-- loopguard: begin -->", "<!-- loopguard: end -->"
"""The lines around our paragraph in a file of instructions."""


class Agent(StrEnum):
    OPENCODE = "opencode"
    CLAUDE = "claude"


def shipped(name: str) -> str:
    """A text of the package: ``SKILL.md`` or ``CONTEXT.md``."""
    from importlib.resources import files

    return (files("loopguard_cli.cli.texts") / name).read_text(encoding="utf-8")


def skill_file(agent: Agent, *, project: bool) -> Path:
    return _folder(agent, project=project) / "skills" / "loopguard" / "SKILL.md"


def context_file(agent: Agent, *, project: bool) -> Path:
    folder = _folder(agent, project=project)
    # In a project the instructions stand beside the agent's folder, not in it.
    return (folder.parent if project else folder) / ("CLAUDE.md" if agent is Agent.CLAUDE else "AGENTS.md")


def places() -> Iterator[tuple[Path, bool]]:
    """Every file we may have written, for all projects and for this one; and whether it is all ours."""
    for project in (False, True):
        for agent in Agent:
            yield skill_file(agent, project=project), True
            yield context_file(agent, project=project), False


def read(path: Path) -> str:
    """The text of ``path``; empty if there is none. Raises InputError."""
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read as text ({type(error).__name__})", "look at the file, or move it away"
        ) from None


def paragraph(text: str) -> tuple[int, int] | None:
    """Where our paragraph stands in ``text``, its last line end included; None if it does not."""
    start = text.find(BEGIN)
    end = text.find(END, start)
    if start < 0 or end < 0:
        return None
    end += len(END)
    return start, end + text[end:].startswith("\n")


def _folder(agent: Agent, *, project: bool) -> Path:
    from loopguard_cli.store.paths import project_folder

    if project:
        return project_folder(Path.cwd()) / f".{agent}"
    if agent is Agent.CLAUDE:
        return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".config") / "opencode"
