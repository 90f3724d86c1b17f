"""The table of agents, the ways they are run and what can be done there."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from loopguard_cli.agents import Known, Surface
from loopguard_cli.cli.render.page import Block, Cell, Table, Tone, line


class AgentData(msgspec.Struct):
    """One agent, as ``agents --json`` prints it."""

    agent: str
    title: str
    tested: str
    """The version that the tests drive."""
    programs: Sequence[str]
    packages: Sequence[str]
    surfaces: Sequence[Surface]
    """Each way in which it can be run."""


Listed = tuple[str, Known, Sequence[Surface]]

ABILITIES = {
    "gate": "asks before a call",
    "text_deltas": "streams",
    "abort": "stops",
    "prompt": "goes on",
    "nudge": "hints",
    "tools": "tools",
    "usage": "usage",
}
"""Capabilities in the table and their headings; ``prompt`` holds for ``respawn`` too."""


def page(known: Sequence[Listed]) -> list[Block]:
    rows = [_row(name, surface) for name, _, surfaces in known for surface in surfaces]
    remarks = {
        (agent.title, surface.remark)
        for _, agent, surfaces in known
        for surface in surfaces
        if surface.remark
    }
    return [
        Table(columns=("agent", "form", "for example", *ABILITIES.values()), rows=rows),
        *(line(Cell(f"{title}: {remark}", Tone.QUIET)) for title, remark in sorted(remarks)),
    ]


def data(known: Sequence[Listed]) -> list[AgentData]:
    return [
        AgentData(
            name, agent.title, agent.tested, sorted(agent.programs), sorted(agent.packages), list(surfaces)
        )
        for name, agent, surfaces in known
    ]


def _row(name: str, surface: Surface) -> list[Cell]:
    can = surface.capabilities
    cells = [Cell(name, Tone.STRONG), Cell(surface.form.value), Cell(surface.example)]
    for ability in ABILITIES:
        able = getattr(can, ability) or (ability == "prompt" and can.respawn)
        cells.append(Cell("yes", Tone.GOOD) if able else Cell("-", Tone.QUIET))
    return cells
