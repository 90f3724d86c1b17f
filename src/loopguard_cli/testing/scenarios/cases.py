"""Reading case files and running one case."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from loopguard_cli.testing.scenarios.engine import Engine
from loopguard_cli.testing.scenarios.expect import IGNORED, Moment
from loopguard_cli.testing.scenarios.invariants import broken
from loopguard_cli.testing.scenarios.notes import CHECKS
from loopguard_cli.testing.scenarios.persistent import Persistent
from loopguard_cli.testing.scenarios.storage import Storage
from loopguard_cli.testing.scenarios.tables import TABLES


class Case:
    """One scenario or one row of a table."""

    def __init__(self, file: Path, area: str, data: dict[str, Any], *, table: bool) -> None:
        self.file, self.area, self.data, self.table = file, area, data, table

    @property
    def id(self) -> str:
        return str(self.data.get("id", "?"))

    @property
    def strength(self) -> str:
        return str(self.data.get("strength", "must"))

    @property
    def in_words_only(self) -> bool:
        """What it expects is only described, and no check is written for it: it ran, and no more."""
        if self.table or self.id in CHECKS:
            return False
        return all(key in IGNORED for expected in self.data["expect"] for key in expected)

    @property
    def persists(self) -> bool:
        return bool(self.data.get("given", {}).get("persist"))

    def run(self, storage: Callable[[Engine], Storage] | None = None) -> list[str]:
        """One line for each expectation that does not hold."""
        if self.table:
            return TABLES[self.area](self.data)
        if storage is None and self.persists:
            storage = Persistent
        return run_scenario(self.data, storage)


def read_cases(folder: Path) -> Iterator[Case]:
    """All cases of a folder."""
    for file in sorted(folder.glob("**/*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("kind") not in ("scenarios", "table"):
            continue
        table = content["kind"] == "table"
        area = content.get("area") or file.stem
        for data in content.get("cases") or content.get("scenarios") or []:
            yield Case(file, area, data, table=table)


def run_scenario(data: dict[str, Any], storage: Callable[[Engine], Storage] | None = None) -> list[str]:
    """Run one scenario."""
    engine = Engine(data.get("given", {}), storage)
    try:
        return _run(engine, data)
    finally:
        engine.storage.close()


def _run(engine: Engine, data: dict[str, Any]) -> list[str]:
    problems: list[str] = []
    check = CHECKS.get(str(data.get("id", "")))
    moment = Moment(engine, 0)
    for number, step in enumerate(data["steps"]):
        before = len(engine.replies)
        engine.step(step)
        moment = Moment(engine, before)
        for expected in data["expect"]:
            if expected.get("at", "end") == number:
                problems += [f"step {number}: {line}" for line in moment.differences(expected)]
        problems += [f"step {number}: {line}" for line in (*broken(engine), *engine.storage.problems)]
        if check is not None:
            problems += [f"step {number}: {line}" for line in check(engine, number, moment.reply)]
    for expected in data["expect"]:
        if expected.get("at", "end") == "end":
            problems += [f"end: {line}" for line in moment.differences(expected)]
    return problems
