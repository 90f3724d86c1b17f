"""``loopguard install-skill``: advice for the model, written where its agent looks for it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = (
    "loopguard install-skill",
    "loopguard install-skill --context --print",
    "loopguard install-skill claude --project",
)


class Agent(StrEnum):
    OPENCODE = "opencode"
    CLAUDE = "claude"


_BEGIN, _END = "<!-- loopguard: begin -->", "<!-- loopguard: end -->"


def command(
    agent: Annotated[Agent, typer.Argument(metavar="opencode|claude", help="Whose folder.")] = Agent.OPENCODE,
    project: Annotated[bool, typer.Option("--project", help="For this project, not for all.")] = False,
    context: Annotated[
        bool, typer.Option("--context", help="Add a short paragraph to AGENTS.md (CLAUDE.md) instead.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    show: Annotated[bool, typer.Option("--print", help="Print the text, write nothing.")] = False,
) -> None:
    """Write advice about repetition into the agent's folder.

    The guard works without it; a model that knows the rules runs into them less often. Only new
    files are written, unless --force is given.
    """
    text = _text("CONTEXT.md" if context else "SKILL.md")
    path = _context_file(agent, project=project) if context else _skill_file(agent, project=project)
    if show:
        typer.echo(f"{path}:\n\n{text}", nl=False)
    elif context:
        _add(path, text, force=force)
    else:
        _write(path, text, force=force)


def _text(name: str) -> str:
    from importlib.resources import files

    return (files("loopguard_cli.cli.texts") / name).read_text(encoding="utf-8")


def _folder(agent: Agent, *, project: bool) -> Path:
    import os

    from loopguard_cli.store.paths import project_folder

    if project:
        return project_folder(Path.cwd()) / f".{agent}"
    if agent is Agent.CLAUDE:
        return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".config") / "opencode"


def _skill_file(agent: Agent, *, project: bool) -> Path:
    return _folder(agent, project=project) / "skills" / "loopguard" / "SKILL.md"


def _context_file(agent: Agent, *, project: bool) -> Path:
    folder = _folder(agent, project=project)
    # In a project the instructions stand beside the agent's folder, not in it.
    return (folder.parent if project else folder) / ("CLAUDE.md" if agent is Agent.CLAUDE else "AGENTS.md")


def _write(path: Path, text: str, *, force: bool) -> None:
    from loopguard_cli.errors import UsageError

    if _read(path) == text:
        typer.echo(f"{path} is up to date")
        return
    if path.exists() and not force:
        raise UsageError(f"{path} exists already", "--force replaces it, --print shows the new text")
    _save(path, text)


def _add(path: Path, text: str, *, force: bool) -> None:
    """Append our paragraph between two marks; with ``force`` replace an older one."""
    from loopguard_cli.errors import UsageError

    before = _read(path)
    block = f"{_BEGIN}\n{text}{_END}\n"
    if block in before:
        typer.echo(f"{path} is up to date")
        return
    start, end = before.find(_BEGIN), before.find(_END)
    if 0 <= start < end:
        if not force:
            raise UsageError(f"{path} has another version of the paragraph", "--force replaces it")
        _save(path, before[:start] + block + before[end + len(_END) :].removeprefix("\n"))
        return
    gap = "" if not before or before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"
    _save(path, before + gap + block)


def _read(path: Path) -> str:
    from loopguard_cli.errors import InputError

    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text ({type(error).__name__})") from None


def _save(path: Path, text: str) -> None:
    from loopguard_cli.config.write import write_text

    write_text(path, text)
    typer.echo(f"written: {path}")
