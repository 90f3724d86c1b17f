"""The table of agents, the ways they are run and what can be done there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    "nudge": "takes hints",
    "tools": "has our tools",
    "usage": "tells tokens",
}
"""Capabilities, and what an agent does that has them; ``prompt`` holds for ``respawn`` too."""


def page(known: Sequence[Listed]) -> list[Block]:
    rows = [row for name, agent, surfaces in known for row in _rows(name, agent, surfaces)]
    remarks = dict.fromkeys(
        (agent.title, surface.remark)
        for _, agent, surfaces in known
        for surface in surfaces
        if surface.remark
    )
    everything = ", ".join(ABILITIES.values())
    return [
        Table(columns=("agent, and how it may be run", "it"), rows=rows),
        line(),
        line(f"All of it: {everything}."),
        line(),
        *(line(Cell(f"{title}: {remark}", Tone.QUIET)) for title, remark in remarks),
    ]


def data(known: Sequence[Listed]) -> list[AgentData]:
    return [
        AgentData(
            name, agent.title, agent.tested, sorted(agent.programs), sorted(agent.packages), list(surfaces)
        )
        for name, agent, surfaces in known
    ]


def _rows(name: str, agent: Known, surfaces: Sequence[Surface]) -> Iterator[list[Cell]]:
    tested = f"tested with {agent.tested}" if agent.tested else ""
    yield [Cell(f"{agent.title} ({name})", Tone.STRONG), Cell(tested, Tone.QUIET)]
    for surface in surfaces:
        yield [Cell(f"  {surface.example}"), _abilities(surface)]


def _abilities(surface: Surface) -> Cell:
    """What can be done, or what cannot, whichever is shorter."""
    can = surface.capabilities
    able = {
        word: bool(getattr(can, name) or (name == "prompt" and can.respawn))
        for name, word in ABILITIES.items()
    }
    has, lacks = ([word for word, is_able in able.items() if is_able is wanted] for wanted in (True, False))
    if not lacks:
        return Cell("all of it", Tone.GOOD)
    if len(lacks) <= len(has):
        return Cell(f"all but {', '.join(lacks)}", Tone.WARN)
    return Cell(f"only {', '.join(has)}", Tone.WARN)
