"""Rules about wording: what counts as nothing new, and which documents only look like it."""

from __future__ import annotations

import random

import pytest

from loopguard_cli.core.events import Channel
from loopguard_cli.core.findings import Action
from loopguard_cli.detect.paragraphs import template
from tests.detect.writing import Writer

SUBJECTS = ("the store", "the parser", "the router", "a cache", "our client", "this hook", "the queue")


def soft(writer: Writer) -> set[str]:
    """The rules of this family; the first finding of each is a nudge and stays one."""
    rules = ("templated-text", "few-words", "near-duplicate", "stale-reasoning")
    mine = [one for one in writer.findings if one.rule in rules]
    first = {one.rule: one for one in reversed(mine)}
    assert all(one.proposes is one.limit is Action.NUDGE for one in first.values())
    return {*first}


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("attempt 17 of 20 failed", "attempt # of # failed"),
        ("took 1,024.5 ms", "took # ms"),
        ("checking c4821x in job/77 now", "checking # in # now"),
        ("- read part3.ts in 3 steps", "- read part3.ts in # steps"),
        ("no numbers", "no numbers"),
    ],
)
def test_numbers_are_masked_and_in_lists_only_those_that_stand_alone(line: str, masked: str) -> None:
    assert template(line) == masked


@pytest.mark.parametrize("channel", list(Channel))
def test_counters_in_prose(channel: Channel) -> None:
    writer = Writer()
    lines = [f"Attempt {at} did not work, so I try it once more.\n" for at in range(60)]
    writer.write(*lines, channel=channel)
    assert soft(writer) >= {"templated-text"}


def test_words_drawn_from_a_small_set() -> None:
    draw = random.Random(3)
    words = ["Done", "Edit", "Plan", "Check", "Git status", "Safe leaf", "Tool", "Go", "Replace"]
    writer = Writer()
    writer.write(*[f"  ({draw.choice(words)}).\n" for _ in range(80)])
    assert soft(writer) == {"templated-text"}


@pytest.mark.parametrize(
    "text",
    [
        "".join(f'export * from "./part{at}";\n' for at in range(80)),
        "".join(f"{at}. projects/sample-4411/locations/west1/services/name{at}\n" for at in range(80)),
        "".join(f"| {at} | ok | {at * 3} |\n" for at in range(80)),
        "".join(f"{at}: 0.{at * 37 % 100}, 1.{at * 91 % 100}\n" for at in range(80)),
        "```\n" + "".join(f"retry number {at} of this\n" for at in range(80)) + "```\n",
        "".join(f"    self.assertEqual(f({at}), {at})\n" for at in range(80)),
        "".join(f"{at},ok,ok,ok,0,0,0\n" for at in range(80)),
    ],
)
def test_numbered_data_and_code_are_no_templates(text: str) -> None:
    writer = Writer()
    writer.write(text)
    writer.finish()
    assert soft(writer) == set()


def test_the_same_announcement_in_ever_other_words() -> None:
    draw = random.Random(2)
    first = ["Let me", "I will now", "I am going to", "Now I"]
    what = ["check the logs", "look at the containers", "inspect the status", "verify the result of it"]
    writer = Writer()
    writer.write(*[f"{draw.choice(first)} {draw.choice(what)} {draw.choice(what)}.\n" for _ in range(70)])
    assert "few-words" in soft(writer)


def plan(sections: int, heading: str) -> str:
    """Sections under headings of their own whose texts hardly differ."""
    names = [f"{subject} of {other}" for subject in SUBJECTS for other in ("Anna", "Bert", "Carla", "Dora")]
    return "".join(
        heading.format(at=at, name=names[at % len(names)])
        + f"When the id for {names[at % len(names)]} arrives, look up the account. If it exists, link it. "
        "If it does not, create one and link that. Then return the session to the caller and log it.\n\n"
        for at in range(sections)
    )


def test_a_long_plan_with_headings_moves_on() -> None:
    writer = Writer()
    writer.write(plan(24, "### Bind the id of {name}\n\n"))
    writer.think(plan(24, "### Bind the id of {name}\n\n"))
    assert writer.rules() == []


def test_near_duplicate_paragraphs() -> None:
    ends = ["then", "now", "here", "once more", "again", "at last", "as planned", "as before"]
    writer = Writer()
    for at in range(40):
        writer.write(
            "The configuration is read before the server starts, so the value which I set in the file does "
            f"not take effect, and I have to look at the loader {ends[at % len(ends)]}.\n\n"
        )
    assert "near-duplicate" in soft(writer)


VOCABULARY = (
    "maybe the lock is taken too late and readers wait for it while writers hold the store or the queue "
    "is full so nothing moves until somebody lets go of what they had before all this began"
)


def drifting(sentences: int, words: int) -> str:
    """Sentences of words drawn from the same few, each a paragraph."""
    draw = random.Random(5)
    vocabulary = VOCABULARY.split()
    return "".join(
        " ".join(draw.choice(vocabulary) for _ in range(words)) + ".\n\n" for _ in range(sentences)
    )


def test_stale_reasoning_says_the_same_words_in_ever_other_orders() -> None:
    text = drifting(120, 20)
    thinking, writing = Writer(), Writer()
    thinking.think(text)
    writing.write(text)
    assert soft(thinking) == {"few-words", "stale-reasoning"}
    assert soft(writing) == {"few-words"}


def test_reasoning_that_names_something_new_is_not_stale() -> None:
    paragraphs = drifting(120, 20).split("\n\n")
    writer = Writer()
    writer.think(
        "\n\n".join(f"{text[:-1]} in src/file_{at}.py." for at, text in enumerate(paragraphs) if text)
    )
    assert soft(writer) == set()


def test_a_tool_call_begins_a_new_window() -> None:
    writer = Writer()
    for at in range(90):
        writer.write(f"Attempt {at} did not work, so I try it once more.\n", message=f"m{at // 30}")
        if at % 30 == 29:
            writer.use("edit")
    assert soft(writer) == set()


def test_the_infinity_guard_does_not_judge_wording() -> None:
    writer = Writer("infinity")
    writer.write(*[f"Attempt {at} did not work, so I try it once more.\n" for at in range(60)])
    assert soft(writer) == set()
