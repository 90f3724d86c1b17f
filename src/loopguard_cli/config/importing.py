"""Takes over the settings of the plugins that loopguard replaces.

A file is either the options of one of them (``.pi/loop-guard.json``, say), told by their names, or an
``opencode.json`` whose ``plugin`` list has entries of one or more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from loopguard_cli.config import replaced, schema, sources
from loopguard_cli.config.replaced import Option, Plugin
from loopguard_cli.errors import ConfigError


class Imported(NamedTuple):
    values: dict[tuple[str, ...], Any]
    """Plain values by path, ready for `write.put`."""
    notes: tuple[str, ...]
    """What has no counterpart, and why."""


def read(path: Path) -> Imported:
    """Read a file of a replaced plugin. `ConfigError` names the file and the option at fault."""
    document = _document(path)
    if "plugin" not in document:
        return translate(_plugin_of(document), document, str(path))
    found = list(_entries(document["plugin"]))
    if not found:
        names = ", ".join(plugin.name for plugin in replaced.PLUGINS)
        raise ConfigError(f"{path}: none of the replaced plugins is in its plugin list", f"they are: {names}")
    parts = [translate(plugin, options, f"{path}: {plugin.name}") for plugin, options in found]
    return Imported(
        {place: value for part in parts for place, value in part.values.items()},
        tuple(note for part in parts for note in part.notes),
    )


def translate(plugin: Plugin, options: Mapping[str, Any], place: str) -> Imported:
    """Options of one plugin as our values. ``place`` names them in errors."""
    values: dict[tuple[str, ...], Any] = {}
    if plugin.preset is not None:
        values["guard", "preset"] = plugin.preset.value
    notes = []
    # An option that switches everything off is told last, so that it wins over the plain one.
    for name, value in sorted(_flat(options, plugin), key=lambda item: item[0] == "enabled"):
        if name in plugin.options:
            option = plugin.options[name]
            changed = _checked(f"{place}: {name}", option, value)
            if changed is not None:
                values[tuple(option.key.split("."))] = changed
        elif name in plugin.dropped:
            notes.append(f"{name}: {plugin.dropped[name]}")
        else:
            near = schema.near(name, [*plugin.options, *plugin.dropped])
            raise ConfigError(f"{place}: unknown option {name!r}", near and f"did you mean {near!r}?")
    return Imported(values, tuple(notes))


def _document(path: Path) -> dict[str, Any]:
    text = sources.read_text(path)
    if text is None:
        raise ConfigError(f"{path}: no such file", "name the old plugin's JSON file")
    try:
        document = json.loads(text)
    except RecursionError:
        raise ConfigError(f"{path}: values nested too deeply") from None
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        what = getattr(error, "msg", "") or str(error).split(";")[0]
        place = f"{path}:{line}" if line else str(path)
        raise ConfigError(f"{place}: not JSON: {what[:1].lower()}{what[1:]}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: expected a JSON object of options")
    return document


def _plugin_of(options: Mapping[str, Any]) -> Plugin:
    """The plugin that knows most of the options."""

    def known(plugin: Plugin) -> int:
        return sum(name in plugin.options or name in plugin.dropped for name, _ in _flat(options, plugin))

    return max(replaced.PLUGINS, key=known)


def _entries(listed: Any) -> Iterator[tuple[Plugin, Mapping[str, Any]]]:
    for entry in listed if isinstance(listed, list) else ():
        name, options = entry if isinstance(entry, list) and len(entry) == 2 else (entry, {})
        for plugin in replaced.PLUGINS:
            if isinstance(name, str) and name.split("@")[0] == plugin.name and isinstance(options, dict):
                yield plugin, options


def _flat(options: Mapping[str, Any], plugin: Plugin) -> Iterator[tuple[str, Any]]:
    """Options by their names in the table; those of a known inner object with a dotted name."""
    objects = {name.split(".")[0] for name in plugin.options if "." in name}
    for name, value in options.items():
        if name in objects and isinstance(value, dict):
            yield from ((f"{name}.{inner}", one) for inner, one in value.items())
        else:
            yield name, value


def _checked(place: str, option: Option, value: Any) -> Any:
    """The value for our setting; None if it says nothing."""
    changed = option.change(value)
    if changed is None and value is not None:
        return None
    try:
        schema.convert(schema.leaves()[option.key].type, changed)
    except ValueError as error:
        note = f" ({option.note})" if option.note else ""
        raise ConfigError(f"{place}: {error}{note}") from None
    return changed
