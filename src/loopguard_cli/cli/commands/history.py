"""``loopguard history``: what happened, oldest first."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from loopguard_cli.store.lines import Entry

EXAMPLES = (
    "loopguard history -f",
    "loopguard history --since 2h --all",
    "loopguard history --run 3f2a --json",
)

POLL_S = 0.2
"""How soon a new line shows; a look costs two system calls."""


def _run_ids(incomplete: str) -> list[str]:
    from loopguard_cli.store.summary import runs

    return [summary.run for summary in runs(_entries(_state())) if summary.run.startswith(incomplete)]


def command(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens now.")] = False,
    run: Annotated[
        str,
        typer.Option(
            "--run",
            metavar="ID",
            help="Only this run; the beginning of its id will do.",
            autocompletion=_run_ids,
            show_default=False,
        ),
    ] = "",
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="Only this session.", show_default=False)
    ] = "",
    since: Annotated[
        str,
        typer.Option(
            "--since",
            metavar="WHEN",
            help="Only what is newer: 90s, 10m, 2h, 3d, or a date and time.",
            show_default=False,
        ),
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, metavar="N", help="Only the last N; 0: all.")
    ] = 0,
    everything: Annotated[bool, typer.Option("--all", help="Single calls and turns as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")] = False,
) -> None:
    """Show what happened, oldest first, over all runs in this folder.

    Loops and what was done about them, recoveries, goals, runs; names and digests, never content.
    """
    import time

    from loopguard_cli.cli.render import page
    from loopguard_cli.cli.render.history import history_json, history_line, notable
    from loopguard_cli.store.reading import Follower

    state = _state()
    earliest = moment(since, time.time()) if since else 0.0

    def wanted(entry: Entry) -> bool:
        return (
            entry.time >= earliest
            and entry.run.startswith(run)
            and session in ("", entry.record.session)
            and (everything or notable(entry.record))
        )

    def show(entry: Entry) -> None:
        if as_json:
            typer.echo(history_json(entry))
        else:
            page.show([history_line(entry, time.time())])

    follower = Follower(state) if follow else None
    found = [entry for entry in _entries(state) if wanted(entry)]
    for entry in found[-limit:]:
        show(entry)
    if follower is not None:
        _follow(follower.poll, wanted, show, newest=found[-1].seq if found else 0)
    elif not found and not as_json and sys.stdout.isatty():
        typer.echo("Nothing recorded that matches." if run or session or since else "Nothing recorded yet.")


def _follow(
    poll: Callable[[], list[Entry]],
    wanted: Callable[[Entry], bool],
    show: Callable[[Entry], None],
    *,
    newest: int,
) -> None:
    import time

    while True:
        for entry in poll():
            # What came between beginning to follow and reading was shown already.
            if entry.seq > newest and wanted(entry):
                show(entry)
        sys.stdout.flush()
        time.sleep(POLL_S)


def _state() -> Path:
    from loopguard_cli.store.paths import project_folder, state_path

    return state_path(project_folder(Path.cwd()))


def _entries(state: Path) -> Iterator[Entry]:
    from loopguard_cli.core.measures import counted
    from loopguard_cli.store.lines import Entry
    from loopguard_cli.store.reading import read_ledger

    damaged = 0
    for item in read_ledger(state):
        if not isinstance(item, Entry):
            damaged += 1
        elif not item.restated:
            yield item
    if damaged:
        typer.echo(
            f"loopguard: skipped {counted(damaged, 'damaged line')} of the ledger in {state}", err=True
        )


def moment(text: str, now: float) -> float:
    """Unix time of "10m" (ago) or "2026-08-02 14:00". Raises UsageError."""
    import re
    from datetime import datetime

    from loopguard_cli.errors import UsageError

    units = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
    if match := re.fullmatch(r"(\d+(?:\.\d+)?) ?(s|m|min|h|d)", text.strip()):
        return now - float(match[1]) * units[match[2]]
    try:
        return datetime.fromisoformat(text.strip()).astimezone().timestamp()
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--since {text!r} is no time", "say 90s, 10m, 2h, 3d or 2026-08-02T14:00"
        ) from error
