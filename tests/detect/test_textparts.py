"""Limits of what is kept of texts, and what a change of text hands on."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import pytest

from loopguard_cli.core.events import Channel, TextDelta, TextSnapshot
from loopguard_cli.core.findings import Finding
from loopguard_cli.core.ids import MessageId, PartId
from loopguard_cli.detect.textparts import MAX_CHARS, MAX_MESSAGES, MAX_PARTS, TextParts
from tests.detect.sitting import S
from tests.detect.writing import Writer

SENTENCE = "I will now look at the file. "


class Notes:
    """A reading that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def grow(self, part: PartId, text: str, live: bool, seq: int) -> Sequence[Finding]:
        self.told.append(f"{part}{'' if live else '!'}:{text}")
        return ()

    def end(self, part: PartId, seq: int) -> Sequence[Finding]:
        self.told.append(f"{part}.")
        return ()

    def restart(self) -> None:
        self.told.append("again")

    def exclude(self) -> None:
        self.told.append("excluded")


class Parts:
    def __init__(self) -> None:
        self.notes = Notes()
        self.opened = 0
        self.parts: TextParts[Notes] = TextParts(self._open)

    def _open(self, message: MessageId, channel: Channel) -> Notes:
        self.opened += 1
        return self.notes

    def delta(self, text: str, part: str = "p", message: str = "m") -> None:
        event = TextDelta(session=S, message=MessageId(message), part=PartId(part), delta=text)
        self.parts.delta(event, 0)

    def snapshot(self, text: str, part: str = "p", *, ended: bool = False) -> None:
        event = TextSnapshot(session=S, message=MessageId("m"), part=PartId(part), text=text, ended=ended)
        self.parts.snapshot(event, 0)


def test_only_what_is_new_is_handed_on() -> None:
    parts = Parts()
    parts.delta("one ")
    parts.snapshot("one ")
    parts.snapshot("one two ")
    parts.delta("three")
    parts.snapshot("one two three", ended=True)
    assert parts.notes.told == ["p:one ", "p:two ", "p:three", "p."]


def test_a_contradiction_makes_all_parts_be_read_again() -> None:
    parts = Parts()
    parts.delta("first", part="a")
    parts.delta("second", part="b")
    parts.snapshot("changed", part="a")
    assert parts.notes.told == ["a:first", "a.", "b:second", "again", "a:changed", "a.", "b:second"]


def test_trimmed_white_space_at_the_end_is_no_contradiction() -> None:
    parts = Parts()
    parts.delta("text \n")
    parts.snapshot("text", ended=True)
    assert parts.notes.told == ["p:text \n", "p."]


def test_what_comes_with_the_finished_part_is_not_live() -> None:
    parts = Parts()
    parts.delta("one ")
    parts.snapshot("one two", ended=True)
    assert parts.notes.told == ["p:one ", "p!:two", "p."]


def test_too_many_characters_exclude_a_message() -> None:
    parts = Parts()
    parts.delta("x" * MAX_CHARS)
    assert "excluded" not in parts.notes.told
    parts.delta("y")
    parts.delta("z")
    assert parts.notes.told[1:] == ["excluded", "p:y", "p:z"]


def test_too_many_parts_exclude_a_message() -> None:
    parts = Parts()
    for at in range(MAX_PARTS):
        parts.delta("x", part=f"p{at}")
    assert "excluded" not in parts.notes.told
    parts.delta("x", part="one more")
    assert parts.notes.told[-1] == "excluded"


def test_the_oldest_messages_are_forgotten() -> None:
    parts = Parts()
    for at in range(MAX_MESSAGES + 1):
        parts.delta("x", message=f"m{at}")
    assert len(list(parts.parts.readings())) == MAX_MESSAGES
    parts.delta("x", message="m1")
    assert parts.opened == MAX_MESSAGES + 1
    parts.delta("x", message="m0")
    assert parts.opened == MAX_MESSAGES + 2


@pytest.mark.parametrize("preset", ["infinity", "balanced"])
def test_oversized_messages_are_excluded_not_cut(preset: str) -> None:
    writer = Writer(preset)
    writer.write("".join(f"Sentence {at} of a long text.\n" for at in range(3_000)))
    writer.write(*[SENTENCE] * 5)
    assert not [rule for rule in writer.rules() if rule.startswith("prose-")]
    writer.write(*[SENTENCE] * 5, message="another")
    assert "prose-block" in writer.rules()


def test_a_message_of_too_many_parts_is_excluded() -> None:
    writer = Writer("infinity")
    for at in range(40):
        writer.write(f"Part {at} says something. ", part=f"p{at}")
    writer.write(*[SENTENCE] * 5, part="p0")
    assert writer.rules() == []


def test_an_endless_cycle_is_found_in_an_oversized_message_all_the_same() -> None:
    """A cycle needs no context, and runaways are long."""
    writer = Writer("balanced")
    for at in range(12_000):
        writer.think(f"w{at * 7919 % 100_003} ")
    assert writer.rules() == []
    writer.think(*["and so on, "] * 60)
    assert set(writer.rules()) == {"char-cycle"}


@pytest.mark.parametrize(
    "piece", ["no end of it ", "| a. cell ", "`" * 40, "line by line\n", "> quoted ", "a.b.c.d"]
)
def test_what_is_kept_does_not_grow_with_what_is_written(piece: str) -> None:
    writer = Writer()

    def write(size: int) -> int:
        for channel in Channel:
            writer.write(*[f"{at}{piece}" for at in range(size)], channel=channel)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        write(6_000)
        before = write(1_000)
        assert write(10_000) - before < 80_000
    finally:
        tracemalloc.stop()


def test_many_messages_parts_and_turns_are_kept_within_limits() -> None:
    writer = Writer()

    def write(size: int) -> int:
        for at in range(size):
            writer.turn(
                f"prompt {at}", f"Answer {at * 7919} to it, as a sentence of its own.", tools=["read"]
            )
        writer.findings.clear()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        write(50)
        before = write(50)
        assert write(400) - before < 50_000
    finally:
        tracemalloc.stop()
