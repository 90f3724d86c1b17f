"""``loopguard install-skill``: advice for the model, written where its agent looks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loopguard_cli.cli import agent_files
from loopguard_cli.cli.agent_files import Agent

EXAMPLES = (
    "loopguard install-skill",
    "loopguard install-skill --context --print",
    "loopguard install-skill claude --project",
)


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
    files are written, unless --force is given. 'loopguard uninstall-hooks' takes it out again.
    """
    text = agent_files.shipped("CONTEXT.md" if context else "SKILL.md")
    where = agent_files.context_file if context else agent_files.skill_file
    path = where(agent, project=project)
    if show:
        typer.echo(f"{path}:\n\n{text}", nl=False)
    elif context:
        _add(path, text, force=force)
    else:
        _write(path, text, force=force)


def _write(path: Path, text: str, *, force: bool) -> None:
    from loopguard_cli.errors import UsageError

    if agent_files.read(path) == text:
        typer.echo(f"{path} is up to date")
        return
    if path.exists() and not force:
        raise UsageError(f"{path} exists already", "--force replaces it, --print shows the new text")
    _save(path, text)


def _add(path: Path, text: str, *, force: bool) -> None:
    """Append our paragraph between two marks; with ``force`` replace an older one."""
    from loopguard_cli.errors import UsageError

    before = agent_files.read(path)
    block = f"{agent_files.BEGIN}\n{text}{agent_files.END}\n"
    if block in before:
        typer.echo(f"{path} is up to date")
        return
    if there := agent_files.paragraph(before):
        if not force:
            raise UsageError(f"{path} has another version of the paragraph", "--force replaces it")
        _save(path, before[: there[0]] + block + before[there[1] :])
        return
    gap = "" if not before or before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"
    _save(path, before + gap + block)


def _save(path: Path, text: str) -> None:
    from loopguard_cli.config.write import write_text

    write_text(path, text)
    typer.echo(f"written: {path}")
