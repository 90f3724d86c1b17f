from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest

from loopguard_cli.config import write
from loopguard_cli.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "loopguard.toml"


def test_makes_the_file_and_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b.toml"
    assert write.assign(file, "guard.mode", "observe") == "observe"
    assert file.read_text() == '[guard]\nmode = "observe"\n'


def test_replaces_a_value_and_leaves_everything_else_as_it_was(file: Path) -> None:
    file.write_text("# top\n[guard]\nmode = 'on'\n\n# calls\n[guard.calls]\nignore_tools = [\n 'a', # x\n]\n")
    write.assign(file, "guard.mode", "off")
    write.assign(file, "guard.calls.ignore_tools", "b,c")
    assert file.read_text() == (
        '# top\n[guard]\nmode = "off"\n\n# calls\n[guard.calls]\nignore_tools = [\n    "b",\n    "c",\n]\n'
    )


def test_a_new_key_goes_into_its_table(file: Path) -> None:
    file.write_text("[guard.calls] # mine\n# kept\n\n[guard.pace]\nturns = 3")
    write.assign(file, "guard.calls.cycle_repeats", "4")
    write.assign(file, "guard.pace.seconds", "9")
    write.assign(file, "guard.hint", "false")
    assert tomllib.loads(file.read_text()) == {
        "guard": {"calls": {"cycle_repeats": 4}, "pace": {"turns": 3, "seconds": 9.0}, "hint": False}
    }
    assert "[guard.calls] # mine\n" in file.read_text()
    assert "# kept" in file.read_text()


@pytest.mark.parametrize(
    "text", ["guard = { mode = 'on' }\n", "guard.mode = 'on'\n", "[guard]\ncalls.cycle_repeats = 3\n"]
)
def test_unusual_forms_are_written_right_too(file: Path, text: str) -> None:
    file.write_text(text)
    write.assign(file, "guard.calls.cycle_repeats", "5")
    expected = tomllib.loads(text)
    expected["guard"].setdefault("calls", {})["cycle_repeats"] = 5
    assert tomllib.loads(file.read_text()) == expected


def test_keys_of_free_tables_may_hold_dots(file: Path) -> None:
    write.assign(file, "guard.calls.tool_thresholds.mcp.search", "4")
    write.assign(file, "guard.calls.tool_thresholds.bash", "2")
    assert tomllib.loads(file.read_text())["guard"]["calls"]["tool_thresholds"] == {
        "mcp.search": 4,
        "bash": 2,
    }
    assert write.remove(file, "guard.calls.tool_thresholds.mcp.search")
    assert tomllib.loads(file.read_text())["guard"]["calls"]["tool_thresholds"] == {"bash": 2}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("guard.mod", "on", "unknown setting 'guard.mod'"),
        ("guard.mode", "loud", "guard.mode: expected one of on, observe, off, got 'loud'"),
        ("guard.calls", "3", "guard.calls: expected a table"),
        ("guard.calls.frequency_window", "3", "could never fire"),
    ],
)
def test_a_bad_value_is_refused_and_nothing_written(file: Path, key: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        write.assign(file, key, value)
    assert message in str(caught.value)
    assert not file.exists()


def test_a_damaged_file_is_not_overwritten(file: Path) -> None:
    file.write_text("[guard")
    with pytest.raises(ConfigError, match=":1: "):
        write.assign(file, "guard.mode", "off")
    assert file.read_text() == "[guard"


def test_removes_a_value_with_its_lines(file: Path) -> None:
    file.write_text("[guard]\n# a\nmode = 'on'\nhint = true\n")
    assert write.remove(file, "guard.mode")
    assert file.read_text() == "[guard]\n# a\nhint = true\n"
    assert not write.remove(file, "guard.mode")
    assert not write.remove(file.with_name("none.toml"), "guard.mode")


def test_a_link_is_followed_and_permissions_stay(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("")
    real.chmod(0o640)
    file.symlink_to(real)
    write.assign(file, "guard.mode", "off")
    assert file.is_symlink()
    assert real.read_text() == '[guard]\nmode = "off"\n'
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_nothing_is_left_behind(file: Path) -> None:
    write.assign(file, "guard.mode", "off")
    assert [found.name for found in file.parent.iterdir()] == [file.name]


def test_a_place_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        write.write_text(tmp_path / "file" / "x.toml", "")
