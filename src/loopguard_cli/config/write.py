"""Writes one setting into a TOML file: atomically, and leaving the rest of the file as it was.

The new value is checked first, against the whole file as it will be. The lines of the setting are
replaced in place, so that comments survive; where that cannot be done (inline tables, say), the
whole document is written anew.
"""

from __future__ import annotations

import os
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from loopguard_cli.config import schema, sources
from loopguard_cli.config.load import check, load
from loopguard_cli.config.locate import statement
from loopguard_cli.config.schema import Layer
from loopguard_cli.errors import ConfigError


def assign(path: Path, key: str, text: str) -> Any:
    """Set ``key`` to what ``text`` says (as in ``--set``); returns the value as written."""
    entry = sources.Entry(tuple(key.split(".")), text)
    leaf, name, value = check(entry, sources.Source(Layer.PROJECT, "", (entry,), from_text=True))
    made = plain(value)
    put(path, {(*leaf.key.split("."), *([name] if name else [])): made})
    return made


def put(path: Path, values: dict[tuple[str, ...], Any]) -> None:
    """Put plain values into a file, which is made if there is none. All are checked before."""
    text = sources.read_text(path) or ""
    for place, value in values.items():
        text = _with(text, sources.parse(text, path), place, value)
    _check(text, path)
    write_text(path, text)


def remove(path: Path, key: str) -> bool:
    """Take ``key`` out of a file; False if it was not in it."""
    text = sources.read_text(path)
    place = tuple(key.split("."))
    found = schema.find(place)
    if found is not None and found[1]:
        place = (*found[0].key.split("."), found[1])
    if text is None or statement(text, place) is None:
        return False
    document = sources.parse(text, path)
    table = document
    for name in place[:-1]:
        table = table[name]
    del table[place[-1]]
    span = statement(text, place)
    assert span is not None
    lines = text.splitlines(keepends=True)
    shorter = "".join(lines[: span.start] + lines[span.end :])
    write_text(path, shorter if _parses_to(shorter, document) else tomli_w.dumps(document))
    return True


def write_text(path: Path, text: str) -> None:
    """Replace a file as a whole or not at all; a link is followed, permissions are kept."""
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be written: {(error.strerror or 'unknown reason').lower()}"
        ) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        Path(temporary).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        Path(temporary).replace(target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise ConfigError(
            f"{path}: cannot be written: {(error.strerror or 'unknown reason').lower()}"
        ) from None


def _with(text: str, document: dict[str, Any], place: tuple[str, ...], value: Any) -> str:
    table = document
    for name in place[:-1]:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise ConfigError(
                f"{'.'.join(place)}: a value stands where a table should be", "edit the file by hand"
            )
    table[place[-1]] = value
    line = tomli_w.dumps({place[-1]: value})
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    span = statement("".join(lines), place)
    header = _header(lines, place[:-1])
    if span:
        edited = [*lines[: span.start], line, *lines[span.end :]]
    elif header is not None:
        edited = [*lines[: header + 1], line, *lines[header + 1 :]]
    else:
        gap = ["\n"] if lines else []
        edited = [*lines, *gap, f"[{'.'.join(place[:-1])}]\n", line]
    new = "".join(edited)
    return new if _parses_to(new, document) else tomli_w.dumps(document)


def _header(lines: list[str], table: tuple[str, ...]) -> int | None:
    wanted = f"[{'.'.join(table)}]"
    return next((n for n, line in enumerate(lines) if line.split("#")[0].strip() == wanted), None)


def _parses_to(text: str, document: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == document
    except ValueError:
        return False


def _check(text: str, path: Path) -> None:
    entries = tuple(sources.flatten(sources.parse(text, path)))
    load([sources.Source(Layer.PROJECT, str(path), entries, text)])


def plain(value: Any) -> Any:
    """A value without enums and tuples, so that it equals what a parser reads back."""
    made = msgspec.to_builtins(value)
    return list(made) if isinstance(made, tuple) else made
