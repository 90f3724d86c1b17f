"""``loopguard uninstall-hooks``: take out what was ever written into the folders of agents."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from loopguard_cli.cli import agent_files

EXAMPLES = ("loopguard uninstall-hooks --dry-run", "loopguard uninstall-hooks")


def command(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, change nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Remove files that you changed, too.")] = False,
) -> None:
    """Take out what was written into the agent's folders, for all projects and for this one.

    Runs write nothing there; only 'loopguard install-skill' does. Your own text around our
    paragraph stays.
    """
    found = 0
    for path, ours in agent_files.places():
        found += _remove(path, dry_run, force) if ours else _cut(path, dry_run)
    if not found:
        typer.echo("Nothing of loopguard is in the agents' folders.")


def _remove(path: Path, dry_run: bool, force: bool) -> bool:
    text = agent_files.read(path)
    if not text:
        return False
    if text != agent_files.shipped("SKILL.md") and not force:
        typer.echo(f"kept, since it was changed or is of another version: {path} (--force removes it)")
    elif dry_run:
        typer.echo(f"would be removed: {path}")
    else:
        path.unlink()
        with suppress(OSError):  # not empty, or a link: then it is not only ours
            path.parent.rmdir()
        typer.echo(f"removed: {path}")
    return True


def _cut(path: Path, dry_run: bool) -> bool:
    from loopguard_cli.config.write import write_text

    text = agent_files.read(path)
    there = agent_files.paragraph(text)
    if there is None:
        return False
    before, after = text[: there[0]].rstrip("\n"), text[there[1] :].lstrip("\n")
    rest = "\n\n".join(part for part in (before, after) if part)
    if dry_run:
        typer.echo(f"the paragraph would be taken out of {path}")
    elif rest:
        write_text(path, rest if rest.endswith("\n") else f"{rest}\n")
        typer.echo(f"paragraph taken out of {path}")
    else:
        path.unlink()
        typer.echo(f"removed: {path}")
    return True
