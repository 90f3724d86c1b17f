"""``loopguard status``: runs, sessions, loops and goals of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from loopguard_cli.cli.render.status import GoalView, RunView, StatusView
    from loopguard_cli.store.runs import LiveRun
    from loopguard_cli.store.summary import RunSummary

EXAMPLES = ("loopguard status", "loopguard status --json")

ANSWER_WITHIN_S = 2.0
"""A run that is suspended never answers; what the ledger says about it is shown instead."""


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    everywhere: Annotated[
        bool, typer.Option("--all", help="Live runs of all folders, not only of this one.")
    ] = False,
) -> None:
    """Show runs, sessions, loops and goals of this folder.

    Of live runs as they are now; if there is none, of the last one.
    """
    from loopguard_cli.cli.render import page, status

    view = look(everywhere=everywhere)
    if as_json:
        page.show_json(view)
    else:
        page.show(status.page(view))


def look(*, everywhere: bool = False) -> StatusView:
    """Gather what the page shows. Raises StoreError."""
    import time

    from loopguard_cli.cli.render.status import StatusView
    from loopguard_cli.store.lines import Damage, Entry
    from loopguard_cli.store.paths import project_folder, state_path
    from loopguard_cli.store.reading import read_ledger
    from loopguard_cli.store.runs import live_runs
    from loopguard_cli.store.summary import runs

    project = project_folder(Path.cwd())
    state = state_path(project)
    found = list(read_ledger(state))
    entries = [item for item in found if isinstance(item, Entry)]
    known = {summary.run: summary for summary in runs(entries)}
    live = live_runs(state=None if everywhere else state)
    names = {run.run for run in live}
    over = [summary for name, summary in known.items() if name not in names]
    return StatusView(
        project=str(project),
        state=str(state),
        now=time.time(),
        runs=[_live(run, known.get(run.run)) for run in live],
        last_run=_over(max(over, key=lambda summary: summary.last)) if over else None,
        goals=_goals(state, driven=bool(live)),
        damage=[item for item in found if isinstance(item, Damage)],
    )


def _live(live: LiveRun, known: RunSummary | None) -> RunView:
    import msgspec

    from loopguard_cli.cli.render.status import RunView, SessionView
    from loopguard_cli.runtime.control import RunUnreachable, ask

    view = _over(known) if known else RunView(run=live.run, live=True, agent=live.agent)
    view.live, view.pid, view.since = True, live.pid, live.since
    try:
        answer = ask(live, "guard.status", timeout=ANSWER_WITHIN_S)
    except RunUnreachable:
        view.answers = False
        return view
    data: dict[str, Any] = answer.data
    view.agent, view.agent_version = data.get("agent") or view.agent, data.get("agent_version", "")
    for name in ("connected", "mode", "preset", "cap_reached"):
        setattr(view, name, data.get(name) or getattr(view, name))
    view.connected = bool(data.get("connected"))
    view.sessions = msgspec.convert(data.get("sessions", []), list[SessionView])
    return view


def _over(known: RunSummary) -> RunView:
    import msgspec

    from loopguard_cli.cli.render.status import RunView, SessionView

    sessions = [
        SessionView(**{k: v for k, v in msgspec.structs.asdict(session).items() if k != "last"})
        for session in known.sessions.values()
    ]
    return RunView(
        run=known.run, live=False, agent=known.agent, agent_version=known.agent_version,
        connected=known.connected, mode=known.mode, preset=known.preset, since=known.since,
        ended=known.ended, last=known.last, code=known.code, reason=known.reason, loops=known.loops,
        faults=known.faults, lost=known.lost, sessions=sessions,
    )  # fmt: skip


def _goals(state: Path, *, driven: bool) -> list[GoalView]:
    import time

    from loopguard_cli.cli.render.status import GoalView
    from loopguard_cli.goal.model import STOPS
    from loopguard_cli.store.goals import stored_goals

    now = time.time()
    return [
        GoalView(
            session=session,
            number=number,
            focused=goal.id == book.focus,
            objective=goal.objective,
            state=goal.state.value,
            stop_reason=goal.stop.value,
            reason=goal.blocker or (STOPS[goal.stop].title if goal.stop in STOPS else ""),
            turns=goal.turns,
            max_turns=goal.limits.turns,
            # Without a run its clock stands still, whatever the ledger's last word was.
            seconds=goal.time_in_force(now if driven else goal.seen),
            max_seconds=goal.limits.seconds,
        )
        for session, book in stored_goals(state).books().items()
        for number, goal in enumerate(book.goals, start=1)
    ]
