"""Tables in docs/ that follow from the code; each stands between two marks in its page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from loopguard_cli.cli.environment import FILES, VARIABLES
from loopguard_cli.config.describe import descriptions
from loopguard_cli.config.importing import INFINITY_OPTIONS, PI_OPTIONS, PI_VARIABLES, WITHOUT_COUNTERPART
from loopguard_cli.config.schema import expected, leaves
from loopguard_cli.config.sources import SHORT_VARIABLES, variables
from loopguard_cli.exit_codes import ExitCode


def filled(page: Path) -> str:
    """The page with its tables as they should be now."""
    text = page.read_text(encoding="utf-8")
    for name in PAGES[f"docs/{page.name}"]:
        pattern = rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)"
        text, count = re.subn(pattern, lambda m, n=name: m[1] + _table(n) + m[2], text, flags=re.DOTALL)  # type: ignore[misc]
        if count != 1:
            raise SystemExit(f"{page}: expected one place for the table {name!r}, found {count}")
    return text


def _table(name: str) -> str:
    head, *rows = _TABLES[name]()
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(
        f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in row)} |\n" for row in lines
    )


def _settings() -> Iterator[tuple[str, ...]]:
    yield ("setting", "default", "allowed", "meaning")
    texts = descriptions()
    for leaf in leaves().values():
        yield (f"`{leaf.key}`", f"`{toml(leaf.default)}`", expected(leaf.type), _markdown(texts[leaf.key]))


def _variables() -> Iterator[tuple[str, ...]]:
    yield ("variable", "meaning")
    for name, key in SHORT_VARIABLES.items():
        yield (f"`{name}`", f"`{key}`")
    for name, meaning in VARIABLES.items():
        yield (f"`{name}`", meaning)


def _files() -> Iterator[tuple[str, ...]]:
    yield ("file or folder", "what it is")
    for name, meaning in FILES.items():
        yield (f"`{name}`", meaning)


def _codes() -> Iterator[tuple[str, ...]]:
    yield ("status", "meaning")
    for code in ExitCode:
        yield (f"{int(code)}", code.meaning)


def _pi() -> Iterator[tuple[str, ...]]:
    yield ("`.pi/loop-guard.json`", "its variable", "here", "our variable")
    names = {option: variable for variable, option in PI_VARIABLES.items()}
    ours = {key: name for name, key in reversed(variables().items())}
    for option, (key, _) in PI_OPTIONS.items():
        yield (f"`{option}`", f"`{names[option]}`", _seconds(option, key), f"`{ours[key]}`")
    yield ("`enabled: false`", "", '`guard.mode = "off"`', "`LOOPGUARD_MODE=off`")


def _infinity() -> Iterator[tuple[str, ...]]:
    yield ("option", "here")
    for option, (key, _) in INFINITY_OPTIONS.items():
        yield (f"`{option}`", _seconds(option, key))
    for option, reason in WITHOUT_COUNTERPART.items():
        yield (f"`{option}`", f"none: {reason}")


def _seconds(option: str, key: str) -> str:
    return f"`{key}` (in seconds)" if option.endswith("Ms") else f"`{key}`"


def toml(value: Any) -> str:
    """A value as it stands in a settings file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _markdown(text: str) -> str:
    return text.replace("``", "`")


_TABLES: Mapping[str, Callable[[], Iterator[tuple[str, ...]]]] = {
    "settings": _settings,
    "variables": _variables,
    "files": _files,
    "exit codes": _codes,
    "pi": _pi,
    "infinity": _infinity,
}

PAGES = {
    "docs/configuration.md": ("settings", "variables", "files"),
    "docs/exit-codes.md": ("exit codes",),
    "docs/migrating.md": ("pi", "infinity"),
}
