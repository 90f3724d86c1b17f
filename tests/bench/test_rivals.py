"""The rivals' rules, as they are described."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from loopguard_cli.study.neutral import Translator
from loopguard_cli.study.traces import _Told
from tests.bench.rivals import RIVALS


class Playing:
    """Plays lines of a trace to one rival."""

    def __init__(self, name: str) -> None:
        self._rival = RIVALS[name]()
        self._translator = Translator()
        self._at = 0

    def line(self, **fields: Any) -> list[str]:
        self._at += 1
        events = self._translator.translate(self._at, _Told(**fields))
        return [action for event in events for action in self._rival.take(event)]

    def call(self, tool: str, output: str = "same", *, ok: bool = True, n: int = 0) -> list[str]:
        asked = self.line(kind="tool_call", tool=tool, args={"n": n})
        return asked + self.line(kind="tool_result", tool=tool, output=output, ok=ok)


def actions(name: str, calls: Callable[[Playing], list[list[str]]]) -> list[str]:
    return [action for said in calls(Playing(name)) for action in said]


def test_opencode_asks_at_the_third_of_one_message_only() -> None:
    assert actions("OpenCode", lambda p: [p.call("a") for _ in range(6)]) == []
    assert actions("OpenCode, generous", lambda p: [p.call("a") for _ in range(4)]) == ["block"] * 2
    assert actions("OpenCode", lambda p: [p.line(kind="tool_call", tool="a", args={}) for _ in range(3)]) == [
        "block"
    ]


def test_opencode_forgets_at_text() -> None:
    def play(p: Playing) -> list[list[str]]:
        return [said for _ in range(5) for said in (p.call("a"), p.line(kind="text", text="once more"))]

    assert actions("OpenCode, generous", play) == []


@pytest.mark.parametrize("length", [1, 2, 5])
def test_gemini_wants_five_rounds_and_gives_feedback_first(length: int) -> None:
    said = actions("Gemini CLI", lambda p: [p.call("a", n=at % length) for at in range(10 * length)])
    assert said == ["nudge", "stop"]


def test_gemini_finds_repeated_text_and_leaves_lists_and_code_alone() -> None:
    sentence = "The file is not there, so I will look for it in the other folder now. "
    assert actions("Gemini CLI", lambda p: [p.line(kind="text_delta", text=sentence) for _ in range(15)]) == [
        "nudge"
    ]
    listed = [f"* {sentence}\n"] * 15
    assert actions("Gemini CLI", lambda p: [p.line(kind="text_delta", text=text) for text in listed]) == []
    code = ["```\n", *[sentence] * 15, "```\n"]
    assert actions("Gemini CLI", lambda p: [p.line(kind="text_delta", text=text) for text in code]) == []


def test_openhands_wants_four_equal_pairs_or_three_errors() -> None:
    assert actions("OpenHands", lambda p: [p.call("a") for _ in range(4)]) == ["stop"]
    assert actions("OpenHands", lambda p: [p.call("a", str(at)) for at in range(8)]) == []
    assert actions("OpenHands", lambda p: [p.call("a", str(at), ok=False) for at in range(4)]) == [
        "nudge",
        "stop",
    ]


def test_openhands_sees_two_in_turn_and_three_equal_messages() -> None:
    assert actions("OpenHands", lambda p: [p.call("ab"[at % 2]) for at in range(6)]) == ["stop"]

    def talk(p: Playing) -> list[list[str]]:
        return [p.line(kind=kind, text="I wait.") for kind in ["text", "turn_end"] * 3]

    assert actions("OpenHands", talk) == ["stop"]


def test_crush_wants_six_of_ten_steps_with_equal_results() -> None:
    assert actions("Crush", lambda p: [p.call("a") for _ in range(10)] + [p.line(kind="turn_end")]) == [
        "stop"
    ]
    assert actions("Crush", lambda p: [p.call("a", str(at)) for at in range(20)]) == []
    assert actions("Crush", lambda p: [p.call("a") for _ in range(9)]) == []
