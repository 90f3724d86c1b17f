"""Files that an agent appends to, read along."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from loopguard_cli.agents.base import Answer
from loopguard_cli.runtime.reach.follow import FILES, Follower


class Reader:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, bytes]] = []

    def appended(self, path: str, data: bytes) -> Answer:
        self.told.append((Path(path).name, data))
        return Answer()


def following(body: Callable[[Follower], None]) -> list[tuple[str, bytes]]:
    reader = Reader()

    async def run() -> None:
        follower = Follower(reader, lambda _answer: None)
        try:
            body(follower)
        finally:
            follower.close()

    work: Coroutine[Any, Any, None] = run()
    asyncio.run(work)
    return reader.told


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_only_what_is_appended_from_now_on_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    append(path, "before")

    def body(follower: Follower) -> None:
        follower.follow(str(path))
        append(path, "after")
        follower.look()
        follower.look()

    assert following(body) == [("log", b"after")]


def test_a_file_that_comes_later_is_new_from_its_beginning(tmp_path: Path) -> None:
    def body(follower: Follower) -> None:
        follower.follow(str(tmp_path / "log"))
        append(tmp_path / "log", "all of it")
        follower.look()

    assert following(body) == [("log", b"all of it")]


def test_a_file_that_is_begun_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "log"
    append(path, "a long beginning")

    def body(follower: Follower) -> None:
        follower.follow(str(path))
        path.write_text("new")
        follower.look()

    assert following(body) == [("log", b"new")]


def test_what_is_no_file_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "secret").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "secret")

    def body(follower: Follower) -> None:
        for name in ("pipe", "link", "."):
            follower.follow(str(tmp_path / name))
        append(tmp_path / "secret", "more")
        follower.look()

    assert following(body) == []


def test_no_more_files_than_that_are_followed(tmp_path: Path) -> None:
    def body(follower: Follower) -> None:
        for number in range(FILES + 1):
            follower.follow(str(tmp_path / f"{number}"))
            append(tmp_path / f"{number}", "x")
        follower.look()

    told = following(body)
    assert len(told) == FILES
    assert ("0", b"x") not in told
