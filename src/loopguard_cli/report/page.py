"""A report as the text of one HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from string import Template

from loopguard_cli import __version__
from loopguard_cli.core.measures import counted, money, number, plural
from loopguard_cli.report import charts
from loopguard_cli.report.model import HINTS, MARKED, Alarm, Budget, Curve, Goal, Kind, Report, names
from loopguard_cli.report.texts import amount, clock, date, duration, html
from loopguard_cli.report.timeline import timeline

MARK = "<!doctype html><!-- loopguard report -->"
"""How every report begins: a file that begins so may be replaced by a newer one."""


UNDATED = 1e8
"""Unix times below are no dates: a trace that only knows how much time passed."""


def render(report: Report) -> str:
    """The page. Everything that comes from the session is escaped."""
    body = "\n".join(part for part in _parts(report) if part)
    return _template("page.html").substitute(
        mark=MARK,
        title=html(report.title),
        style=_template("page.css").template,
        script=_template("page.js").template,
        body=body,
        version=__version__,
    )


@cache
def _template(name: str) -> Template:
    return Template((files(__package__) / name).read_text("utf-8"))


def _parts(report: Report) -> Iterator[str]:
    yield _head(report)
    yield _notes(report)
    yield _tiles(report)
    yield _section("When", "when", charts.strip(report) + _legend(report))
    yield _alarms(report)
    yield _goals(report)
    for curve in report.curves:
        if curve.points:
            name = "curve-cost" if curve.unit == "$" else f"curve-{curve.unit}"
            drawn = charts.curve(curve, report, _limits(curve, report))
            yield _section(f"{curve.name} over time", name, drawn)
    left_out = f"<p>{counted(report.left_out, 'more item')} left out.</p>" if report.left_out else ""
    yield _section("What happened", "timeline", f"{_filter()}{timeline(report)}{left_out}")


def _section(title: str, name: str, body: str) -> str:
    head = f'<h2 id="h-{name}">{html(title)}</h2>'
    return f'<section id="{name}" aria-labelledby="h-{name}">{head}{body}</section>'


def _head(report: Report) -> str:
    agent = html(f"{report.agent} {report.version}".strip())
    turns, took = counted(len(report.turns), "turn"), duration(report.ended - report.started)
    day = date(report.started) if report.started > UNDATED else ""
    facts = [agent, html(report.project), day, f"{turns} in {took}"]
    source = f'<p class="source">{html(report.source)}</p>' if report.source else ""
    shown = " · ".join(fact for fact in facts if fact)
    return f"<header><h1>{html(report.title)}</h1><p>{shown}</p>{source}</header>"


def _notes(report: Report) -> str:
    notes = list(report.notes)
    if report.hypothetical:
        notes.insert(0, "This session ran without loopguard: loops are marked where it would have acted.")
    if report.has_content:
        blanked = counted(report.redacted, "piece")
        notes.append(
            f"Holds what was written, called and returned. Keys, tokens, mail addresses and home folders are "
            f"blanked ({blanked}); look through it before you pass it on."
        )
    return "".join(f'<p class="remark">{html(note)}</p>' for note in notes)


def _tiles(report: Report) -> str:
    would = "would be " if report.hypothetical else ""
    loops = sum(alarm.action not in HINTS for alarm in report.alarms)
    hints = len(report.alarms) - loops
    done = []
    if not report.hypothetical:
        done = [("continued after a loop", number(report.continued), "")]
    if report.pursued:
        done.append(("continued for a goal", number(report.pursued), ""))
    tiles = [
        (f"{plural(loops, 'loop')} found", number(loops), "bad" if loops else "good"),
        *([(plural(hints, "hint"), number(hints), "")] if hints else []),
        (f"{plural(report.blocked, 'call')} {would}blocked", number(report.blocked), ""),
        (f"{plural(report.aborted, 'turn')} {would}cut off", number(report.aborted), ""),
        *done,
        (plural(report.calls, "tool call"), number(report.calls), ""),
        *([("tokens", number(report.tokens), "")] if report.tokens else []),
        *([("cost", money(report.cost), "")] if report.cost is not None else []),
    ]
    cells = "".join(
        f'<div class="{tone}"><dd>{value}</dd><dt>{html(name)}</dt></div>' for name, value, tone in tiles
    )
    return f'<dl class="tiles">{cells}</dl>'


def _legend(report: Report) -> str:
    """What the marks of the timeline mean, of those that are on it."""
    items = [item for turn in report.turns for item in turn.items]
    drawn = {str(item.kind) for item in items} | {turn.who for turn in report.turns}
    drawn |= {"call failed"} if any(item.ok is False for item in items) else set()
    drawn |= {"text"} if Kind.REASONING in drawn else set()
    entries = (
        ("call", "tool call"),
        ("call failed", "failed"),
        ("text", "text"),
        ("alarm", "loop"),
        ("nudge", "hint"),
        ("block", "blocked"),
        ("abort", "cut off"),
        ("continuation", "continued"),
        ("goal", "goal"),
        ("error", "error"),
        ("person", "a person"),
    )
    spans = (f'<span><i class="{kind}"></i>{name}</span>' for kind, name in entries if kind in drawn)
    return f'<p class="legend">{"".join(spans)}</p>'


def _alarms(report: Report) -> str:
    if not report.alarms:
        return _section("Loops", "loops", '<p class="empty">No loop was found.</p>')
    there = {item.event for turn in report.turns for item in turn.items if item.kind not in MARKED}
    named = names(report.alarms)
    kinds = [kind for kind in ("loop", "hint", "warning") if any(kind in name for name in named.values())]
    title = f"{' and '.join(f'{kind}s' for kind in kinds).capitalize()}, and why"
    cards = (_alarm(alarm, named[alarm.number], report, there) for alarm in report.alarms)
    return _section(title, "loops", "".join(cards))


def _alarm(alarm: Alarm, name: str, report: Report, there: set[int]) -> str:
    """``there``: events that have a line of their own on the page."""
    would = "would have been " if report.hypothetical else ""
    done = {
        "block": f"call {would}blocked",
        "abort": f"turn {would}cut off and continued",
        "stop": f"turn {would}cut off for good",
        "nudge": f"agent {would}given a hint",
        "warn": f"person {would}warned",
    }.get(alarm.action, alarm.action)
    again = f" Raised {counted(alarm.repeats, 'time')}." if alarm.repeats > 1 else ""
    note = f"<p>{html(alarm.note)}</p>" if alarm.note else ""
    return (
        f'<article class="card {html(alarm.action)}" id="alarm-{alarm.number}"><h3>'
        f"<b>{name.capitalize()}</b> <code>{html(alarm.rule)}</code> "
        f'<span class="done">{html(done)}</span><small>{clock(alarm.time)}</small></h3>'
        f"<p>{html(alarm.explanation)}{again}</p>{note}{_evidence(alarm, there)}{_facts(alarm)}</article>"
    )


def _evidence(alarm: Alarm, there: set[int]) -> str:
    if not alarm.evidence:
        return ""
    events = (
        f'<a href="#event-{event}">event {event}</a>' if event in there else f"event {event}"
        for event in alarm.evidence
    )
    return f'<p class="evidence">Proof: {", ".join(events)}</p>'


def _facts(alarm: Alarm) -> str:
    if not alarm.facts:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{html(name)}</th><td>{html(value)}</td></tr>'
        for name, value in alarm.facts.items()
    )
    return f"<details><summary>Measured and allowed</summary><table>{rows}</table></details>"


def _goals(report: Report) -> str:
    if not report.goals:
        return ""
    return _section("Goals", "goals", "".join(map(_goal, report.goals)))


def _goal(goal: Goal) -> str:
    reason = f"<p>{html(goal.reason)}</p>" if goal.reason else ""
    listed = "".join(f"<li><code>{html(check)}</code></li>" for check in goal.checks)
    checks = f'<ul class="checks">{listed}</ul>' if listed else ""
    return (
        f'<article class="card goal {html(goal.state)}"><h3>{html(goal.objective)} '
        f'<span class="done">{html(goal.state)}</span></h3>{reason}'
        f"{checks}"
        f'<dl class="budgets">{"".join(map(_budget, goal.budgets))}</dl></article>'
    )


def _budget(budget: Budget) -> str:
    name = html(budget.name)
    if not budget.limit:
        return f"<div><dt>{name}</dt><dd>{amount(budget.used, budget.unit)}</dd></div>"
    used, limit = amount(budget.used, budget.unit), amount(budget.limit, budget.unit)
    if budget.unit == "tokens":
        used = number(budget.used)
    share = min(1.0, budget.used / budget.limit)
    full = ' class="full"' if share >= 1 else ""
    bar = (
        f'<span class="bar" role="meter" aria-label="{name}" aria-valuemin="0" aria-valuemax="100" '
        f'aria-valuenow="{share * 100:.0f}"><i style="width:{share:.1%}"></i></span>'
    )
    return f"<div{full}><dt>{name}</dt><dd>{used} of {limit}{bar}</dd></div>"


def _limits(curve: Curve, report: Report) -> list[tuple[str, float]]:
    return [
        (f"limit of the goal: {budget.name}", budget.limit)
        for goal in report.goals
        for budget in goal.budgets
        if budget.limit and budget.unit == curve.unit
    ]


def _filter() -> str:
    return (
        '<p class="filter" hidden><label><input type="checkbox" id="marked-only"> only what is marked</label>'
        '<button type="button" id="unfold">unfold all</button></p>'
    )
