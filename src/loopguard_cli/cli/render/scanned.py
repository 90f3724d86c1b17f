"""The result of a scan as a page."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from loopguard_cli import history
from loopguard_cli.cli.render.page import Block, Cell, Line, Table, Tone, line
from loopguard_cli.cli.render.texts import iso, tilde
from loopguard_cli.core.measures import duration, number
from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.study.scan import Place, Sum, Totals

NAMES = {**history.NAMES, "trace": "traces"}

SCHEMA = "loopguard.scan/1"
UNTOLD = ("top", "seen")
"""Fields of `Totals` that only the scan itself needs."""


class Asked(NamedTuple):
    """What the person looked for."""

    paths: Sequence[Path] = ()
    narrowed: bool = False
    """Only some agent's, some project's, or the latest."""


def blocks(
    totals: Totals, settings: GuardSettings, *, finished: bool, home: Path, asked: Asked
) -> Sequence[Block]:
    return list(_blocks(totals, settings, finished, str(home), asked))


def as_json(totals: Totals, settings: GuardSettings, *, finished: bool) -> dict[str, Any]:
    """The same for programs. Times are ISO 8601 in UTC."""
    plain = msgspec.to_builtins(totals)
    for name in UNTOLD:
        del plain[name]
    for name in ("started", "ended"):
        plain[name] = iso(plain[name]) if plain[name] else None
    for place in (*plain["largest"], *plain["suspects"]):
        place["loop"]["time"] = iso(place["loop"]["time"])
    # What was added up is no more exact than what the agents wrote down.
    loops = [place["loop"] for place in (*plain["largest"], *plain["suspects"])]
    for one in (plain, plain["saved"], *plain["rules"].values(), *plain["agents"].values(), *loops):
        one["cost"] = round(one["cost"], 6)
        if "seconds" in one:
            one["seconds"] = round(one["seconds"], 3)
    return {"schema": SCHEMA, "finished": finished, "preset": settings.preset.value, **plain}


def _blocks(
    totals: Totals, settings: GuardSettings, finished: bool, home: str, asked: Asked
) -> Iterator[Block]:
    if not finished:
        so_far = "Interrupted: this is what was found so far."
        yield line(Cell(so_far if totals.conversations else "Interrupted: nothing was read yet.", Tone.WARN))
    if not totals.conversations and not finished:
        yield from _unread(totals, home)
        return
    if not totals.conversations:
        yield line(_nothing(asked, home))
        yield from _unread(totals, home)
        return
    yield _read(totals)
    if not totals.saved.loops:
        yield line(
            Cell("No loops found", Tone.GOOD),
            f" (rules: {settings.preset.value}).{_hints(totals)}",
        )
        yield from _unread(totals, home)
        return
    yield from _found(totals, settings)
    yield line("")
    yield _rules(totals)
    yield from _places("Largest", totals.largest, home, totals.has_cost)
    yield from _places(
        "Doubtful: look at these before you trust the sum", totals.suspects, home, totals.has_cost
    )
    yield from _unread(totals, home)
    yield line("")
    yield line(
        Cell("loopguard report FILE shows one session; --set and --preset try other rules.", Tone.QUIET)
    )


def _nothing(asked: Asked, home: str) -> str:
    known = ", ".join(history.NAMES.values())
    if asked.paths:
        named = ", ".join(tilde(str(path), home) for path in asked.paths)
        said = f"No sessions were found in {named} (read are those of {known}, and recordings of runs)."
    else:
        said = f"No sessions were found where {known} keep theirs."
    widen = "Widen --since, --agent or --project" if asked.narrowed else ""
    name = "" if asked.paths else "Name a file or folder" if not widen else ", or name a file or folder"
    return f"{said} {widen}{name}." if widen or name else said


def _read(totals: Totals) -> Line:
    agents = ", ".join(
        f"{NAMES.get(name, name)} {number(share.conversations)}"
        for name, share in sorted(totals.agents.items(), key=lambda item: -item[1].conversations)
    )
    days = [time.strftime("%Y-%m-%d", time.localtime(at)) for at in (totals.started, totals.ended)]
    span = days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}"
    return line(
        f"{_count(totals.conversations, 'session')} ({agents}) with {_count(totals.calls, 'tool call')} and "
        f"{number(totals.tokens)} tokens, {span}."
    )


def _found(totals: Totals, settings: GuardSettings) -> Iterator[Line]:
    saved = totals.saved
    yield line(
        "The guard (rules: ",
        settings.preset.value,
        ") would have stopped ",
        Cell(_count(saved.loops, "loop"), Tone.BAD),
        f" in {_count(totals.looping, 'session')}.{_hints(totals)}",
    )
    yield line("That would have saved at least ", Cell(_sum(saved, totals.has_cost), Tone.STRONG), ".")


def _hints(totals: Totals) -> str:
    return f" It would have given {_count(totals.hints, 'hint')}." if totals.hints else ""


def _rules(totals: Totals) -> Table:
    rows = [
        [
            Cell(rule),
            Cell(number(one.loops)),
            Cell(number(one.calls)),
            Cell(number(one.tokens)),
            *([Cell(_dollars(one.cost))] if totals.has_cost else []),
            Cell(duration(one.seconds)),
            Cell(number(one.suspects) if one.suspects else "", Tone.WARN),
        ]
        for rule, one in sorted(totals.rules.items(), key=lambda item: -item[1].tokens)
    ]
    cost = [">cost"] if totals.has_cost else []
    return Table(["rule", ">loops", ">calls", ">tokens", *cost, ">time", ">doubtful"], rows)


def _places(title: str, places: Sequence[Place], home: str, has_cost: bool) -> Iterator[Line]:
    if not places:
        return
    yield line("")
    yield line(Cell(title, Tone.STRONG))
    for place in places:
        loop = place.loop
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(loop.time))
        where = f" in {tilde(place.project, home)}" if place.project else ""
        yield line(
            f"  {when}  {NAMES.get(place.agent, place.agent)}{where}: ",
            Cell(f"{loop.rule}, {loop.action}", Tone.WARN),
        )
        yield line(f"    {loop.explanation}")
        spent = Sum()
        spent.add(loop)
        yield line(Cell(f"    {_sum(spent, has_cost)}", Tone.QUIET))
        if loop.suspect:
            yield line(Cell(f"    doubtful: {loop.suspect}", Tone.WARN))
        if loop.shown:
            yield line(f"    > {loop.shown}")
        yield line(Cell(f"    {tilde(_named(place), home)} event {loop.event}", Tone.QUIET))


def _named(place: Place) -> str:
    """What `loopguard report` takes for it: a database has many sessions."""
    return f"{place.path}#{place.loop.session}" if place.path.endswith(".db") else place.path


def _unread(totals: Totals, home: str) -> Iterator[Line]:
    tally = totals.tally
    parts = [
        _count(number, name)
        for number, name in (
            (tally.damaged, "damaged record"),
            (tally.oversized, "oversized record"),
            (tally.unknown, "record of an unknown type"),
            (totals.unread, "unreadable file"),
        )
        if number
    ]
    if parts:
        yield line("")
        yield line(Cell("Not read: " + ", ".join(parts) + ".", Tone.QUIET))
    for path, why in totals.unreadable.items():
        yield line(Cell(f"  {tilde(path, home)}: {why}", Tone.QUIET))


def _sum(one: Sum, has_cost: bool) -> str:
    parts = [_count(one.calls, "call")]
    if one.tokens:
        parts.append(f"{number(one.tokens)} tokens")
    if has_cost and one.cost:
        parts.append(_dollars(one.cost))
    return ", ".join([*parts, duration(one.seconds)])


def _dollars(cost: float) -> str:
    if not cost:
        return ""  # nobody wrote it down
    return f"${cost:,.2f}" if cost >= 0.005 else "<$0.01"


def _count(count: int, what: str) -> str:
    if count == 1:
        return f"1 {what}"
    plural = what.replace("record", "records", 1) if what.startswith("record ") else f"{what}s"
    return f"{number(count)} {plural}"
