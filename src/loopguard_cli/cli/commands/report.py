"""``loopguard report``: one session, run or trace as a page for the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from loopguard_cli.report import Report
    from loopguard_cli.store.lines import Entry
    from loopguard_cli.store.redaction import Redactor

EXAMPLES = (
    "loopguard report --open",
    "loopguard report 3f2a -o night.html",
    "loopguard report trace.jsonl --include-content",
    "loopguard report ~/.claude/projects/-home-me-shop/1111.jsonl",
)


def _names(incomplete: str) -> list[str]:
    from loopguard_cli.store.summary import runs

    return [one.run for one in runs(_entries()) if one.run.startswith(incomplete)]


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[RUN|SESSION|FILE]",
            help="A run of this folder, an agent's session, or a trace or session file; the beginning "
            "of an id will do. Without one: the newest run, else the newest session, of this folder.",
            autocompletion=_names,
            show_default=False,
        ),
    ] = "",
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write it; - is standard output."),
    ] = "loopguard-report.html",
    open_it: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    include_content: Annotated[
        bool,
        typer.Option("--include-content", help="With prompts, arguments, results and texts, redacted."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what the page would show as JSON; write nothing.")
    ] = False,
) -> None:
    """Show what happened in one session: its loops, why they were loops, and what was done.

    The page is one file and loads nothing. A run is told from the ledger, which holds no content; a
    trace or an agent's session can be shown with its content, redacted, if you ask for it.
    """
    from loopguard_cli.report import render
    from loopguard_cli.store.redaction import Redactor

    redactor = Redactor(str(Path.home())) if include_content else None
    report = _report(name, redactor)
    if as_json:
        from loopguard_cli.cli.render.page import show_json

        show_json(report)
        return
    page = render(report)
    if output == "-":
        typer.echo(page)
        return
    path = Path(output).expanduser()
    _write(path, page, private=include_content)
    typer.echo(str(path))
    if open_it:
        import webbrowser

        if not webbrowser.open(path.absolute().as_uri()):
            typer.echo(f"loopguard: no browser could be started; open {path} in one", err=True)


def _report(name: str, redactor: Redactor | None) -> Report:
    import os

    from loopguard_cli.config.load import load_for
    from loopguard_cli.errors import InputError
    from loopguard_cli.store.paths import project_folder
    from loopguard_cli.study import sources

    project = project_folder(Path.cwd())
    settings = load_for(project, assignments=["guard.mode=on"]).settings
    if not Path(name.partition("#")[0]).is_file() and (run := _run(name, redactor)) is not None:
        from loopguard_cli.cli.render.recorded import report_of_run

        return report_of_run(_entries(), run, project=str(project), settings=settings.goal)
    find = sources.named(name, Path.home(), os.environ) if name else None
    found = find or (None if name else sources.newest_of(Path.cwd(), Path.home(), os.environ))
    if found is None:
        what = f"nothing is called {name!r}" if name else "no run and no session of this folder"
        raise InputError(what, "'loopguard history' and 'loopguard scan' name runs and session files")
    return sources.report_of(found, settings.guard, content=redactor)


def _run(name: str, redactor: Redactor | None) -> str | None:
    """The newest run of this folder whose id begins so."""
    from loopguard_cli.errors import UsageError
    from loopguard_cli.store.summary import runs

    found = [one.run for one in runs(_entries()) if one.run.startswith(name)]
    if found and redactor is not None:
        if not name:
            return None
        raise UsageError(
            f"run {found[-1]} is told from the ledger, which holds no content",
            "name a trace (run --record) or the agent's session to include content",
        )
    return found[-1] if found else None


def _entries() -> list[Entry]:
    from loopguard_cli.store import lines
    from loopguard_cli.store.paths import project_folder, state_path
    from loopguard_cli.store.reading import read_ledger

    project = project_folder(Path.cwd())
    return [one for one in read_ledger(state_path(project)) if isinstance(one, lines.Entry)]


def _write(path: Path, page: str, *, private: bool) -> None:
    """Replaces a former report; anything else that is there stays."""
    import os

    from loopguard_cli.errors import InputError
    from loopguard_cli.report import MARK
    from loopguard_cli.store.folder import reason

    try:
        if path.exists():
            with path.open(encoding="utf-8", errors="replace") as file:
                if file.read(len(MARK)) != MARK:
                    raise InputError(f"{path} is there and is no report", "name another file with -o")
        fresh = path.with_name(f".{path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(fresh, flags, 0o600 if private else 0o644), "w", encoding="utf-8") as file:
            file.write(page)
        fresh.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {reason(error)}", "name another file with -o") from error
