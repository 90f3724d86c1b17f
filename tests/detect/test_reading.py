"""Reading only what a glance says: the same is found as when everything is read."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_cli.core.ids import PartId
from loopguard_cli.detect.glance import Glance
from loopguard_cli.detect.paragraphs import Paragraphs
from loopguard_cli.detect.prose import ProseWindow
from loopguard_cli.detect.reading import Rules, SentenceReading

P = PartId("p")


def reading(*, glancing: bool, threshold: int = 3, wording: bool = False) -> SentenceReading:
    def rules() -> Rules:
        return Rules(ProseWindow(threshold), Paragraphs(reasoning=True) if wording else None)

    def glance() -> Glance:
        return Glance(threshold, max(24, 8 * threshold), sentences=True, wording=wording)

    made = SentenceReading(rules, glance if glancing else None)
    made.open(P)
    return made


def found(made: SentenceReading, pieces: list[str | None]) -> list[tuple[int, str, str, int, int]]:
    """With the number of the piece after which it was; None: a tool was used."""
    said = []
    for number, piece in enumerate(pieces):
        if piece is None:
            made.acted()
            continue
        said += [(number, one) for one in made.grow(P, piece, True, number)]
    said += [(len(pieces), one) for one in made.end(P, len(pieces))]
    return [(number, one.rule, one.identity, one.keep, one.count) for number, one in said]


LINES = [
    "Let me look at the log of the build now.",
    "LET me look  at the log of the build now.",
    "I will run the tests again, e.g. those of the parser.",
    "Wait, is that so? Perhaps it is not.",
    "Let me check the result (once more).",
    "Ok.",
    "> a quote of what was said",
    "> another quote. It has two sentences.",
    "- Read the file README.md and run it.",
    "1. Look at version 3.2 of the thing.",
    "## Another heading of this text",
    "--------------------",
    "| a cell | another cell of it |",
    "```",
    "```python",
    "x = compute(a_value)[0]",
    "\u8ba9\u6211\u770b\u770b\u6784\u5efa\u7684\u65e5\u5fd7\u3002\u7136\u540e\u518d\u8bd5\u4e00\u6b21\u3002",
    "C\u2019est fini\u2026 Je regarde encore une fois le journal\u00a0!",
    "",
]

ENDS = ["\n", "\n", "\n\n", " ", "  ", "\r\n"]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Lines of a few kinds, some in blocks that are repeated, with more or less other text between."""
    some = draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=6))
    parts: list[str] = []
    for number in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["block", "other", "much", "one"]))
        if kind == "block":
            block = draw(st.lists(st.sampled_from(some), min_size=1, max_size=4))
            parts += block * draw(st.integers(1, 6))
        elif kind == "one":
            parts.append(draw(st.sampled_from(LINES)))
        else:
            lines = draw(st.integers(1, 3)) if kind == "other" else draw(st.integers(30, 500))
            parts += [f"The matter {number} {at} {at * 7919 % 1000} is looked at." for at in range(lines)]
    ends = draw(st.lists(st.sampled_from(ENDS), min_size=1, max_size=5))
    return "".join(part + ends[at % len(ends)] for at, part in enumerate(parts))


def cut(text: str, seed: int, largest: int) -> list[str | None]:
    rng, pieces, at = random.Random(seed), [], 0
    while at < len(text):
        size = rng.randint(1, largest)
        pieces.append(text[at : at + size])
        at += size
    return pieces


@settings(max_examples=150, deadline=None)
@given(texts(), st.integers(0, 9), st.sampled_from([3, 40, 300, 5_000]), st.sampled_from([3, 3, 4]))
def test_prose_is_found_as_if_all_was_read(text: str, seed: int, largest: int, threshold: int) -> None:
    pieces = cut(text, seed, largest)
    every = found(reading(glancing=False, threshold=threshold), pieces)
    assert found(reading(glancing=True, threshold=threshold), pieces) == every


def test_a_sentence_that_was_open_when_reading_stopped_is_found_at_the_end_of_its_part() -> None:
    """The first block is read because of its fence, the second one, too, and stops within a sentence."""
    said = "Let me look at the log of the build now"
    matters = "".join(f"The matter {at * 7919 % 1000} of {at * 631 % 977} is seen.\n" for at in range(40))
    first = ("```\nx = 1\n```\n" + matters)[:512]
    loop = f"\n{said}\n{said}\n{said}"
    text = first + matters[600 : 600 + 512 - len(loop)] + loop
    for pieces in ([text], list(text)):
        every = found(reading(glancing=False), pieces)
        assert [one[1] for one in every] == ["prose-block"]
        assert found(reading(glancing=True), pieces) == every


@settings(max_examples=60, deadline=None)
@given(texts(), st.integers(0, 9), st.integers(0, 9))
def test_findings_do_not_depend_on_pieces(text: str, one: int, other: int) -> None:
    def rules(seed: int, largest: int) -> list[tuple[str, str, int]]:
        made = reading(glancing=True, wording=True)
        # Of one piece, each rule reads all of it.
        return sorted((rule, what, keep) for _, rule, what, keep, _ in found(made, cut(text, seed, largest)))

    assert rules(one, 7) == rules(other, 200) == rules(other, 100_000)


@settings(max_examples=60, deadline=None)
@given(st.lists(texts(), min_size=2, max_size=3), st.integers(0, 9))
def test_a_tool_begins_a_new_window(parts: list[str], seed: int) -> None:
    pieces: list[str | None] = []
    for part in parts:
        pieces += [*cut(part, seed, 50), None]
    assert found(reading(glancing=True), pieces) == found(reading(glancing=False), pieces)
