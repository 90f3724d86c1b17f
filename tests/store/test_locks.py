from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopguard_cli.errors import StoreError
from loopguard_cli.store import locks
from loopguard_cli.store.folder import Folder
from loopguard_cli.store.locks import FileLock


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with Folder.open(tmp_path / "state", create=True) as opened:
        yield opened


def test_one_holds_it_at_a_time(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "WAIT_SECONDS", 0.0)
    one, two = FileLock(folder, "lock"), FileLock(folder, "lock")
    with one.held(), pytest.raises(StoreError, match="another process holds"), two.held():
        pass
    with two.held(), pytest.raises(StoreError), one.held():
        pass
    one.close()
    two.close()


def test_the_wait_for_a_suspended_holder_is_paid_once(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    suspended, other = FileLock(folder, "lock"), FileLock(folder, "lock")
    with suspended.held():
        for expected in (locks.WAIT_SECONDS, 0.0, 0.0):
            slept.clear()
            with pytest.raises(StoreError), other.held():
                pass
            assert sum(slept) == pytest.approx(expected, abs=0.01)
    with other.held():
        pass
    with suspended.held(), pytest.raises(StoreError), other.held():
        pass
    assert sum(slept) == pytest.approx(locks.WAIT_SECONDS, abs=0.01)
    suspended.close()
    other.close()


def test_a_deleted_lock_file_does_not_let_two_in(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "WAIT_SECONDS", 0.0)
    old, new = FileLock(folder, "lock"), FileLock(folder, "lock")
    with old.held():
        pass
    folder.remove("lock")
    with new.held(), pytest.raises(StoreError), old.held():
        pass
    old.close()
    new.close()


def test_it_is_free_again_after_an_error_inside(folder: Folder) -> None:
    one, two = FileLock(folder, "lock"), FileLock(folder, "lock")
    with pytest.raises(ZeroDivisionError), one.held():
        raise ZeroDivisionError
    with two.held():
        pass
    one.close()
    two.close()
