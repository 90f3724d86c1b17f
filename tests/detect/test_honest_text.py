"""Real text that repeats itself honestly: sources, docstrings and data of Python's own library."""

from __future__ import annotations

import ast
import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopguard_cli.core.events import Channel
from tests.detect.writing import Writer

LIBRARY = Path(sysconfig.get_path("stdlib"))
MODULES = sorted(path for path in LIBRARY.glob("*.py") if path.stat().st_size > 4_000)
BLOCK = 6_000


def blocks(text: str) -> Iterator[str]:
    for at in range(0, min(len(text), 60_000), BLOCK):
        yield text[at : at + BLOCK]


def said(text: str) -> list[str]:
    """What is said about ``text``, written as an answer and thought."""
    writer = Writer()
    for channel in Channel:
        writer.write(text, channel=channel)
    writer.finish()
    return writer.rules()


@pytest.mark.parametrize("path", MODULES[::8], ids=lambda path: path.stem)
def test_sources_without_and_with_a_fence(path: Path) -> None:
    for block in blocks(path.read_text("utf-8")):
        assert said(block) == []
        assert said(f"```python\n{block}\n```\n") == []


@pytest.mark.parametrize("path", MODULES[3::8], ids=lambda path: path.stem)
def test_docstrings(path: Path) -> None:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds)]
    for block in blocks("\n\n".join(filter(None, dict.fromkeys(texts)))):
        assert said(block) == []


@pytest.mark.parametrize("path", MODULES[5::16], ids=lambda path: path.stem)
def test_data(path: Path) -> None:
    names = sorted(
        {node.id for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Name)}
    )
    rows = [{"name": name, "kind": "variable", "used": True, "note": None} for name in names]
    assert said(json.dumps(rows, indent=2)) == []
    table = "".join(f"| {row['name']} | variable | yes | |\n" for row in rows)
    assert said("| name | kind | used | note |\n| --- | --- | --- | --- |\n" + table) == []
    assert said("".join(f"- `{name}` is a variable that is used.\n" for name in names)) == []
    assert (
        said("".join(f"2026-01-01 12:00:{at % 60:02} INFO {name} ok\n" for at, name in enumerate(names)))
        == []
    )
