"""The turns of a session, item by item, as HTML. Uneventful stretches are folded up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loopguard_cli.core.measures import counted
from loopguard_cli.report.model import MARKED, Item, Kind, Report, Turn, names
from loopguard_cli.report.texts import clock, duration, html

FOLD_FROM = 12
"""So many ordinary items in a row are folded into one line."""
KEEP_AROUND = 3
"""Of a folded stretch, so many stay visible at its ends: what led up to a mark explains it."""

SYMBOLS = {
    Kind.CALL: "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    Kind.TEXT: "“",
    Kind.REASONING: "∴",
    Kind.ALARM: "↻",
    Kind.BLOCK: "⊘",
    Kind.ABORT: "■",
    Kind.CONTINUATION: "▶",
    Kind.NUDGE: "↷",
    Kind.ERROR: "!",
    Kind.GOAL: "◎",
    Kind.NOTE: "·",
}

WHO = {
    "person": "Message of a person",
    "loopguard": "Prompt of loopguard",
    "parent": "Task given by the parent session",
    "host": "Message of the agent program",
    "": "Before the first message",
}


def timeline(report: Report) -> str:
    many = len(report.sessions) > 1
    sessions = {session: number for number, session in enumerate(report.sessions, 1)} if many else {}
    named = names(report.alarms)
    return "\n".join(_turn(turn, sessions.get(turn.session, 0), named) for turn in report.turns)


def _turn(turn: Turn, session: int, named: Mapping[int, str]) -> str:
    marked = sum(item.kind in MARKED for item in turn.items)
    calls = sum(item.kind is Kind.CALL for item in turn.items)
    facts = [clock(turn.time), duration(turn.ended - turn.time), counted(calls, "call")]
    if session:
        facts.append(f"session {session}")
    flag = f' <span class="flag">{counted(marked, "mark")}</span>' if marked else ""
    text = _content((("message", turn.text),)) if turn.text else ""
    return (
        f'<section class="turn {turn.who or "none"}" aria-labelledby="turn-{turn.number}">'
        f'<h3 id="turn-{turn.number}">{WHO.get(turn.who, html(turn.who))}{flag}'
        f"<small>{' · '.join(facts)}</small></h3>{text}"
        f"<ol>{''.join(_items(turn.items, named))}</ol></section>"
    )


def _items(items: Sequence[Item], named: Mapping[int, str]) -> Iterator[str]:
    plain: list[Item] = []
    for item in items:
        if item.kind in MARKED or item.alarm:
            yield from _stretch(plain, last=False)
            plain = []
            yield _item(item, named.get(item.alarm, ""))
        else:
            plain.append(item)
    yield from _stretch(plain, last=True)


def _stretch(items: Sequence[Item], *, last: bool) -> Iterator[str]:
    """Ordinary items, folded up in the middle where there are many."""
    if len(items) < FOLD_FROM + 2 * KEEP_AROUND:
        yield from map(_item, items)
        return
    end = len(items) if last else len(items) - KEEP_AROUND
    yield from map(_item, items[:KEEP_AROUND])
    folded = items[KEEP_AROUND:end]
    calls = sum(item.kind is Kind.CALL for item in folded)
    parts = [
        counted(count, word) for count, word in ((calls, "call"), (len(folded) - calls, "text")) if count
    ]
    label = f"{' and '.join(parts)}, nothing unusual"
    yield (
        f'<li class="fold"><details><summary>{label} <small>{clock(folded[0].time)} to '
        f"{clock(folded[-1].time)}</small></summary><ol>{''.join(map(_item, folded))}</ol></details></li>"
    )
    yield from map(_item, items[end:])


def _item(item: Item, alarm: str = "") -> str:
    """``alarm``: what the one is called that it set off or proves."""
    facts = []
    if item.seconds is not None and item.seconds >= 0.05:
        facts.append(duration(item.seconds))
    if item.kind is Kind.CALL:
        facts.insert(0, {True: "ok", False: "failed", None: "no result"}[item.ok])
        facts.append(item.detail)
    failed = " failed" if item.ok is False else ""
    why = f' <a class="why" href="#alarm-{item.alarm}">{alarm}</a>' if alarm else ""
    detail = f"<p>{html(item.detail)}</p>" if item.detail and item.kind is not Kind.CALL else ""
    place = "" if item.kind in MARKED or item.event < 0 else f' id="event-{item.event}"'
    small = f"<small>{html(', '.join(filter(None, facts)))}</small>" if facts else ""
    return (
        f'<li class="{item.kind}{failed}"{place}><time>{clock(item.time)}</time>'
        f'<b aria-hidden="true">{SYMBOLS[item.kind]}</b><div><span class="kind">{item.kind}</span> '
        f'<span class="title">{html(item.title)}</span>{why}'
        f"{small}{detail}{_content(item.content)}</div></li>"
    )


def _content(pieces: Sequence[tuple[str, str]]) -> str:
    folded = "".join(
        f"<details><summary>{html(name)}</summary><pre>{html(text)}</pre></details>"
        for name, text in pieces
        if text
    )
    return f'<div class="content">{folded}</div>' if folded else ""
