"""char-cycle: which exact cycles count, from when on, and which honest repetitions do not."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_cli.core.events import Channel
from loopguard_cli.core.findings import Action
from loopguard_cli.detect.counted import CountedCycle
from loopguard_cli.detect.matter import Matter, matter_of
from loopguard_cli.detect.periodic import STRIDE, CharCycle
from tests.detect.writing import Writer

TEXT = (
    "the parser reads every line before the store is opened and writes what it found into a queue that "
    "another process empties when there is time so nothing waits for the disk while people type in names"
)
WORDS = TEXT.split()


def prose(size: int, seed: int = 0) -> str:
    """Words in a random order, without punctuation, exactly ``size`` characters."""
    draw = random.Random(seed)
    return " ".join(draw.choice(WORDS) for _ in range(size))[: size - 1] + " "


def cycles(text: str, *, code: bool = False, step: int = 50) -> list[tuple[Action, int, int]]:
    """What is said about ``text``: action, unit and run."""
    follower = CharCycle("p", lambda _: code)
    found = [one for at in range(0, len(text), step) for one in follower.feed(text[at : at + step], at)]
    return [(one.proposes, one.facts["unit"], one.facts["chars"]) for one in found]


@pytest.mark.parametrize("size", [2, 6, 11, 30, 60])
def test_short_units_of_words(size: int) -> None:
    """Nudge from 4 copies and 180 characters, abort from 10 copies."""
    unit = "不是" if size == 2 else prose(size)
    text = prose(500, 1) + unit * max(40, 400 // size)
    found = cycles(text)
    assert found[-1][0] is Action.ABORT
    first = max(180, 4 * size)
    assert first <= found[0][2] < first + STRIDE
    assert {unit for _, unit, _ in found} == {size}


@pytest.mark.parametrize("size", [61, 311, 900, 1_800, 2_000])
def test_long_units_of_words(size: int) -> None:
    """Nudge from 3 copies and 1,024 characters, abort from 4 copies."""
    found = cycles(prose(500, 1) + prose(size, 2) * 25)
    assert [action for action, _, _ in found][-1] is Action.ABORT
    least = max(1_024, 3 * size)
    assert least <= found[0][2] < least + 4 * STRIDE
    assert {unit for _, unit, _ in found} == {size}


def test_longer_units_are_not_looked_for() -> None:
    assert cycles(prose(2_001, 3) * 6) == []


@pytest.mark.parametrize("size", [6, 45, 400])
def test_too_few_copies_or_characters(size: int) -> None:
    unit = prose(size, 4)
    assert cycles(prose(700, 5) + unit * max(2, 179 // size if size < 60 else 2) + prose(700, 6)) == []


def test_the_second_copy_is_where_the_loop_begins() -> None:
    before, unit = prose(333, 7), "not called "
    writer = Writer()
    writer.write(before + unit * 30)
    finding = next(one for one in writer.findings if one.rule == "char-cycle")
    kept = (before + unit * 30)[: finding.keep_chars]
    assert len(before) <= len(kept) <= len(before) + len(unit)


def test_reasoning_and_text_are_read_alike() -> None:
    thinking, writing = Writer(), Writer()
    thinking.think(prose(100), *["not called "] * 60)
    writing.write(prose(100), *["not called "] * 60)
    assert thinking.rules() == writing.rules() == ["char-cycle"]
    assert thinking.findings[0].proposes is Action.ABORT
    assert writing.findings[0].keep_chars > 0
    assert thinking.findings[0].keep_chars == -1, "signed reasoning must not be cut"


def test_the_same_cycle_seen_again_may_be_aborted_unless_it_is_code() -> None:
    limits = {}
    for name, unit in {"prose": "I look at the model again. ", "code": "int total = value;\n"}.items():
        writer = Writer()
        writer.write(unit * (120 if name == "code" else 8))
        limits[name] = [one.limit for one in writer.findings if one.rule == "char-cycle"]
    assert limits == {"prose": [Action.ABORT], "code": [Action.NUDGE]}


def test_the_infinity_guard_does_not_look_for_cycles() -> None:
    writer = Writer("infinity")
    writer.write(*["court "] * 200)
    writer.write(*["court "] * 200, channel=Channel.REASONING)
    assert writer.rules() == []


def test_a_loop_is_told_twice_at_most_and_again_when_it_comes_back() -> None:
    unit = "I should look at the entity model. "
    found = cycles(unit * 200 + prose(300) + unit * 200)
    assert [action for action, _, _ in found] == [Action.NUDGE, Action.ABORT] * 2


def test_runs_of_marks_count_when_they_are_longer_than_any_ruler() -> None:
    text = prose(100)
    assert cycles(text + "." * 900) == []
    assert [one[0] for one in cycles(text + "." * 2_000)] == [Action.NUDGE]
    assert [one[0] for one in cycles(text + "?!" * 4_000)] == [Action.NUDGE, Action.ABORT]


def test_in_code_much_more_is_needed() -> None:
    line = "    total = total + value\n"
    assert cycles(line * 50, code=True) == []
    assert [one[0] for one in cycles(line * 100, code=True)] == [Action.NUDGE]
    assert [one[0] for one in cycles(line * 400, code=True)] == [Action.NUDGE, Action.ABORT]


def test_a_fence_makes_code_of_it() -> None:
    line = "the same words on every line\n"
    fenced, plain = Writer(), Writer()
    fenced.write("```\n", *[line] * 30)
    plain.write(*[line] * 30)
    assert "char-cycle" not in fenced.rules()
    assert "char-cycle" in plain.rules()


HONEST = {
    "zeros": "    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,\n" * 60,
    "constants": "[None, None, None, None, False, False],\n" * 60,
    "base64 of zeros": base64.b64encode(bytes(3_000)).decode(),
    "base64": base64.b64encode(random.Random(1).randbytes(6_000)).decode(),
    "rulers": ("=" * 120 + "\n" + "Part\n" + "-" * 300 + "\n") * 2,
    "alignment row": "| :--- " * 60 + "|\n",
    "empty rows of a table": "|   |   |   |   |\n" * 40,
    "a box": "\u2502" + " " * 78 + "\u2502\n",
    "a tall box": ("\u2502" + " " * 78 + "\u2502\n") * 40,
    "comment lines": "# " + "-" * 70 + "\n" + "# nothing here\n",
    "spaces": "name" + " " * 800 + "value\n",
    "pixel rows": "  0 0 0 1 1 0 0 0 0 1 1 0 0 0\n" * 60,
    "hex dump": "".join(f"{at:08x}: 0000 0000 0000 0000 0000 0000 0000 0000\n" for at in range(0, 2_000, 16)),
    "csv": "".join(f"{at},ok,ok,ok,0,0,0\n" for at in range(300)),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_repetitions(name: str) -> None:
    for channel in Channel:
        writer = Writer()
        writer.write("Here it is:\n\n" + HONEST[name] + "\nThat is all of it.\n", channel=channel)
        writer.finish()
        assert writer.rules() == []


@pytest.mark.parametrize(
    ("unit", "matter"),
    [
        ("court ", Matter.PROSE),
        ("\u4e0d\u662f", Matter.PROSE),
        ("I look at src/app.ts. ", Matter.PROSE),
        ("0x00, ", Matter.DATA),
        ("null, ", Matter.DATA),
        ("AAAA", Matter.DATA),
        ("deadbeef ", Matter.DATA),
        ("...", Matter.MARKS),
        ("   \n", Matter.BLANKS),
        ("    ", Matter.MARKS),
        ("\U0001f389", Matter.PICTURES),
        ("\u2500", Matter.MARKS),
        ("/components/src", Matter.UNBROKEN),
        ("court", Matter.UNBROKEN),
        ("null,", Matter.DATA),
        ("deadbeef", Matter.DATA),
        ("ICAgICAg", Matter.DATA),
        ("| yes ", Matter.CODE),
        ("<td>cell</td>\n", Matter.CODE),
        ("- [ ] open\n", Matter.ITEM),
        ("int a = b;\n", Matter.CODE),
    ],
)
def test_what_a_unit_consists_of(unit: str, matter: Matter) -> None:
    assert matter_of(unit) is matter


@pytest.mark.parametrize("unit", ["/components/src", "court", "\n", "\U0001f389", "ha-"])
def test_what_no_document_contains_that_often(unit: str) -> None:
    writer = Writer()
    writer.write("Here it is: ", *[unit] * (1_400 // len(unit)))
    assert "char-cycle" in writer.rules()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["court ", "item {0} of it, ", "step {0}: look at it\n", prose(90), prose(700, 3)]
            ),
            st.integers(1, 40),
            st.integers(0, 900),
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([7, 200, 1_024]),
)
def test_the_look_at_counted_texts_hides_nothing_from_the_plain_one(
    parts: list[tuple[str, int, int]], step: int
) -> None:
    """Where all digits are one and nothing stands again, nothing does: the plain look is left out there."""

    class Quiet(CountedCycle):
        def feed(self, text: str, event: int) -> tuple[()]:
            super().feed(text, event)
            return ()

    text = "".join(
        "".join(unit.format(number) for number in range(copies)) + prose(other, other)
        for unit, copies, other in parts
        if other != 1
    )

    def found(follower: CharCycle) -> list[tuple[Action, str, int, tuple[tuple[str, int], ...]]]:
        return [
            (one.proposes, one.identity, one.keep, tuple(one.facts.items()))
            for at in range(0, len(text), step)
            for one in follower.feed(text[at : at + step], at)
        ]

    beside = Quiet("p", lambda _: False)
    assert found(CharCycle("p", lambda _: False, beside)) == found(CharCycle("p", lambda _: False))
