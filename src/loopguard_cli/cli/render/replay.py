"""Findings of a replay, for a person."""

from __future__ import annotations

from collections.abc import Sequence

from loopguard_cli.cli.render.page import Cell, Table, Tone, line
from loopguard_cli.cli.render.page import show as show_page
from loopguard_cli.cli.render.texts import cut
from loopguard_cli.core.measures import counted, duration
from loopguard_cli.study.replay import Found

TONES = {
    "warn": Tone.QUIET,
    "nudge": Tone.WARN,
    "block": Tone.BAD,
    "abort": Tone.BAD,
    "stop": Tone.BAD,
}

EVIDENCE = 6


def show(found: Sequence[Found], *, damaged: int = 0) -> None:
    if not found:
        show_page([line(Cell("No loop found.", Tone.GOOD))])
    else:
        rows = [
            (
                Cell(str(one.event)),
                Cell(duration(one.time), Tone.QUIET),
                Cell(one.action, TONES[one.action]),
                Cell(one.rule),
                Cell(cut(one.explanation, 400)),
                Cell(_evidence(one.events), Tone.QUIET),
            )
            for one in found
        ]
        show_page([Table((">event", ">after", "action", "rule", "why", "proved by"), rows)])
    if damaged:
        show_page([line(Cell(f"Skipped: {counted(damaged, 'damaged line')}.", Tone.WARN))])


def _evidence(events: Sequence[int]) -> str:
    if len(events) <= EVIDENCE:
        return " ".join(map(str, events))
    return f"{' '.join(map(str, events[:3]))} … {' '.join(map(str, events[-2:]))}"
