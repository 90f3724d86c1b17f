"""The settings under which a trace is looked at: the folder's, or what-if ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loopguard_cli.config import sources
from loopguard_cli.config.load import load, load_for
from loopguard_cli.config.schema import Layer
from loopguard_cli.core.settings import GuardSettings, Preset
from loopguard_cli.errors import ConfigError


def folder_settings(folder: Path, preset: Preset | None, assignments: Sequence[str]) -> GuardSettings:
    """What holds in ``folder``, with ``assignments`` (``guard.x=y``) on top."""
    return load_for(folder, assignments=[*_preset(preset), *assignments]).settings.guard


def bare_settings(file: Path | None, preset: Preset | None, assignments: Sequence[str]) -> GuardSettings:
    """Nothing but the defaults, ``file`` and ``assignments``, so that a measurement can be repeated.

    Raises `ConfigError` for a file that is missing or wrong.
    """
    layers = []
    if file is not None:
        source = sources.read_file(Layer.FLAG, file)
        if source is None:
            raise ConfigError(f"{file}: no such file")
        layers.append(source)
    return load([*layers, sources.from_flags([*_preset(preset), *assignments])]).settings.guard


def _preset(preset: Preset | None) -> list[str]:
    return [f"guard.preset={preset}"] if preset is not None else []
