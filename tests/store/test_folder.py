from __future__ import annotations

import os
from pathlib import Path

import pytest

from loopguard_cli.errors import StoreError
from loopguard_cli.store.folder import Folder, NotRegular, opened


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_made_folder_and_its_files_belong_to_the_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Folder.open(tmp_path / "a" / "state", create=True) as folder:
            folder.replace("file", b"x", sync=True)
            folder.subfolder("sub", create=True).close()
    finally:
        os.umask(before)
    assert mode(tmp_path / "a" / "state") == 0o700
    assert mode(tmp_path / "a" / "state" / "file") == 0o600
    assert mode(tmp_path / "a" / "state" / "sub") == 0o700


def test_loose_permissions_of_our_own_folder_are_tightened(tmp_path: Path) -> None:
    state = tmp_path / ".loopguard"
    state.mkdir()
    state.chmod(0o777)
    (state / "file").touch(0o644)
    with Folder.open(state, create=True) as folder:
        folder.read("file", 10)
    assert mode(state) == 0o700
    assert mode(state / "file") == 0o600


def test_a_folder_named_by_a_person_is_left_as_it_is_but_not_if_others_can_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    Folder.open(tmp_path, create=True).close()
    assert mode(tmp_path) == 0o755
    tmp_path.chmod(0o775)
    with pytest.raises(StoreError, match="other users can write"):
        Folder.open(tmp_path, create=True)


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "target")
    with pytest.raises(StoreError, match="symbolic link"):
        Folder.open(tmp_path / "state", create=True)
    assert list((tmp_path / "target").iterdir()) == []


def test_a_dangling_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreError):
        Folder.open(tmp_path / "state", create=True)
    assert not (tmp_path / "nowhere").exists()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(StoreError, match="not a folder"):
        Folder.open(tmp_path / "state", create=True)


def test_somebody_elses_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StoreError, match="another user"):
        Folder.open(tmp_path, create=True)


def test_a_folder_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="LOOPGUARD_STATE_DIR"):
        Folder.open(tmp_path / "file" / "state", create=True)


def test_a_missing_folder_is_nothing_to_a_reader(tmp_path: Path) -> None:
    with opened(tmp_path / "state") as folder:
        assert folder is None
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe", "folder"])
def test_only_regular_files_are_opened(tmp_path: Path, kind: str) -> None:
    (tmp_path / "target").write_bytes(b"kept")
    place = tmp_path / "state" / "file"
    place.parent.mkdir()
    match kind:
        case "link":
            place.symlink_to(tmp_path / "target")
        case "dangling":
            place.symlink_to(tmp_path / "new")
        case "pipe":
            os.mkfifo(place)
        case _:
            place.mkdir()
    with Folder.open(place.parent, create=False) as folder:
        with pytest.raises(NotRegular):
            folder.read("file", 10)
        with pytest.raises(NotRegular):
            folder.open_file("file", os.O_WRONLY | os.O_APPEND)
    assert (tmp_path / "target").read_bytes() == b"kept"
    assert not (tmp_path / "new").exists()


def test_a_link_is_replaced_and_its_target_kept(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"kept")
    (tmp_path / "file").symlink_to(tmp_path / "target")
    with Folder.open(tmp_path, create=False) as folder:
        folder.replace("file", b"new")
        assert folder.read("file", 3) == b"new"
    assert (tmp_path / "target").read_bytes() == b"kept"


def test_a_failed_replacement_leaves_the_old_content_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError(5, "Input/output error")

    with Folder.open(tmp_path, create=False) as folder:
        folder.replace("file", b"old")
        monkeypatch.setattr(os, "fsync", refuse)
        with pytest.raises(OSError, match="Input/output"):
            folder.replace("file", b"new", sync=True)
        assert folder.read("file", 10) == b"old"
        assert folder.names() == ["file"]


def test_reading_stops_at_the_limit(tmp_path: Path) -> None:
    with Folder.open(tmp_path, create=False) as folder:
        folder.replace("file", b"12345")
        assert folder.read("file", 5) == b"12345"
        with pytest.raises(OSError, match="large"):
            folder.read("file", 4)


def test_nothing_put_aside_is_ever_overwritten(tmp_path: Path) -> None:
    with Folder.open(tmp_path, create=False) as folder:
        names = []
        for content in (b"a", b"b", b"c"):
            folder.replace("file", content)
            names.append(folder.put_aside("file", "corrupt", now=1000.9))
        assert names == ["file.corrupt.1000", "file.corrupt.1000-2", "file.corrupt.1000-3"]
        assert [folder.read(name, 10) for name in names] == [b"a", b"b", b"c"]


def test_it_is_noticed_when_the_folder_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with Folder.open(path, create=True) as folder:
        assert folder.still_there()
        path.rename(tmp_path / "old")
        assert not folder.still_there()
        path.mkdir()
        assert not folder.still_there()
