from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from loopguard_cli.config import sources
from loopguard_cli.config.schema import Layer
from loopguard_cli.errors import ConfigError


def test_files_are_listed_weakest_first(tmp_path: Path) -> None:
    found = sources.files(tmp_path, {"XDG_CONFIG_HOME": "/x"})
    assert found == (
        (Layer.USER, Path("/x/loopguard/config.toml")),
        (Layer.PROJECT, tmp_path / "loopguard.toml"),
        (Layer.PROJECT, tmp_path / ".loopguard/config.toml"),
    )


def test_a_relative_xdg_folder_is_ignored_as_the_standard_says() -> None:
    assert sources.user_file({"XDG_CONFIG_HOME": "relative"}).is_absolute()


def test_a_missing_file_is_no_source(tmp_path: Path) -> None:
    assert sources.read_file(Layer.USER, tmp_path / "none.toml") is None
    (tmp_path / "file").write_text("")
    assert sources.read_file(Layer.USER, tmp_path / "file" / "config.toml") is None


def test_a_folder_in_place_of_the_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a regular file"):
        sources.read_text(tmp_path)


def test_a_pipe_in_place_of_the_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "config.toml"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="not a regular file"):
        sources.read_text(pipe)


def test_an_unreadable_file_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)  # root, who may run the tests, can read everything
    with pytest.raises(ConfigError, match="permission denied"):
        sources.read_text(tmp_path / "config.toml")


def test_an_oversized_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("#" * (sources.MAX_FILE_BYTES + 1))
    with pytest.raises(ConfigError, match=f"larger than {sources.MAX_FILE_BYTES} bytes"):
        sources.read_text(file)


def test_wrong_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"[guard]\n# gr\xfc\xdfe\n")
    with pytest.raises(ConfigError, match=r"config\.toml:2: not UTF-8"):
        sources.read_text(file)


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 5000, "x = " + "9" * 5000, "a = 2024-13-45", 'a = "\\ud800"']
)
def test_what_upsets_the_parser_itself_becomes_one_line(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        sources.parse(text, Path("f.toml"))
    assert str(caught.value).startswith("f.toml")
    assert "\n" not in str(caught.value)


def test_a_changed_file_shows_without_reading_it(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    paths[0].write_text("1")
    before = sources.stamps(paths)
    assert sources.changed(paths, before) == []
    paths[0].write_text("12")
    paths[1].write_text("new")
    assert sources.changed(paths, before) == paths
    now = sources.stamps(paths)
    paths[1].unlink()
    assert sources.changed(paths, now) == [paths[1]]


def test_a_file_replaced_by_one_of_equal_size_and_time_shows(tmp_path: Path) -> None:
    file, other = tmp_path / "a", tmp_path / "b"
    file.write_text("1")
    before = sources.stamps([file])
    other.write_text("2")
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    other.replace(file)
    assert sources.changed([file], before) == [file]
