"""How a text is cut into deltas and snapshots never changes what is found in it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_cli.core.events import Channel
from loopguard_cli.core.findings import Finding
from tests.detect.writing import Writer

SENTENCES = [
    "I check the status of it now.",
    "Ich aktualisiere die .env.",
    "Ich aktualisiere README.md!",
    "See https://example.com/a.b?c=1 e.g. there.",
    "让我检查容器。",
    "Ok.",
    "court",
    "Attempt 17 of it did not work.",
]
JOINTS = [
    " ",
    "  ",
    "\n",
    "\n\n",
    "\r\n",
    "\n> ",
    "\n```\n",
    "\n~~~~\n",
    "\n- ",
    "\n1. ",
    "\n# ",
    "",
    ".",
    "|",
    "`",
]

LOOPS = st.builds(
    lambda unit, joint, copies: (unit + joint) * copies,
    st.one_of(st.sampled_from(SENTENCES), st.text(min_size=1, max_size=80)),
    st.sampled_from(JOINTS),
    st.integers(2, 40),
)
TEXTS = st.lists(
    st.one_of(LOOPS, st.sampled_from(SENTENCES), st.sampled_from(JOINTS), st.text(max_size=40)),
    max_size=12,
).map("".join)


def stated(found: list[Finding]) -> list[dict[str, Any]]:
    """All of the findings but the events in which they were made."""
    return [
        {
            "rule": one.rule,
            "action": one.proposes,
            "identity": one.identity,
            "count": one.count,
            "keep": one.keep_chars,
            "facts": one.facts,
        }
        for one in found
    ]


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[here:there] for here, there in pairwise(places)]


def by_rule(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """In one delta the rules speak one after the other, each in the order of the text."""
    return sorted(found, key=lambda one: str(one["rule"]))


@given(TEXTS, st.lists(st.integers(0, 10_000), max_size=60), st.sampled_from(list(Channel)))
@settings(deadline=None)
def test_any_cut_into_deltas(text: str, cuts: list[int], channel: Channel) -> None:
    whole, cut = Writer(), Writer()
    whole.write(text, channel=channel)
    cut.write(*pieces(text, cuts), channel=channel)
    whole.finish()
    cut.finish()
    assert by_rule(stated(cut.findings)) == by_rule(stated(whole.findings))


@given(
    TEXTS, st.lists(st.integers(0, 10_000), max_size=20), st.lists(st.booleans(), min_size=21, max_size=21)
)
@settings(deadline=None)
def test_deltas_and_snapshots_in_any_mixture(text: str, cuts: list[int], snapshots: list[bool]) -> None:
    whole, mixed = Writer(), Writer()
    whole.write(text)
    so_far = ""
    for piece, snapshot in zip(pieces(text, cuts), snapshots, strict=False):
        so_far += piece
        if snapshot:
            mixed.show(so_far)
            mixed.show(so_far)
        else:
            mixed.write(piece)
    rest = text[len(so_far) :]
    if rest:
        mixed.write(rest)
    whole.finish()
    mixed.finish()
    assert by_rule(stated(mixed.findings)) == by_rule(stated(whole.findings))


@given(st.lists(st.text(min_size=1, max_size=30), max_size=60, unique=True), st.sampled_from(list(Channel)))
@settings(deadline=None)
def test_nothing_is_found_where_nothing_repeats(words: list[str], channel: Channel) -> None:
    """Numbers make every line another one."""
    text = "".join(f"{word} {at}x{at * at} and so on.\n" for at, word in enumerate(words))
    writer = Writer()
    writer.write(text.replace("`", "'").replace("~", "-"), channel=channel)
    writer.finish()
    assert writer.rules() == []


@given(
    st.lists(st.tuples(st.sampled_from(["m1", "m2", "m3"]), st.sampled_from(["a", "b"]), TEXTS), max_size=8)
)
@settings(deadline=None)
def test_equal_events_give_equal_findings(events: list[tuple[str, str, str]]) -> None:
    runs = [Writer(), Writer()]
    for writer in runs:
        for message, part, text in events:
            writer.show(text, message=message, part=part)
            writer.write(text[:50], message=message, part=part)
    assert runs[0].findings == runs[1].findings
