"""Scan and report over sessions that the real OpenCode has just written."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.real.conftest import NewWorld
from tests.real.harness import World, trace
from tests.report.reading import Page

from loopguard_cli.testing.script import Call, reply, say, turn

LOOPED = "Please look at the notes."
WORKED = "Please read the chores."
WORDS = ("sweeping", "washing", "cooking", "mending", "painting")


def reading(word: str) -> Call:
    return Call(tool="bash", args={"command": f"cat {word}.txt", "description": "Reads"})


@pytest.fixture(scope="module")
def world(new_world: NewWorld) -> Iterator[World]:
    """Without a guard, one session called the same five times and another five different things."""
    turns = [
        turn(*(reply(trace("notes")) for _ in range(5)), say("I have looked."), match=LOOPED),
        turn(*(reply(reading(word)) for word in WORDS), say("All of it is read."), match=WORKED),
    ]
    with new_world(turns) as made:
        for word in WORDS:
            (made.project / f"{word}.txt").write_text(f"{word} is for the one who comes first\n")
        for prompt in (LOOPED, WORKED):
            assert made.run("opencode", "run", prompt).code == 0
        assert made.count("notes") == 5
        yield made


def test_the_planted_loop_is_found_and_nothing_else(world: World) -> None:
    done = world.ask("scan", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["agents"]["opencode"]["conversations"] == 2
    assert found["calls"] == 10
    (place,) = found["largest"]
    assert place["project"] == str(world.project)
    assert (place["loop"]["rule"], place["loop"]["calls"]) == ("repeat-call", 3)
    assert found["suspects"] == []
    assert (found["tally"]["damaged"], found["tally"]["unknown"], found["unread"]) == (0, 0, 0)


def test_scanning_a_database_leaves_the_agents_folder_as_it_was(world: World) -> None:
    folder = world.home / ".local" / "share" / "opencode"
    before = {
        file.name: file.read_bytes() for file in folder.iterdir() if file.name.endswith((".db", "-wal"))
    }
    assert world.ask("scan").code == 0
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_a_report_of_the_newest_session_of_the_folder(world: World) -> None:
    done = world.ask("report", "-o", "-")
    assert done.code == 0
    page = Page(done.out)
    assert "OpenCode session in" in page.text
    assert "No loop was found." in page.text
