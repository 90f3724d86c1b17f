"""Tables in docs/ that follow from the code; each stands between two marks in its page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from loopguard_cli.cli.environment import FILES, VARIABLES
from loopguard_cli.config.describe import descriptions
from loopguard_cli.config.replaced import GOAL, INFINITY, PI, PI_VARIABLES, Option, Plugin
from loopguard_cli.config.schema import expected, leaves
from loopguard_cli.config.sources import SHORT_VARIABLES, variables
from loopguard_cli.exit_codes import ExitCode
from scripts.schemas import OUTPUTS


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


def _outputs() -> Iterator[tuple[str, ...]]:
    yield ("command", "prints", "schema")
    for name, output in OUTPUTS.items():
        yield (f"`{output.commands}`", output.what, f"[{name}.json](schemas/{name}.json)")


def _pi() -> Iterator[tuple[str, ...]]:
    yield ("`.pi/loop-guard.json`", "its variable", "here", "our variable")
    names = {option: f"`{variable}`" for variable, option in PI_VARIABLES.items()}
    ours = {key: name for name, key in reversed(variables().items())}
    for name, option in PI.options.items():
        yield (f"`{name}`", names.get(name, ""), _ours(option), f"`{ours[option.key]}`")


def _plugin(plugin: Plugin) -> Iterator[tuple[str, ...]]:
    yield ("option", "here")
    for name, option in plugin.options.items():
        yield (f"`{name}`", _ours(option))
    for name, reason in plugin.dropped.items():
        yield (f"`{name}`", f"none: {reason}")


def _ours(option: Option) -> str:
    return f"`{option.key}`" + (f" ({option.note})" if option.note else "")


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
    "outputs": _outputs,
    "pi": _pi,
    "infinity": partial(_plugin, INFINITY),
    "goal": partial(_plugin, GOAL),
}

PAGES = {
    "docs/configuration.md": ("settings", "variables", "files"),
    "docs/json.md": ("outputs",),
    "docs/exit-codes.md": ("exit codes",),
    "docs/migrating.md": ("pi", "infinity", "goal"),
}
