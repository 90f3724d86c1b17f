# ruff: noqa: E501 -- a text a line reads best
"""Preset ``balanced`` on further kinds of texts and answers, each loop with honest ones that look like it."""

from __future__ import annotations

import json
import random

import pytest

from loopguard_cli.core.events import Channel
from loopguard_cli.core.findings import Action

from .sitting import ABORT, ALLOW, NUDGE
from .test_kinds_of_text import Turn, hold, strongest
from .writing import Writer

# --- turns that are pushed on ----------------------------------------------------------------

PUSHES = ["ok, go", "yes, do it", "please just do it", "go on", "continue", "do it!", "??", "continue"]


def pushed(answers: list[str]) -> Writer:
    turns: list[Turn] = list(zip(PUSHES, answers, strict=False))
    return hold(turns)


def test_a_person_who_only_pushes_on_and_gets_the_same_promise() -> None:
    promises = [
        "I will edit list.py now and put the limit in.",
        "Now I'll make the edit to list.py.",
        "I am going to apply the limit in list.py now.",
        "Let me add the limit of 100 now.",
        "I will now add the limit.",
        "Now I will edit list.py and add the limit.",
    ]
    assert strongest(pushed(promises)) >= NUDGE


def test_asking_for_leave_that_was_given_ends_the_turn() -> None:
    asked = [
        "I found two unused rules. May I delete them?",
        "There are two unused rules. Shall I delete them?",
        "Two rules are unused. Do you want me to delete them?",
    ]
    said: list[Turn] = [
        (("yes", "ok", "YES", "sure", "yes please")[at % 5], asked[at % 3]) for at in range(8)
    ]
    assert strongest(hold(said)) is ABORT


@pytest.mark.parametrize(
    "answers",
    [
        [
            "Unplug the power cable from the back.",
            "Now wait half a minute.",
            "Plug the cable back in and hold the reset pin.",
            "Release the pin when the lamp blinks.",
            "Open 192.168.0.1 in your browser.",
            "Log in with admin and the code on the label.",
            "Choose Wireless in the menu at the left.",
        ],
        [
            "Once a fox lived by the river and watched the boats.",
            "One morning a small boat came without anybody in it.",
            "The fox jumped in, and the current took it to the sea.",
            "There a gull told it about an island of foxes.",
            "It rowed for three days under the stars.",
            "On the island everybody spoke at once.",
        ],
    ],
)
def test_steps_and_stories_go_on(answers: list[str]) -> None:
    assert pushed(answers).rules() == []


# --- texts that are one but for their numbers, and other ends without end --------------------

OBJECTS = "".join(
    f'  {{\n    "id": {n},\n    "name": "Jane Doe",\n    "email": "jane@example.com",\n    "active": true\n  }},\n'
    for n in range(1, 70)
)
ITEMS = "\n".join(
    f"{n}. Make sure that all dependencies are up to date and compatible." for n in range(1, 70)
)


def written(text: str, channel: Channel = Channel.TEXT) -> Action:
    writer = Writer()
    pieces = [text[at : at + 16] for at in range(0, len(text), 16)]
    if channel is Channel.REASONING:
        writer.think(*pieces)
    else:
        writer.write(*pieces)
    return strongest(writer)


def argued() -> str:
    draw = random.Random(7)
    one = [
        "The header differs by locale.",
        "So the locale has to be in the key.",
        "But the client renders the header.",
        "Then leave the locale out of it.",
    ]
    other = [
        "However, the server localises the title.",
        "Wait, the page is the same for everybody.",
        "So I should put the locale into the key.",
        "Actually, the key does not need it.",
    ]
    return " ".join(draw.choice(one if at % 2 else other) for at in range(140))


@pytest.mark.parametrize(
    ("text", "least"),
    [
        (f"```json\n[\n{OBJECTS}", NUDGE),
        (ITEMS, ABORT),
        ('```json\n{"a": {"b": {"c": 1\n' + "}\n" * 200, ABORT),
        ("The mean is 0." + "3" * 1_300, NUDGE),
        ("The key is " + "a1b2" * 700, ABORT),
    ],
    ids=["objects", "items", "braces", "digits", "an id"],
)  # fmt: skip
def test_numbers_make_no_other_text_of_it(text: str, least: Action) -> None:
    assert written(text) >= least


def test_two_plans_that_undo_each_other() -> None:
    assert written(argued(), Channel.REASONING) >= NUDGE


@pytest.mark.parametrize(
    "text",
    [
        "```css\n" + "".join(f".mt-{n} {{\n  margin-top: {n * 4}px;\n}}\n" for n in range(1, 80)) + "```",
        "```sql\n" + "".join(f"INSERT INTO users VALUES ({n}, 'user{n}', {n % 7});\n" for n in range(1, 100)) + "```",
        "```go\n" + "".join(f'{{\n  name: "case {n}",\n  in: {n * n},\n  want: {n * n * n},\n}},\n' for n in range(1, 40)) + "```",
        "1" + "0" * 600,
        "```\n" + "00000000 00000000 00000000\n" * 60 + "```",
        "```json\n" + json.dumps([[[[[{"a": {"b": {"c": [[1]]}}}]]]]], indent=2) + "\n```",
        "\n".join(f"Day {n}: {10 + n} push-ups, then {word} for {n * 2} minutes." for n, word in enumerate(["rest", "walk", "run", "swim", "stretch"] * 6, 10)),
    ],
    ids=["css", "sql", "cases", "zeros", "dump", "nested", "plan"],
)  # fmt: skip
def test_numbered_things_that_somebody_wants(text: str) -> None:
    assert written(text) is ALLOW
