"""Workers that hang, die or fail: what they read is named, the rest is read, and nobody waits without end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.context import SpawnProcess
from pathlib import Path

import psutil
import pytest

from loopguard_cli.history import Conversation
from loopguard_cli.study import workers as workshop
from loopguard_cli.study.cost import Study
from loopguard_cli.study.workers import Progress, Workers


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            assert "spawn_main" not in " ".join(child.cmdline())


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workshop, "LOOK_SECONDS", 1.0)


def read(conversation: Conversation, progress: Progress) -> Study:
    """Does as the file is called."""
    progress(conversation.size)
    match conversation.path.name:
        case "hangs":
            threading.Event().wait()
        case "computes":
            while True:
                progress(conversation.size)
        case "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        case "fails":
            raise KeyError(conversation.path.name)
    return Study(agent="pi", path=str(conversation.path))


def conversations(*names: str) -> list[Conversation]:
    return [Conversation(agent="pi", path=Path(name), size=10) for name in names]


def judged(*batches: list[Conversation]) -> tuple[dict[str, str], list[int]]:
    told: list[int] = []
    with Workers(2, read, _unexpected) as pool:
        found = list(pool.studies(iter(batches), told.append))
    assert len({one.path for one in found}) == len(found)
    return {one.path: one.unreadable for one in found}, told


def _unexpected(abandoned: Study) -> None:
    pytest.fail(f"abandoned {abandoned.path}")


@pytest.mark.usefixtures("impatient")
def test_a_file_whose_reader_hangs_is_named_and_the_rest_is_read() -> None:
    found, told = judged(conversations("a", "hangs", "b"), conversations("c"), conversations("d", "e"))
    assert "did not come to an end" in found.pop("hangs")
    assert found == dict.fromkeys("abcde", "")
    assert told[-1] == 60


@pytest.mark.usefixtures("impatient")
def test_one_that_computes_for_long_is_waited_for() -> None:
    """It would be killed at the second look; that it is still there at the fourth is how we know."""
    looks = 0
    with Workers(1, read, _unexpected) as pool:
        real = pool._is_stuck

        def counting(worker: workshop._Worker, passed: float) -> bool:
            nonlocal looks
            stuck = real(worker, passed)
            looks += worker.quiet == 0.0
            if looks == 4:
                raise KeyboardInterrupt
            return stuck

        pool._is_stuck = counting  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            list(pool.studies(iter([conversations("computes")]), lambda _: None))


def test_a_file_whose_reader_dies_is_named_and_the_rest_is_read() -> None:
    found, told = judged(conversations("a", "dies", "b"), conversations("c"))
    assert "killed" in found.pop("dies")
    assert found == dict.fromkeys("abc", "")
    assert told[-1] == 40


@pytest.mark.parametrize(("name", "named"), [("hangs", ["hangs"]), ("computes", [])])
def test_leaving_is_bounded_and_only_what_hangs_is_named(name: str, named: list[str]) -> None:
    abandoned: list[Study] = []
    with pytest.raises(KeyboardInterrupt), Workers(2, read, abandoned.append) as pool:
        list(pool.studies(iter([conversations(name)]), _interrupt))
    assert [one.path for one in abandoned] == named


def _interrupt(read: int) -> None:
    if read:
        raise KeyboardInterrupt


def test_a_bug_in_a_worker_is_one_here_with_where_it_is() -> None:
    with pytest.raises(KeyError, match="fails") as raised:
        judged(conversations("a", "fails", "b"))
    assert raised.traceback[-1].name == "read"


def test_one_that_cannot_be_killed_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that waits for a broken disk. At the end of a program, its children would be waited for."""
    monkeypatch.setattr(workshop, "KILLED_SECONDS", 0.1)
    with monkeypatch.context() as patch:
        patch.setattr(SpawnProcess, "kill", lambda _: None)
        with pytest.raises(KeyboardInterrupt), Workers(1, read, lambda _: None) as pool:
            list(pool.studies(iter([conversations("hangs")]), _interrupt))
    (left,) = [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]
    assert not multiprocessing.active_children()
    left.kill()
    left.wait()
