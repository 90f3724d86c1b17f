"""Makes settings of sources: each value checked, the strongest source winning, its origin kept."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec

from loopguard_cli.config import schema, sources
from loopguard_cli.config.schema import Layer, Settings
from loopguard_cli.config.sources import Entry, Source
from loopguard_cli.core.settings import PRESET_VALUES, Preset
from loopguard_cli.errors import ConfigError

NOT_HERE = "only a file of yours may name programs and addresses; use 'loopguard config set --user'"


class Origin(NamedTuple):
    """Where a value comes from."""

    layer: Layer
    source: Source | None = None
    path: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """``file:line``, the name of a variable, a flag; empty for defaults and presets."""
        return self.source.place(self.path) if self.source else ""


class Loaded(NamedTuple):
    settings: Settings
    origins: Mapping[str, Origin]
    """By dotted key; keys of free tables (tool names) each have their own. Absent: the default."""
    ignored: tuple[str, ...] = ()
    """One line for each setting that is not taken from where it stands, and why."""


def load(layers: Iterable[Source | None]) -> Loaded:
    """Put sources together, weakest first. `ConfigError` names the first bad value and its place."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    ignored: list[str] = []
    for source in layers:
        if source is not None:
            for entry in source.entries:
                if source.layer is Layer.PROJECT and ".".join(entry.path) in schema.PERSONAL:
                    check(entry, source)
                    ignored.append(_at(source, entry, f"{'.'.join(entry.path)} ignored: {NOT_HERE}"))
                else:
                    _put(entry, source, values, origins)
    preset = values.get("guard.preset", Preset.BALANCED)
    for key, value in PRESET_VALUES[preset].items():
        if key not in values:
            values[key] = value
            origins[key] = Origin(Layer.PRESET)
    _check_together(values, origins)
    return Loaded(_build(values), origins, tuple(ignored))


def load_for(
    folder: Path,
    *,
    assignments: Sequence[str] = (),
    live: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Loaded:
    """Settings as they hold in a project folder. ``assignments`` are those of ``--set``."""
    read = [sources.read_file(layer, path) for layer, path in sources.files(folder, environ)]
    return load(
        [
            *read,
            sources.from_environment(environ),
            sources.from_flags(assignments),
            sources.from_live(live or {}),
        ]
    )


def reload_for(
    folder: Path,
    current: Loaded,
    *,
    assignments: Sequence[str] = (),
    live: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> tuple[Loaded, str]:
    """Like `load_for`, but broken sources leave ``current`` in force; the text then says why."""
    try:
        return load_for(folder, assignments=assignments, live=live, environ=environ), ""
    except ConfigError as error:
        return current, f"settings not reloaded, the former ones stay in force: {error}"


class Checked(NamedTuple):
    """One entry that fits its setting."""

    leaf: schema.Leaf
    name: str
    """The key inside a free table, else empty."""
    value: Any


def check(entry: Entry, source: Source) -> Checked:
    """Find the setting of an entry and convert its value. `ConfigError` says what is wrong, and where."""
    found = schema.find(entry.path)
    if found is None:
        raise _unknown(entry, source)
    leaf, name = found
    kind = get_args(leaf.type)[1] if name else leaf.type
    try:
        value = schema.convert(kind, entry.value, from_text=source.from_text)
    except ValueError as error:
        raise ConfigError(_at(source, entry, f"{'.'.join(entry.path)}: {error}")) from None
    return Checked(leaf, name, value)


def _put(entry: Entry, source: Source, values: dict[str, Any], origins: dict[str, Origin]) -> None:
    leaf, name, value = check(entry, source)
    origin = Origin(source.layer, source, entry.path)
    if not leaf.is_table:
        values[leaf.key] = value
        origins[leaf.key] = origin
        return
    for one, chosen in ({name: value} if name else value).items():
        values[leaf.key] = {**values.get(leaf.key, leaf.default), one: chosen}
        origins[f"{leaf.key}.{one}"] = origin


def _unknown(entry: Entry, source: Source) -> ConfigError:
    key = ".".join(entry.path)
    if key in schema.sections():
        message = f"{key}: expected a table, got {entry.value!r:.40}"
        return ConfigError(_at(source, entry, message), f"write [{key}] and its settings below")
    by_name = [known for known in schema.leaves() if known.rpartition(".")[2] == entry.path[-1]]
    near = by_name[0] if by_name else schema.near(key, [*schema.leaves(), *schema.sections()])
    hint = f"did you mean {near!r}?" if near else "'loopguard config show' lists the settings"
    return ConfigError(_at(source, entry, f"unknown setting {key!r}"), hint)


def _at(source: Source, entry: Entry, message: str) -> str:
    place = source.place(entry.path)
    return f"{place}: {message}" if place else message


def _check_together(values: Mapping[str, Any], origins: Mapping[str, Origin]) -> None:
    """What no single value can get wrong."""
    threshold, window = "guard.calls.frequency_threshold", "guard.calls.frequency_window"
    calls, within = (values.get(key, schema.leaves()[key].default) for key in (threshold, window))
    if calls > within:
        place = next((origins[key].place for key in (threshold, window) if key in origins), "settings")
        raise ConfigError(
            f"{place}: {threshold} ({calls}) is more than {window} ({within}), so the rule could never fire",
            "to switch the rule off, set guard.rules.call-frequency to off",
        )


def _build(values: Mapping[str, Any]) -> Settings:
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *above, name = key.split(".")
        table = tree
        for part in above:
            table = table.setdefault(part, {})
        table[name] = value
    return msgspec.convert(tree, Settings)
