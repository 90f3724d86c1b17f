"""``loopguard scan``: what a guard would have found in the sessions that are on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopguard_cli.core.settings import Preset

if TYPE_CHECKING:
    from loopguard_cli.history import Conversation
    from loopguard_cli.study.scan import Totals, Wanted
    from loopguard_cli.study.workers import Progress

EXAMPLES = (
    "loopguard scan",
    "loopguard scan --since 7d --agent claude",
    "loopguard scan ~/old-sessions --top 3 --show",
    "loopguard scan --set guard.calls.repeat_threshold=5",
)

_INTERRUPTED = 130


def _agents(incomplete: str) -> list[str]:
    from loopguard_cli.history import READERS

    return [name for name in READERS if name.startswith(incomplete)]


def command(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Session files or folders; without any, the places where agents keep theirs.",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        str,
        typer.Option(
            "--since",
            metavar="WHEN",
            help="Only what is newer: 90s, 10m, 2h, 3d, or a date and time.",
            show_default=False,
        ),
    ] = "",
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent", metavar="NAME", help="Only this agent's; repeatable.", autocompletion=_agents
        ),
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option("--project", metavar="FOLDER", help="Only sessions that worked in or below it."),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=0, metavar="N", help="How many loops to name.")] = 10,
    preset: Annotated[Preset | None, typer.Option("--preset", help="Judge with this set of rules.")] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Judge with this setting; repeatable."),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Also print a piece of what repeated, as it is.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Find loops in past sessions: what a guard would have stopped, and what that would have saved.

    Reads what OpenCode, Claude Code, Codex, Gemini CLI and pi have written on this machine. Nothing
    is changed, nothing leaves the machine, and nothing of the content is printed without --show.
    """
    import time

    from loopguard_cli.cli.commands.history import moment
    from loopguard_cli.cli.render import page, scanned
    from loopguard_cli.config.load import load_for
    from loopguard_cli.store.paths import project_folder
    from loopguard_cli.study.scan import Totals, Wanted

    chosen = [*(assignments or ()), *([f"guard.preset={preset}"] if preset else ()), "guard.mode=on"]
    wanted = Wanted(
        settings=load_for(project_folder(Path.cwd()), assignments=chosen).settings.guard,
        project=str(project.resolve()) if project else "",  # as agents write it down
        since=moment(since, time.time()) if since else 0.0,
        show=show,
    )
    totals = Totals(top=top)
    finished = False
    with suppress(KeyboardInterrupt):  # What was found until then is worth printing.
        _scan(_conversations(paths or [], agents or [], wanted.since), wanted, totals, quiet=as_json)
        finished = True
    if as_json:
        page.show_json(scanned.as_json(totals, wanted.settings, finished=finished))
    else:
        asked = scanned.Asked(paths or (), narrowed=bool(since or agents or project))
        page.show(scanned.blocks(totals, wanted.settings, finished=finished, home=Path.home(), asked=asked))
    return 0 if finished else _INTERRUPTED


def _scan(conversations: list[Conversation], wanted: Wanted, totals: Totals, *, quiet: bool) -> None:
    """Fill ``totals``."""
    from contextlib import closing

    from loopguard_cli.study.scan import scan

    with (
        _bar(sum(one.size for one in conversations), quiet=quiet) as progress,
        closing(scan(conversations, wanted, progress=progress, abandoned=totals.add)) as studies,
    ):
        for study in studies:
            totals.add(study)


@contextmanager
def _bar(total: int, *, quiet: bool) -> Iterator[Progress]:
    """A progress bar on standard error, where that is a terminal."""
    import sys

    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("Reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=total)
        yield lambda done: shown.update(task, completed=min(done, total))


def _conversations(paths: list[Path], agents: list[str], since: float) -> list[Conversation]:
    import os

    from loopguard_cli.cli.lazy import nearest
    from loopguard_cli.errors import InputError, UsageError
    from loopguard_cli.study.histories import find, installed
    from loopguard_cli.study.histories import names as known

    for name in agents:
        if name not in known():
            hint = nearest(name, known()) or f"known: {', '.join(known())}"
            raise UsageError(f"unknown agent {name!r}", hint)
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such file or folder", "'loopguard scan' alone finds the histories")
    found = [one for path in paths for one in find(path)] if paths else installed(Path.home(), os.environ)
    return [one for one in found if (not agents or one.agent in agents) and one.modified >= since]
