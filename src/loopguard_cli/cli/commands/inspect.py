"""``loopguard inspect``: recent tool calls with counts and blocks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopguard_cli.cli import live as live_runs

if TYPE_CHECKING:
    from loopguard_cli.store.lines import Entry
    from loopguard_cli.store.summary import CallSummary

EXAMPLES = ("loopguard inspect", "loopguard inspect --session ses_1 --json")


def command(
    run: live_runs.RunOption = "",
    session: live_runs.SessionOption = "",
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, metavar="N", help="Only the last N; 0: all.")
    ] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show recent tool calls with how often they were made and whether they are blocked.

    Of the live run; if there is none, of the last one, from the ledger. Arguments are never shown:
    equal calls have equal keys.
    """
    import time

    from loopguard_cli.cli.render import page
    from loopguard_cli.cli.render.history import InspectView, calls_page

    now = time.time()
    try:
        chosen = live_runs.choose(run)
    except live_runs.NoLiveRun:
        name, calls, live = *_recorded(run), False
    else:
        answer = live_runs.ask(chosen.run, "guard.inspect", {}, session=session)
        name, calls, live = chosen.run, _answered(answer.data, now), True
    calls = [call for call in calls if session in ("", call.session)][-limit:]
    if as_json:
        page.show_json(InspectView(run=name, live=live, calls=calls))
    else:
        page.show(calls_page(calls, now, title=f"Run {name} ({'live' if live else 'over'})"))


def _answered(data: dict[str, Any], now: float) -> list[CallSummary]:
    from loopguard_cli.store.summary import CallSummary

    calls = [
        CallSummary(
            session=view["session"], tool=view["tool"], key=view["key"], count=view["count"],
            blocked=view["blocked"], last_seen=now - view["age"], ok=view.get("ok"),
            outcome=view.get("outcome", ""),
        )
        for view in data.get("calls", ())
    ]  # fmt: skip
    return sorted(calls, key=lambda call: call.last_seen)


def _recorded(wanted: str) -> tuple[str, list[CallSummary]]:
    """Id and calls of the newest run whose id begins so. Raises NoLiveRun when there is none."""
    from loopguard_cli.store.lines import Entry
    from loopguard_cli.store.paths import project_folder, state_path
    from loopguard_cli.store.reading import read_ledger
    from loopguard_cli.store.summary import calls, runs

    project = project_folder(Path.cwd())
    entries: list[Entry] = [item for item in read_ledger(state_path(project)) if isinstance(item, Entry)]
    found = [summary for summary in runs(entries) if summary.run.startswith(wanted)]
    if not found:
        named = f"no run {wanted!r}" if wanted else "no run"
        raise live_runs.NoLiveRun(f"{named} in {project}", "start one with 'loopguard run -- opencode'")
    newest = max(found, key=lambda summary: summary.last)
    return newest.run, calls(entries, newest.run)
