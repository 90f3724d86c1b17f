"""The state folder, its ledger and leases; the runtime folder, its sockets and live runs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from loopguard_cli.cli.crash import reports
from loopguard_cli.cli.diagnosis import Diagnosis, Level
from loopguard_cli.core.measures import counted
from loopguard_cli.errors import StoreError
from loopguard_cli.runtime.control.client import RunUnreachable, ask
from loopguard_cli.store import lease
from loopguard_cli.store.lines import Damage
from loopguard_cli.store.paths import runtime_path, state_path
from loopguard_cli.store.reading import read_ledger
from loopguard_cli.store.runs import LiveRun, live_runs

LITTLE_SPACE = 64 << 20
"""Bytes; a ledger never takes more than 8 MiB, but what shares its disk does."""
ANSWER_WITHIN_S = 2.0


def state(project: Path) -> Iterator[Diagnosis]:
    """What is kept of this project."""
    path = state_path(project)
    yield from _writable(path)
    try:
        found = list(read_ledger(path))
        leases = lease.standing(path, time.time())
    except StoreError as error:
        yield Diagnosis(
            area="state", level=Level.PROBLEM, text=error.message, advice=error.hint or "make it yours again"
        )
        return
    damage = [item for item in found if isinstance(item, Damage)]
    if not path.exists():
        text = f"{path} does not exist yet; the first run makes it"
        yield Diagnosis(area="state", level=Level.OK, text=text)
    else:
        text = f"{path}: ledger with {len(found) - len(damage)} records"
        yield Diagnosis(area="state", level=Level.OK, text=text)
    if damage:
        places = ", ".join(f"{item.file}:{item.line or '?'} ({item.reason})" for item in damage[:3])
        yield Diagnosis(
            area="state", level=Level.WARNING, text=f"{len(damage)} damaged places in the ledger: {places}",
            advice="they are skipped; if they keep coming, look at the disk or at what else writes there",
        )  # fmt: skip
    yield from _leases(leases)


def _writable(path: Path) -> Iterator[Diagnosis]:
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        yield Diagnosis(
            area="state", level=Level.PROBLEM, text=f"{there} cannot be written to",
            advice="make it writable, or set LOOPGUARD_STATE_DIR to another folder",
        )  # fmt: skip
    free = shutil.disk_usage(there).free
    if free < LITTLE_SPACE:
        yield Diagnosis(
            area="state", level=Level.WARNING, text=f"only {free >> 20} MiB free at {there}",
            advice="make room: without it records are lost, and goals stop",
        )  # fmt: skip


def _leases(leases: list[lease.Standing]) -> Iterator[Diagnosis]:
    alive = [one.run for one in leases if one.alive]
    if alive:
        text = f"goals are driven by: {', '.join(sorted(set(alive)))}"
        yield Diagnosis(area="state", level=Level.OK, text=text)
    if left := sum(not one.alive and not one.damaged for one in leases):
        text = f"{counted(left, 'lease')} of runs that are gone; the next run takes over"
        yield Diagnosis(area="state", level=Level.NOTE, text=text)
    if damaged := sum(one.damaged for one in leases):
        yield Diagnosis(
            area="state", level=Level.WARNING, text=f"{counted(damaged, 'lease')} cannot be made out",
            advice="damaged ones expire within 30 seconds; those of a newer loopguard need that one",
        )  # fmt: skip


def runs(state_folder: Path) -> Iterator[Diagnosis]:
    """Whether runs can be reached."""
    path = runtime_path()
    try:
        live = live_runs()
    except StoreError as error:
        yield Diagnosis(
            area="runs", level=Level.PROBLEM, text=error.message,
            advice=error.hint or "set XDG_RUNTIME_DIR to a folder of yours",
        )  # fmt: skip
        return
    where = "which only you can enter" if path.exists() else "which the first run makes"
    yield Diagnosis(area="runs", level=Level.OK, text=f"sockets are in {path}, {where}")
    for run in live:
        yield _reach(run, here=run.state == str(state_folder))
    if not live:
        yield Diagnosis(area="runs", level=Level.OK, text="no live run")


def _reach(run: LiveRun, *, here: bool) -> Diagnosis:
    name = f"run {run.run} of {run.agent}{'' if here else f' in {run.project}'}"
    try:
        answer = ask(run, "guard.status", timeout=ANSWER_WITHIN_S)
    except RunUnreachable:
        return Diagnosis(
            area="runs", level=Level.WARNING, text=f"{name} does not answer",
            advice=f"it may be suspended: 'kill -CONT {run.pid}' wakes it, 'kill {run.pid}' ends it",
        )  # fmt: skip
    if not answer.data.get("connected"):
        return Diagnosis(
            area="runs", level=Level.WARNING, text=f"{name} answers, but its agent is not guarded",
            advice="see 'loopguard history'; docs/troubleshooting.md has the usual reasons",
        )  # fmt: skip
    return Diagnosis(area="runs", level=Level.OK, text=f"{name} answers, its agent is guarded")


def crashes() -> Iterator[Diagnosis]:
    """Reports of our own failures."""
    if found := reports():
        newest = max(found, key=lambda file: file.stat().st_mtime)
        text = f"{counted(len(found), 'crash report')}, the newest {newest}"
        yield Diagnosis(
            area="loopguard", level=Level.WARNING, text=text,
            advice="please send it (it holds no content of yours), then remove it",
        )  # fmt: skip
