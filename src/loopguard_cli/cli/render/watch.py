"""The page of ``loopguard status --watch``: like that of ``status``, with what changes by the second."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from loopguard_cli.cli.render.history import describe, notable
from loopguard_cli.cli.render.page import Bar, Block, Cell, Line, Table, Tone, line
from loopguard_cli.cli.render.status import (
    GaugeView,
    RunView,
    SessionView,
    StatusView,
    goal_page,
    goal_state,
    run_page,
)
from loopguard_cli.cli.render.texts import cut, stamp, tilde
from loopguard_cli.core.measures import duration, figure, number
from loopguard_cli.store.lines import Entry

QUIET_AFTER_S = 5.0
"""A call younger than this is said to be under way; of an older one it is said since when."""


def head(view: StatusView) -> Line:
    clock = time.strftime("%H:%M:%S", time.localtime(view.now))
    return line(
        Cell("loopguard", Tone.STRONG),
        Cell(f"  {clock}  q ends  {tilde(view.project, str(Path.home()))}", Tone.QUIET),
    )


def page(view: StatusView) -> list[Block]:
    """Everything above the latest happenings."""
    blocks: list[Block] = []
    for run in view.runs:
        blocks += [*run_page(run, view.now), *_details(run), line()]
    if not view.runs and view.last_run is not None:
        blocks += [*run_page(view.last_run, view.now), line()]
    if not blocks:
        blocks += [line("No run yet; start one with 'loopguard run -- opencode'."), line()]
    for goal in view.goals:
        blocks += [*goal_page(goal), line()]
    return blocks


def latest(entries: Sequence[Entry], now: float) -> list[Line]:
    """What happened last, oldest first."""
    return [_happening(entry, now) for entry in entries if notable(entry.record)]


def _happening(entry: Entry, now: float) -> Line:
    text, tone = describe(entry.record)
    return line(Cell(f"  {stamp(entry.time, now)}  ", Tone.QUIET), Cell(text, tone))


def plain(view: StatusView) -> list[str]:
    """One line for each session of a live run, without anything that changes by itself."""
    lines = [_plain_session(run, session) for run in view.runs for session in run.sessions]
    lines += [f"{run.run} {run.agent} no session yet" for run in view.runs if not run.sessions]
    lines += [
        f"goal {goal.number} {goal_state(goal)}: {goal.turns}/{goal.max_turns} continuations"
        for goal in view.goals
    ]
    return lines or ["no live run"]


def _plain_session(run: RunView, session: SessionView) -> str:
    words = [run.run, run.agent, session.session, session.status or "unknown"]
    words += [f"calls {session.calls}", f"blocked {session.blocks}", f"cut off {session.aborts}"]
    words += [f"continued {session.continuations}"]
    words += [f"{gauge.rule} {number(gauge.used)}/{number(gauge.limit)}" for gauge in session.gauges]
    return " ".join(words)


# --- sessions ------------------------------------------------------------------------------------


def _details(run: RunView) -> Iterator[Block]:
    several = len(run.sessions) > 1
    rows: list[tuple[Cell | Bar, ...]] = []
    for session in run.sessions:
        name = f"{cut(session.session, 16)} " if several else ""
        if session.call is not None:
            rows.append((Cell(f"  {name}call"), *_call(session)))
        rows += [
            (Cell(f"  {name}{gauge.rule}"), _bar(gauge), Cell(gauge.tool, Tone.QUIET))
            for gauge in session.gauges
        ]
    rows += [(Cell(f"  cap on {cap.name}"), _bar(cap), Cell("")) for cap in run.caps]
    if rows:
        yield Table(("", "", ""), rows)


def _call(session: SessionView) -> tuple[Cell, Cell]:
    call = session.call
    assert call is not None
    what = Cell(f"{call.tool} {call.key[:8]}, number {call.count}")
    if call.blocked:
        return what, Cell("refused", Tone.BAD)
    if call.ok is None:
        return what, Cell(f"running for {duration(call.age)}", Tone.WARN)
    how = "ok" if call.ok else "failed"
    when = "just now" if call.age < QUIET_AFTER_S else f"{duration(call.age)} ago"
    return what, Cell(f"{how}, {when}", Tone.GOOD if call.ok else Tone.WARN)


def _bar(gauge: GaugeView) -> Bar:
    return Bar(gauge.used, gauge.limit, f"{figure(gauge.used)} / {figure(gauge.limit)}")
