"""The page of ``loopguard status``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from loopguard_cli.cli.render.budgets import bars
from loopguard_cli.cli.render.page import Block, Cell, Line, Table, Tone, line
from loopguard_cli.cli.render.texts import age, ago, cut
from loopguard_cli.core.measures import counted, duration, money, number
from loopguard_cli.store.lines import Damage


class GaugeView(msgspec.Struct, kw_only=True):
    """How near a rule or a hard cap is to its limit."""

    rule: str = ""
    name: str = ""
    """Of a cap."""
    used: float = 0.0
    limit: float = 0.0
    tool: str = ""


class CallNow(msgspec.Struct, kw_only=True):
    """The newest call of a session."""

    tool: str
    key: str
    count: int = 0
    blocked: bool = False
    ok: bool | None = None
    """None: it has not come back."""
    age: float = 0.0
    """Seconds since it was last heard of."""


class SessionView(msgspec.Struct, kw_only=True):
    """One session of a run."""

    session: str
    parent: str = ""
    status: str = ""
    """busy, idle, retry; empty when the run is over."""
    agent: str = ""
    model: str = ""
    calls: int = 0
    turns: int = 0
    tokens: int = 0
    cost: float = 0.0
    blocks: int = 0
    aborts: int = 0
    nudges: int = 0
    continuations: int = 0
    recovery: str = "none"
    """Step of the recovery that is under way."""
    stopped: bool = False
    muted: bool = False
    call: CallNow | None = None
    """Of live runs."""
    gauges: list[GaugeView] = []
    """Of live runs: rules that have begun to count."""


class RunView(msgspec.Struct, kw_only=True):
    """A run, live or over."""

    run: str
    live: bool
    answers: bool = True
    """Live runs: it answered; if not, the figures are those of the ledger."""
    pid: int | None = None
    agent: str = ""
    agent_version: str = ""
    connected: bool = False
    """The agent is guarded now; of a run that is over: it was."""
    mode: str = ""
    preset: str = ""
    since: float = 0.0
    """Unix time."""
    ended: float | None = None
    """Unix time; None: still running, or killed."""
    last: float | None = None
    """Unix time of the newest record in the ledger."""
    code: int | None = None
    reason: str = ""
    loops: dict[str, int] = {}
    """Findings by rule."""
    cap_reached: str = ""
    caps: list[GaugeView] = []
    """Hard caps that are set, of live runs."""
    faults: int = 0
    lost: int = 0
    """Records that could not be written."""
    sessions: list[SessionView] = []


class GoalView(msgspec.Struct, kw_only=True):
    """A live goal in short."""

    session: str
    """Empty: it waits for the next run."""
    number: int
    focused: bool
    objective: str
    state: str
    stop_reason: str = ""
    reason: str = ""
    """Why it stands still, for a person."""
    turns: int = 0
    max_turns: int = 0
    seconds: float = 0.0
    max_seconds: float = 0.0
    tokens: int = 0
    max_tokens: int = 0
    """0: no limit."""
    context_tokens: int = 0
    """The largest request so far."""
    max_context_tokens: int = 0
    cost: float = 0.0
    max_cost: float = 0.0
    """0: no limit."""


class StatusView(msgspec.Struct, kw_only=True):
    """Everything ``loopguard status`` tells."""

    project: str
    state: str
    now: float
    runs: list[RunView]
    """Live ones, oldest first."""
    last_run: RunView | None
    """The newest run that is over."""
    goals: list[GoalView]
    damage: list[Damage]


def page(view: StatusView) -> list[Block]:
    blocks: list[Block] = []
    for run in view.runs:
        blocks += [*run_page(run, view.now), line()]
    if view.last_run is not None and not view.runs:
        blocks += [*run_page(view.last_run, view.now), line()]
    if not blocks:
        hint = "start one with 'loopguard run -- opencode'"
        blocks += [line(f"No run in {view.project} yet; {hint}."), line()]
    for goal in view.goals:
        blocks += [*goal_page(goal), line()]
    blocks += _damage(view.damage)
    while blocks and blocks[-1] == line():
        blocks.pop()
    return blocks


def run_page(run: RunView, now: float) -> Iterator[Block]:
    """One run with its sessions."""
    agent = f"{run.agent} {run.agent_version}".strip() or "agent unknown"
    head = [Cell(f"Run {run.run}", Tone.STRONG), Cell(f"  {agent}  "), _state(run, now)]
    if run.mode:
        shown = Tone.PLAIN if run.mode == "on" else Tone.WARN
        preset = f", preset {run.preset}" if run.preset else ""
        head.append(Cell(f"  mode {run.mode}{preset}", shown, elastic=True))
    yield Line(tuple(head))
    yield from _notes(run)
    if run.sessions:
        yield _sessions(run.sessions, live=run.live)
    else:
        yield line(Cell("  no session yet" if run.live else "  no session", Tone.QUIET))
    if run.loops:
        found = ", ".join(f"{rule} {count}" for rule, count in sorted(run.loops.items()))
        yield line("  loops found: ", found)


def _state(run: RunView, now: float) -> Cell:
    if run.live:
        return Cell(f"running for {age(now - run.since)}", Tone.GOOD)
    if run.ended is None:
        return Cell(f"killed, last heard of {ago(run.last or run.since, now)}", Tone.WARN)
    lasted = f"ended {ago(run.ended, now).replace('now', 'just now')} after {duration(run.ended - run.since)}"
    return Cell(f"{lasted}, exit status {run.code}", Tone.WARN if run.code else Tone.PLAIN)


def _notes(run: RunView) -> Iterator[Block]:
    notes = []
    if run.live and not run.answers:
        notes.append("does not answer (suspended?); the figures are from the ledger")
    elif not run.connected:
        notes.append("the agent is not guarded" if run.live else "the agent was never guarded")
    if run.reason:
        notes.append(cut(run.reason, 200))
    if run.cap_reached:
        notes.append(f"hard cap reached: {run.cap_reached}")
    if run.faults:
        notes.append(f"{counted(run.faults, 'part')} of loopguard failed and was switched off")
    if run.lost:
        notes.append(f"{counted(run.lost, 'record')} could not be written")
    for note in notes:
        yield line(Cell(f"  {note}", Tone.WARN))


def _sessions(sessions: Sequence[SessionView], *, live: bool) -> Table:
    spent = any(session.tokens or session.cost for session in sessions)
    columns = ["  session", "state", ">turns", ">calls", ">blocked", ">cut off", ">continued"]
    rows = []
    for session in sessions:
        row = [
            Cell(f"  {'↳ ' if session.parent else ''}{session.session}"),
            _session_state(session, live=live),
            Cell(number(session.turns)),
            Cell(number(session.calls)),
            _alarm(session.blocks),
            _alarm(session.aborts),
            Cell(number(session.continuations)),
        ]
        if spent:
            row += [Cell(number(session.tokens)), Cell(money(session.cost) if session.cost else "")]
        rows.append(row)
    return Table([*columns, *((">tokens", ">cost") if spent else ())], rows)


def _session_state(session: SessionView, *, live: bool) -> Cell:
    if session.stopped:
        return Cell("stopped", Tone.BAD)
    if not live:
        return Cell("over", Tone.QUIET)
    if session.recovery not in ("", "none"):
        return Cell(f"recovering ({session.recovery})", Tone.WARN)
    return Cell(f"{session.status or 'unknown'}{', muted' if session.muted else ''}")


def _alarm(count: int) -> Cell:
    return Cell(number(count), Tone.BAD if count else Tone.PLAIN)


def goal_page(goal: GoalView) -> Iterator[Block]:
    """A goal; of the one in focus also how much of its budgets is used."""
    tone = {"active": Tone.GOOD, "blocked": Tone.BAD}.get(goal.state, Tone.WARN)
    yield line(
        Cell(f"Goal {goal.number}  ", Tone.STRONG),
        Cell(" ".join(goal.objective.split()), elastic=True),
        Cell(f"  {goal_state(goal)}", tone),
        Cell(f"  {cut(goal.session, 16) or 'waits for the next run'}", Tone.QUIET),
    )
    if goal.focused and (goal.session or goal.turns or goal.seconds):
        budgets = {
            "turns": (goal.turns, goal.max_turns),
            "seconds": (goal.seconds, goal.max_seconds),
            "context_tokens": (goal.context_tokens, goal.max_context_tokens),
            "total_tokens": (goal.tokens, goal.max_tokens),
            "cost": (goal.cost, goal.max_cost),
        }
        yield Table(("", ""), [(Cell(f"  {name}"), bar) for name, bar in bars(budgets)])


def goal_state(goal: GoalView) -> str:
    """The state with its reason, where that says more."""
    return goal.state if goal.reason in ("", goal.state) else f"{goal.state} ({goal.reason})"


def _damage(damage: Sequence[Damage]) -> Iterator[Block]:
    if not damage:
        return
    yield line(Cell(f"The ledger is damaged in {counted(len(damage), 'place')}:", Tone.WARN))
    for item in damage[:5]:
        place = f"{item.file}:{item.line}" if item.line else item.file
        yield line(f"  {place}: {item.reason}{f' ({item.detail})' if item.detail else ''}")
    if len(damage) > 5:
        yield line(f"  and {len(damage) - 5} more")
