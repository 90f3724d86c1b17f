"""The page of ``loopguard doctor``."""

from __future__ import annotations

from collections.abc import Sequence

from loopguard_cli.cli.diagnosis import Diagnosis, Level
from loopguard_cli.cli.render.page import Block, Cell, Tone, line
from loopguard_cli.core.measures import counted

_MARKS = {
    Level.OK: Cell("  ok    ", Tone.GOOD),
    Level.NOTE: Cell("  note  ", Tone.QUIET),
    Level.WARNING: Cell("  warn  ", Tone.WARN),
    Level.PROBLEM: Cell("  FAIL  ", Tone.BAD),
}


def page(found: Sequence[Diagnosis]) -> list[Block]:
    blocks: list[Block] = []
    area = ""
    for one in found:
        if one.area != area:
            area = one.area
            blocks.append(line(Cell(area, Tone.STRONG)))
        blocks.append(line(_MARKS[one.level], one.text))
        if one.advice:
            blocks.append(line(Cell(f"        -> {one.advice}", Tone.QUIET)))
    problems = sum(one.level is Level.PROBLEM for one in found)
    warnings = sum(one.level is Level.WARNING for one in found)
    verdict = ", ".join(
        counted(count, word) for count, word in ((problems, "problem"), (warnings, "warning")) if count
    )
    tone = Tone.BAD if problems else Tone.WARN if warnings else Tone.GOOD
    return [*blocks, line(), line(Cell(f"{verdict or 'Everything is fine'}.", tone))]
