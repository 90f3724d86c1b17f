"""Many conversations at once: equal results however they are read, flat memory, and a clean stop."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import psutil
import pytest
from tests.history.stories import Story

from loopguard_cli.core.settings import GuardSettings
from loopguard_cli.history import Conversation
from loopguard_cli.study import scan as scanning
from loopguard_cli.study.cost import Loop, Study
from loopguard_cli.study.histories import find
from loopguard_cli.study.scan import Totals, Wanted, scan

WANTED = Wanted(settings=GuardSettings())


@pytest.fixture
def stories(tmp_path: Path) -> list[Conversation]:
    for number in range(12):
        story = Story(tmp_path / "stories" / f"s{number}.jsonl").person("do it")
        for _ in range(number % 5):
            story.calls("bash", f"same {number}", command=f"ls {number}")
        story.says("done").write()
    return list(find(tmp_path / "stories"))


@pytest.fixture
def in_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(scanning, "IN_PROCESS_BYTES", 0)
    monkeypatch.setattr(scanning, "BATCH_FILES", 2)
    yield
    assert not list(_workers())


def plain(studies: list[Study]) -> list[object]:
    return sorted((msgspec.to_builtins(one) for one in studies), key=lambda one: one["path"])


@pytest.mark.usefixtures("in_workers")
def test_workers_find_what_one_process_finds(stories: list[Conversation]) -> None:
    alone = list(scan(stories, WANTED, workers=1))
    assert len(alone) == len(stories)
    assert plain(list(scan(stories, WANTED, workers=2))) == plain(alone)


def test_the_garbage_collector_looks_as_before_when_a_scan_is_over(stories: list[Conversation]) -> None:
    before = gc.get_threshold()
    with closing(scan(stories, WANTED, workers=1)) as studies:
        next(studies)
        assert gc.get_threshold()[0] == scanning.COLLECT_EVERY
    assert gc.get_threshold() == before


@pytest.mark.usefixtures("in_workers")
def test_progress_ends_at_the_whole(stories: list[Conversation]) -> None:
    for workers in (1, 2):
        told: list[int] = []
        list(scan(stories, WANTED, workers=workers, progress=told.append))
        assert told == sorted(told)
        assert told[-1] == sum(one.size for one in stories)


@pytest.mark.usefixtures("in_workers")
def test_a_scan_that_is_given_up_leaves_no_process(stories: list[Conversation]) -> None:
    with closing(scan(stories, WANTED, workers=2)) as studies:
        assert next(studies).sessions == 1


@pytest.mark.usefixtures("in_workers")
def test_a_pipe_that_took_a_files_place_is_named(stories: list[Conversation]) -> None:
    stories[0].path.unlink()
    os.mkfifo(stories[0].path)
    found = list(scan(stories, WANTED, workers=2))
    assert {one.path: one.unreadable for one in found if one.unreadable} == {
        str(stories[0].path): "not a regular file"
    }
    assert len(found) == len(stories)


def _workers() -> Iterator[psutil.Process]:
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if "spawn_main" in " ".join(child.cmdline()):
                yield child


# --- sums ------------------------------------------------------------------------------------


def a_study(path: str, *loops: Loop, **more: object) -> Study:
    return Study(agent="pi", path=path, sessions=1, loops=list(loops), **more)  # type: ignore[arg-type]


def a_loop(time: float, **more: object) -> Loop:
    fields: dict[str, object] = {"rule": "repeat-call", "action": "block", "explanation": "again"}
    return Loop(session="s", event=0, time=time, **{**fields, **more})  # type: ignore[arg-type]


def test_sums_by_rule_and_agent() -> None:
    totals = Totals()
    totals.add(
        a_study("a", a_loop(1, calls=2, tokens=10, seconds=3.0), a_loop(2, rule="call-cycle", calls=1))
    )
    totals.add(a_study("b", calls=7, tokens=100, cost=0.5, has_cost=True, hints=2))
    assert (totals.conversations, totals.looping, totals.calls, totals.hints) == (2, 1, 7, 2)
    assert (totals.saved.loops, totals.saved.calls, totals.saved.seconds) == (2, 3, 3.0)
    assert {rule: one.calls for rule, one in totals.rules.items()} == {"repeat-call": 2, "call-cycle": 1}
    assert totals.agents["pi"].loops == 2
    assert totals.has_cost


def test_only_the_largest_are_named_and_doubtful_ones_apart() -> None:
    totals = Totals(top=2)
    for size in (5, 1, 9, 7):
        totals.add(a_study(f"s{size}", a_loop(size, tokens=size, suspect="hm" if size < 6 else "")))
    assert [place.loop.tokens for place in totals.largest] == [9, 7]
    assert [place.loop.tokens for place in totals.suspects] == [5, 1]
    assert (totals.saved.loops, totals.saved.suspects) == (4, 2)


def test_a_conversation_copied_into_a_second_file_counts_its_loops_once() -> None:
    totals = Totals()
    totals.add(a_study("before", a_loop(1, calls=2)))
    totals.add(a_study("resumed", a_loop(1, calls=2), a_loop(50, calls=1)))
    assert (totals.saved.loops, totals.saved.calls) == (2, 3)


def test_what_was_not_read_is_named_but_not_without_end() -> None:
    totals = Totals()
    for number in range(30):
        totals.add(Study(agent="pi", path=f"f{number}", unreadable="Permission denied"))
    assert totals.unread == 30
    assert len(totals.unreadable) == 20
    assert totals.conversations == 0


def test_conversations_left_out_count_for_nothing() -> None:
    totals = Totals()
    totals.add(a_study("other", a_loop(1), left_out=True))
    assert (totals.conversations, totals.saved.loops) == (0, 0)
