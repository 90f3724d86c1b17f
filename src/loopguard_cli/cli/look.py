"""Gathering what ``loopguard status`` shows: live runs by asking them, the rest from the ledger."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from loopguard_cli.cli.render.status import GoalView, RunView, SessionView, StatusView
from loopguard_cli.goal.model import STOPS, Book, Goal
from loopguard_cli.runtime.control.client import RunUnreachable, ask
from loopguard_cli.store.goals import stored_goals
from loopguard_cli.store.lines import Damage, Entry
from loopguard_cli.store.paths import project_folder, state_path
from loopguard_cli.store.reading import read_ledger
from loopguard_cli.store.runs import LiveRun, live_runs
from loopguard_cli.store.summary import RunSummary, runs

ANSWER_WITHIN_S = 2.0
"""A run that is suspended never answers; what the ledger says about it is shown instead."""

LATEST = 50
"""So many of the newest entries come along, for whoever shows them."""


def look(*, everywhere: bool = False) -> StatusView:
    """The state of this folder now; with ``everywhere`` live runs of others too. Raises StoreError."""
    project = project_folder(Path.cwd())
    state = state_path(project)
    found = list(read_ledger(state))
    entries = [item for item in found if isinstance(item, Entry)]
    known = {summary.run: summary for summary in runs(entries)}
    live = live_runs(state=None if everywhere else state)
    names = {run.run for run in live}
    over = [summary for name, summary in known.items() if name not in names]
    views = [_live(run, known.get(run.run)) for run in live]
    return StatusView(
        project=str(project),
        state=str(state),
        now=time.time(),
        runs=views,
        last_run=_over(max(over, key=lambda summary: summary.last)) if over else None,
        goals=_goals(state, [(run, view) for run, view in zip(live, views, strict=True) if view.answers]),
        damage=[item for item in found if isinstance(item, Damage)],
    )


def newest_entries(run: str = "") -> list[Entry]:
    """The latest entries of this folder's ledger (of one run), oldest first. Raises StoreError."""
    state = state_path(project_folder(Path.cwd()))
    entries = [
        item
        for item in read_ledger(state)
        if isinstance(item, Entry) and not item.restated and item.run.startswith(run)
    ]
    return entries[-LATEST:]


# --- runs ----------------------------------------------------------------------------------------


def _live(live: LiveRun, known: RunSummary | None) -> RunView:
    view = _over(known) if known else RunView(run=live.run, live=True, agent=live.agent)
    view.live, view.pid, view.since = True, live.pid, live.since
    try:
        answer = ask(live, "guard.status", timeout=ANSWER_WITHIN_S)
    except RunUnreachable:
        view.answers = False
        return view
    data: dict[str, Any] = answer.data
    told = msgspec.convert({"run": live.run, "live": True, **data}, RunView)
    for name in ("agent", "agent_version", "mode", "preset", "cap_reached"):
        setattr(view, name, getattr(told, name) or getattr(view, name))
    view.connected, view.caps, view.sessions = told.connected, told.caps, told.sessions
    return view


def _over(known: RunSummary) -> RunView:
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


# --- goals ---------------------------------------------------------------------------------------


def _goals(state: Path, answering: Iterable[tuple[LiveRun, RunView]]) -> list[GoalView]:
    """Of a session that a live run has: as that run has it in memory; else from the ledger."""
    driver = {
        session.session: run
        for run, view in answering
        if run.state == str(state)
        for session in view.sessions
    }
    views = []
    for session, book in stored_goals(state).books().items():
        run = driver.get(session)
        told = _told(run, session) if run is not None and book.focus else {}
        views += [
            _goal(
                session, number, book, goal, told if goal.id == told.get("id") else {}, driven=run is not None
            )
            for number, goal in enumerate(book.goals, start=1)
        ]
    return views


def _told(run: LiveRun, session: str) -> dict[str, Any]:
    """What the run says about the session's focused goal; nothing if it does not answer."""
    try:
        answer = ask(run, "goal.command", {"text": "status"}, session=session, timeout=ANSWER_WITHIN_S)
    except RunUnreachable:
        return {}
    return answer.data if answer.ok else {}


def _goal(
    session: str, number: int, book: Book, goal: Goal, told: dict[str, Any], *, driven: bool
) -> GoalView:
    meters, limits = goal.meters, goal.limits

    def used(name: str, otherwise: float) -> float:
        return (told.get(name) or {}).get("used") or otherwise

    # Without a run its clock stands still, whatever the ledger's last word was.
    seconds = goal.time_in_force(time.time() if driven else goal.seen)
    return GoalView(
        session=session,
        number=number,
        focused=goal.id == book.focus,
        objective=goal.objective,
        state=told.get("state") or goal.state.value,
        stop_reason=told.get("stop_reason", goal.stop.value),
        reason=goal.blocker or (STOPS[goal.stop].title if goal.stop in STOPS else ""),
        turns=int(used("turns", goal.turns)),
        max_turns=limits.turns,
        seconds=used("seconds", seconds),
        max_seconds=limits.seconds,
        tokens=int(used("total_tokens", meters.usage.total)),
        max_tokens=limits.total_tokens,
        context_tokens=int(used("context_tokens", meters.context_tokens)),
        max_context_tokens=limits.context_tokens,
        cost=used("cost", meters.usage.cost or 0.0),
        max_cost=limits.cost,
    )
