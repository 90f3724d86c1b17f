"""Reads settings from where they can stand: files, the environment, flags, live commands.

Nothing is judged here but whether a file is TOML at all; `load` knows the settings.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from loopguard_cli.config import schema
from loopguard_cli.config.locate import line_of
from loopguard_cli.config.schema import Layer
from loopguard_cli.errors import ConfigError

MAX_FILE_BYTES = 64 * 1024
"""A settings file larger than this is a mistake; reading it would cost start-up time."""

PROJECT_FILES = ("loopguard.toml", ".loopguard/config.toml")
"""In a project: the one to commit and share, then one's own, which wins."""

SHORT_VARIABLES = {
    "LOOPGUARD_MODE": "guard.mode",
    "LOOPGUARD_PRESET": "guard.preset",
    "LOOPGUARD_LOCALE": "guard.locale",
}


class Entry(NamedTuple):
    """One value, not yet checked."""

    path: tuple[str, ...]
    value: Any


class Source(NamedTuple):
    """Values of one layer, and how to name the place of each."""

    layer: Layer
    name: str
    """File path, or the kind of source."""
    entries: tuple[Entry, ...]
    text: str = ""
    """The file's text, so that the line of an entry can be found."""
    from_text: bool = False
    """Values are strings from a command line or the environment."""
    places: Mapping[tuple[str, ...], str] = {}
    """Where an entry stands, if not in a file: the variable's name, the flag."""

    def place(self, path: tuple[str, ...]) -> str:
        if path in self.places:
            return self.places[path]
        line = line_of(self.text, path) if self.text else None
        return f"{self.name}:{line}" if line else self.name


def user_file(environ: Mapping[str, str] = os.environ) -> Path:
    """``~/.config/loopguard/config.toml``, or where the platform keeps such files."""
    base = environ.get("XDG_CONFIG_HOME", "")
    if Path(base).is_absolute():
        return Path(base) / "loopguard" / "config.toml"
    from platformdirs import user_config_path

    return user_config_path("loopguard") / "config.toml"


def files(folder: Path, environ: Mapping[str, str] = os.environ) -> tuple[tuple[Layer, Path], ...]:
    """The files that hold for a project folder, weakest first, whether they exist or not."""
    return (
        (Layer.USER, user_file(environ)),
        *((Layer.PROJECT, folder / name) for name in PROJECT_FILES),
    )


def read_file(layer: Layer, path: Path) -> Source | None:
    """A settings file; None if there is none. `ConfigError` if it cannot be read as TOML."""
    text = read_text(path)
    if text is None:
        return None
    return Source(layer, str(path), tuple(flatten(parse(text, path))), text)


def read_text(path: Path) -> str | None:
    """Like `Path.read_text`, but None if absent, bounded, and never waiting on a pipe or device."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {_reason(error)}", "make it readable, or remove it") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ConfigError(f"{path}: not a regular file", "put a file in its place, or remove it")
    with os.fdopen(handle, "rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_FILE_BYTES} bytes", "settings need far less")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8", "save the file as UTF-8") from None


def parse(text: str, path: Path) -> dict[str, Any]:
    """A TOML document; `ConfigError` names file, line and column."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{path}: values nested too deeply", "settings need two levels") from None
    except ValueError as error:
        message = str(error)
        at = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
        line = (at[1] or str(text.count("\n") + 1)) if at else ""
        column = f" (column {at[2]})" if at and at[2] else ""
        what = message[: at.start()] if at else message.split(";")[0]
        place = f"{path}:{line}" if line else str(path)
        raise ConfigError(
            f"{place}: {what[:1].lower()}{what[1:]}{column}", "the file must be valid TOML"
        ) from None


def flatten(table: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[Entry]:
    """Entries of a document: one per setting, per key of a free table, and per unknown name."""
    for name, value in table.items():
        path = (*above, name)
        leaf = schema.leaves().get(".".join(path))
        goes_on = leaf.is_table if leaf else ".".join(path) in schema.sections()
        if goes_on and isinstance(value, dict):
            yield from flatten(value, path)
        else:
            yield Entry(path, value)


def variables() -> dict[str, str]:
    """Every environment variable that sets something, and the key that it sets."""
    return SHORT_VARIABLES | {f"LOOPGUARD_{key.replace('.', '_').upper()}": key for key in schema.leaves()}


def from_environment(environ: Mapping[str, str]) -> Source:
    """Settings from ``LOOPGUARD_*``. Names of a section that set nothing are refused, others ignored."""
    known = variables()
    heads = tuple(
        f"LOOPGUARD_{head.upper()}_" for head in sorted(schema.sections()) if head and "." not in head
    )
    found: list[Entry] = []
    places = {}
    for name in sorted(environ):
        if name in known:
            path = tuple(known[name].split("."))
            found.append(Entry(path, environ[name]))
            places[path] = name
        elif name.startswith(heads):
            near = schema.near(name, known)
            hint = f"did you mean {near}?" if near else "'loopguard config show' lists the settings"
            raise ConfigError(f"{name}: there is no such setting", hint)
    return Source(Layer.ENVIRONMENT, "environment", tuple(found), from_text=True, places=places)


def from_flags(assignments: Iterable[str], *, layer: Layer = Layer.FLAG) -> Source:
    """Settings from ``--set key=value``, later ones winning."""
    found: list[Entry] = []
    places = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise ConfigError(
                f"--set {assignment}: expected key=value", "for example --set guard.mode=observe"
            )
        path = tuple(key.strip().split("."))
        found.append(Entry(path, value))
        places[path] = f"--set {key.strip()}"
    return Source(layer, "--set", tuple(found), from_text=True, places=places)


def from_live(changes: Mapping[str, Any], place: str = "live command") -> Source:
    """Settings from a live command: dotted keys and typed values."""
    entries = tuple(Entry(tuple(key.split(".")), value) for key, value in changes.items())
    return Source(Layer.LIVE, place, entries, from_text=True)


class Stamp(NamedTuple):
    """What tells one state of a file from the next, without reading it."""

    modified_ns: int
    size: int
    inode: int


def stamps(paths: Iterable[Path]) -> dict[Path, Stamp | None]:
    """The present state of each file; None where there is none."""
    return {path: _stamp(path) for path in paths}


def changed(paths: Sequence[Path], before: Mapping[Path, Stamp | None]) -> list[Path]:
    """The files that are not as they were when ``before`` was taken by `stamps`."""
    return [path for path in paths if _stamp(path) != before.get(path)]


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return Stamp(found.st_mtime_ns, found.st_size, found.st_ino)


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or "cannot be read").lower()
