"""Fills the generated parts of docs/goals.md: the state diagram, stop reasons, flags and tools.

python scripts/goalpages.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from loopguard_cli.goal.diagram import mermaid, stop_table
from loopguard_cli.goal.flags import FLAGS
from loopguard_cli.goal.tools import TOOLS

PAGE = Path(__file__).parents[1] / "docs" / "goals.md"


def filled(text: str) -> str:
    """The page with its generated parts as they should be now."""
    for name, make in _PARTS.items():
        pattern, made = rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", make()
        text, count = re.subn(pattern, partial(_put, made), text, flags=re.DOTALL)
        if count != 1:
            raise SystemExit(f"{PAGE}: expected one place for {name!r}, found {count}")
    return text


def _put(made: str, found: re.Match[str]) -> str:
    return found[1] + made + found[2]


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _flags() -> str:
    rows = [("flag", "value", "meaning")]
    rows += [(", ".join(f"`{name}`" for name in f.names), f"`{f.argument}`", f.help) for f in FLAGS]
    return _table(rows)


def _tools() -> str:
    rows = [("tool", "arguments", "what it does")]
    for name, tool in TOOLS.items():
        rows.append((f"`{name}`", ", ".join(f"`{key}`" for key in tool.properties), tool.description))
    return _table(rows)


_PARTS: dict[str, Callable[[], str]] = {
    "states": lambda: f"```mermaid\n{mermaid()}```\n",
    "stops": lambda: _table(stop_table()),
    "flags": _flags,
    "tools": _tools,
}

if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
