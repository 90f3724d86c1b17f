"""Whatever a settings file holds, it either loads or is refused in one line."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loopguard_cli.config import importing, schema, write
from loopguard_cli.config.load import load, load_for
from loopguard_cli.config.replaced import PLUGINS
from loopguard_cli.config.sources import from_environment, from_flags, variables
from loopguard_cli.errors import ConfigError

GOOD = b"""\
[guard]
mode = "observe"
rules = { call-cycle = "warn" }
[guard.calls]
ignore_tools = ["a", "b"]
repeat_window_seconds = 1e1
[guard.calls.tool_thresholds]
bash = 2
"""
KEYS = sorted(schema.leaves())


def outcome(folder: Path) -> str:
    """Empty if the settings of a folder load, else the one line that refuses them."""
    try:
        load_for(folder, environ={"XDG_CONFIG_HOME": str(folder)})
    except ConfigError as error:
        return str(error)
    return ""


@given(st.integers(0, len(GOOD) - 1), st.binary(max_size=6), st.integers(0, 12))
@example(0, b"\xff", 0)
def test_damaged_files(start: int, put: bytes, cut: int) -> None:
    with TemporaryDirectory() as name:
        file = Path(name) / "loopguard.toml"
        file.write_bytes(GOOD[:start] + put + GOOD[start + cut :])
        said = outcome(Path(name))
    assert not said or said.startswith(f"{file}:")


@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    with TemporaryDirectory() as name:
        (Path(name) / "loopguard.toml").write_bytes(data)
        said = outcome(Path(name))
    assert not said or said.startswith(os.path.join(name, "loopguard.toml"))  # noqa: PTH118


def test_a_file_cut_at_every_byte() -> None:
    with TemporaryDirectory() as name:
        file = Path(name) / "loopguard.toml"
        for end in range(len(GOOD)):
            file.write_bytes(GOOD[:end])
            said = outcome(Path(name))
            assert not said or said.startswith(f"{file}:"), said


@given(st.sampled_from(KEYS), st.text(max_size=12))
def test_any_text_as_a_flag_or_variable_is_taken_or_refused_by_name(key: str, text: str) -> None:
    name = next(name for name, known in variables().items() if known == key)
    for source, place in (
        (from_flags([f"{key}={text}"]), f"--set {key}: "),
        (from_environment({name: text}), name),
    ):
        try:
            found = load([source]).origins
            said = ""
        except ConfigError as error:
            found, said = {}, str(error)
        assert said.startswith(place) if said else all(known.startswith(key) for known in found)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3),
    )
)
def test_any_json_value_as_an_imported_option(value: object) -> None:
    for plugin, option in ((known, name) for known in PLUGINS for name in known.options):
        said = ""
        try:
            importing.translate(plugin, {option: value}, "old.json")
        except ConfigError as error:
            said = str(error)
        assert not said or said.startswith(f"old.json: {option}: ")


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.integers(2, 1000), max_size=4), st.booleans())
def test_what_is_written_is_what_is_read(thresholds: dict[str, int], inline: bool) -> None:
    with TemporaryDirectory() as name:
        file = Path(name) / "loopguard.toml"
        file.write_text("guard = { calls = {} } # x\n" if inline else "# x\n[guard.calls]\n")
        write.put(file, {("guard", "calls", "tool_thresholds", tool): n for tool, n in thresholds.items()})
        read = tomllib.loads(file.read_text())["guard"]["calls"].get("tool_thresholds", {})
        assert read == thresholds
        loaded = load_for(Path(name), environ={"XDG_CONFIG_HOME": name})
        assert loaded.settings.guard.calls.tool_thresholds == thresholds


@pytest.mark.parametrize("key", KEYS)
def test_each_default_is_accepted_from_a_file(key: str, tmp_path: Path) -> None:
    leaf = schema.leaves()[key]
    write.put(tmp_path / "loopguard.toml", {tuple(key.split(".")): write.plain(leaf.default)})
    assert outcome(tmp_path) == ""
