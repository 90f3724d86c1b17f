"""Goals for a terminal: status with bars for budgets, list and history as tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from loopguard_cli.cli.render.budgets import BUDGETS, bars
from loopguard_cli.cli.render.page import Bar, Block, Cell, Table, Tone, line

_TONES = {"active": Tone.GOOD, "achieved": Tone.GOOD, "blocked": Tone.BAD}


def page(reply: str, data: dict[str, Any]) -> Sequence[Block]:
    """The page for an answer to ``status``, ``list`` or ``history``; empty for other answers."""
    match reply.partition(":")[0]:
        case "status" if "objective" in data:
            return _status(data)
        case "list" if data.get("goals") or data.get("archive"):
            return _list(data)
        case "history" if "events" in data:
            return _history(data)
        case _:
            return ()


def _status(data: dict[str, Any]) -> list[Block]:
    state = str(data["state"])
    blocks: list[Block] = [
        line(Cell(state, _TONES.get(state, Tone.WARN)), "  ", Cell(data["objective"], Tone.STRONG))
    ]
    for name, label in (("blocker", "blocker"), ("evidence", "evidence"), ("stop_title", "stopped")):
        if data.get(name):
            blocks.append(line(Cell(f"{label}: ", Tone.QUIET), data[name]))
    if data.get("suggestion"):
        blocks.append(line(Cell("next: ", Tone.QUIET), data["suggestion"]))
    blocks.append(Table(("budget", "used"), _budgets(data)))
    rows = [
        (label, data.get(name))
        for name, label in (
            ("success", "success"),
            ("constraints", "constraints"),
            ("audit", "completion"),
            ("status", "last"),
        )
    ]
    rows += [("check", command) for command in data.get("checks", ())]
    if data.get("mode") == "ordered":
        rows.append(("mode", "ordered"))
    if data.get("checkpoint"):
        rows.append(("checkpoint", data["checkpoint"]["text"]))
    blocks += [line(Cell(f"{label}: ", Tone.QUIET), str(value)) for label, value in rows if value]
    return blocks


def _budgets(data: dict[str, Any]) -> list[tuple[Cell | Bar, ...]]:
    known = {key: (data[key]["used"], data[key]["limit"] or 0) for key in BUDGETS if data.get(key)}
    return [(Cell(name), bar) for name, bar in bars(known)]


def _list(data: dict[str, Any]) -> list[Block]:
    rows = [
        (
            Cell(f"{goal['number']}{'*' if goal['place'] == 'focused' else ''}"),
            Cell(goal["objective"]),
            Cell(goal["state"], _TONES.get(goal["state"], Tone.WARN)),
            Cell(goal["reason"], Tone.QUIET),
            Cell(goal["id"], Tone.QUIET),
        )
        for goal in data["goals"]
    ]
    blocks: list[Block] = [line(Cell("ordered sequence", Tone.QUIET))] if data["ordered"] else []
    if rows:
        blocks.append(Table((">", "goal", "state", "reason", "id"), rows))
    finished = [
        (Cell(r["objective"]), Cell(r["state"], Tone.GOOD), Cell(_when(r["finished"])))
        for r in data["archive"]
    ]
    if finished:
        blocks.append(Table(("finished", "state", "at"), finished))
    return blocks


def _history(data: dict[str, Any]) -> list[Block]:
    rows = [(Cell(_when(e["at"]), Tone.QUIET), Cell(e["kind"]), Cell(e["detail"])) for e in data["events"]]
    return [line(Cell(data["objective"], Tone.STRONG)), Table(("time", "event", "detail"), rows)]


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
