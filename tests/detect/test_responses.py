"""Answers compared: to the letter in the preset pi, turn by turn in balanced."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_cli.core.events import Origin, Status, StatusChanged
from loopguard_cli.core.findings import Action
from loopguard_cli.detect.responses import MAX_ANNOUNCEMENT, _beginning
from loopguard_cli.detect.turns import FENCED, folded
from tests.detect.sitting import S
from tests.detect.writing import Writer

WAITING = "I am waiting for your choice, A or B. There is nothing else I can do."
ROUND = [
    "The settings page has been migrated: validation was kept, the types compile, no other file was touched.",
    "Migration finished: validation was kept, there are no errors of types, no other file was touched.",
    "All done. The page uses the new forms, validation was kept and no other file was touched, tell me more.",
]
LONG = WAITING + " When you have chosen, I will run the migration and then verify the result."


def said(writer: Writer) -> list[tuple[str, Action]]:
    return [(finding.rule, finding.proposes) for finding in writer.findings]


# --- pi --------------------------------------------------------------------------------------


class Run:
    """Messages of one run of the pi guard."""

    def __init__(self, *assignments: str) -> None:
        self.writer = Writer("pi", *assignments)
        self._made = 0

    def answer(self, text: str, **fields: bool) -> None:
        self._made += 1
        self.writer.write(text, message=f"m{self._made}")
        self.writer.finish(f"m{self._made}", **fields)


def test_pi_the_third_identical_answer_in_a_row_aborts() -> None:
    run = Run()
    run.answer("Done.")
    run.answer("Done.")
    assert said(run.writer) == []
    run.answer("Done.")
    assert said(run.writer) == [("repeat-response", Action.ABORT)]
    assert run.writer.findings[0].count == 3


def test_pi_another_answer_between_starts_anew() -> None:
    run = Run()
    for text in ("Done.", "Done.", "Not done.", "Done.", "Done."):
        run.answer(text)
    assert said(run.writer) == []


def test_pi_texts_are_compared_as_they_are() -> None:
    run = Run()
    for text in ("Done.", "done.", "Done!", "Done. "):
        run.answer(text)
    assert said(run.writer) == []


def test_pi_the_threshold_is_a_setting() -> None:
    run = Run("text.response_threshold=2")
    run.answer("Done.")
    run.answer("Done.")
    assert said(run.writer) == [("repeat-response", Action.ABORT)]


def test_pi_the_count_ends_with_the_run() -> None:
    run = Run()
    for _ in range(4):
        run.answer("Done.")
        run.answer("Done.")
        run.writer.feed(StatusChanged(session=S, status=Status.IDLE))
    assert said(run.writer) == []


def test_pi_empty_and_aborted_answers_do_not_count() -> None:
    run = Run()
    for _ in range(4):
        run.answer(" ")
        run.answer("Done.", aborted=True)
    assert said(run.writer) == []


def test_pi_deltas_snapshots_and_their_confirmation_are_one_answer() -> None:
    writer = Writer("pi")
    for at in range(2):
        writer.write("It is", message=f"m{at}")
        writer.show("It is done.", message=f"m{at}")
        writer.show("It is done.", message=f"m{at}", ended=True)
        writer.finish(f"m{at}")
        writer.finish(f"m{at}")
        writer.show("It is done.", message=f"m{at}", ended=True)
    assert said(writer) == []


def test_infinity_does_not_compare_answers() -> None:
    writer = Writer("infinity")
    for _ in range(6):
        writer.turn("continue", WAITING)
    assert said(writer) == []


# --- balanced --------------------------------------------------------------------------------


def test_the_same_answer_to_the_same_prompt_aborts() -> None:
    writer = Writer()
    writer.turn("continue", WAITING)
    writer.turn("continue", WAITING)
    assert said(writer) == []
    writer.turn("continue", WAITING.upper())
    assert said(writer) == [("repeat-response", Action.ABORT)]
    writer.turn("continue", WAITING)
    assert said(writer)[1:] == [("repeat-response", Action.ABORT)]
    assert writer.findings[0].identity == writer.findings[1].identity


def test_the_first_of_them_may_end_honest_work() -> None:
    writer = Writer()
    writer.turn("change the form", WAITING, tools=["read", "edit"])
    writer.turn("yes", WAITING)
    writer.turn("yes", WAITING)
    assert said(writer) == [("repeat-response", Action.ABORT)]


def test_different_prompts_may_ask_for_it() -> None:
    writer = Writer()
    for prompt in ("show the file", "without numbers please", "again, the copy failed"):
        writer.turn(prompt, WAITING)
    assert said(writer) == []
    writer.turn("and what now?", WAITING)
    assert said(writer) == [("repeat-response", Action.NUDGE)]


def test_an_answer_after_work_may_be_the_same() -> None:
    writer = Writer()
    for _ in range(5):
        writer.turn("next", "All of the tests pass.", tools=["edit"])
    assert said(writer) == []


def test_a_long_answer_after_work_is_suspicious_all_the_same() -> None:
    writer = Writer()
    for _ in range(3):
        writer.turn("next", LONG, tools=["status"])
    assert said(writer) == [("repeat-response", Action.NUDGE)]


@pytest.mark.parametrize("answer", ["Done.", "", 'export * from "./part0";\nexport * from "./part1";\n'])
def test_short_answers_and_code_do_not_count(answer: str) -> None:
    writer = Writer()
    for _ in range(5):
        writer.turn("again", answer)
    assert said(writer) == []


def test_our_own_prompts_count_as_prompts_and_our_hints_begin_no_turn() -> None:
    writer = Writer()
    for at in range(3):
        writer.prompt("Go on with the goal.", Origin.LOOPGUARD)
        writer.write("Looking. ", message=f"a{at}")
        writer.use("read")
        writer.prompt("A hint.", Origin.LOOPGUARD)
        writer.write(WAITING, message=f"b{at}")
        writer.finish(f"b{at}")
        writer.feed(StatusChanged(session=S, status=Status.IDLE))
    assert said(writer) == []


def test_the_same_in_other_words_nudges_once() -> None:
    writer = Writer()
    words = [
        "Plan mode is on, so editing is not allowed; I cannot work on the todos.",
        "As this is plan mode, editing is not allowed; I cannot work on the todos.",
    ]
    for at in range(5):
        writer.turn("Unfinished todos: 3. Go on.", words[at % 2])
    assert said(writer) == [("similar-response", Action.NUDGE)]


def test_six_turns_that_go_round_in_the_same_few_answers_are_cut_off() -> None:
    for words in (ROUND, ROUND[:2]):
        writer = Writer()
        for at in range(6):
            assert Action.ABORT not in [action for _, action in said(writer)]
            writer.turn("continue", words[at % len(words)])
        assert said(writer)[0] == ("similar-response", Action.NUDGE)
        assert said(writer)[-1][1] is Action.ABORT


def test_different_answers_to_one_prompt_are_none() -> None:
    writer = Writer()
    for answer in (
        "The login form validates the address before it is sent to the server.",
        "I moved the retry into the client and covered it with two tests.",
        "Nothing is left of the old cache; the docs say so as well.",
        "The release notes are written, and the version is raised to 1.4.0.",
    ):
        writer.turn("next item", answer)
    assert said(writer) == []


def test_announcements_without_a_call() -> None:
    writer = Writer()
    for prompt in ("do it", "please make the call", "go", "continue"):
        for text in ("Here comes the edit.", "The call:", "Writing now."):
            writer.write(text, message=f"{prompt}{text}")
        writer.turn(prompt, "The call:")
    assert [rule for rule, _ in said(writer)] == ["announcements"]


def test_announcements_with_calls_are_none() -> None:
    writer = Writer()
    for at in range(20):
        writer.write("Here comes the edit.", message=f"m{at}")
        writer.use("edit")
    assert said(writer) == []


def test_notices_in_fences_announce_nothing() -> None:
    writer = Writer()
    for at in range(20):
        writer.write("```text\nThe file was updated.\n```", message=f"m{at}")
        writer.finish(f"m{at}")
    assert said(writer) == []


def test_the_same_reasoning_three_times() -> None:
    writer = Writer()
    for at in range(4):
        writer.think(
            "First I have to see what the loader does with the value, then change it.", message=f"m{at}"
        )
        writer.finish(f"m{at}")
    assert said(writer) == [("repeat-reasoning", Action.NUDGE)]


def test_an_oversized_answer_is_not_compared() -> None:
    writer = Writer("pi")
    for at in range(3):
        writer.write("x" * 40_000, "y" * 40_000, message=f"m{at}")
        writer.finish(f"m{at}")
    assert said(writer) == []


def test_a_reset_forgets() -> None:
    writer = Writer()
    writer.turn("continue", WAITING)
    writer.turn("continue", WAITING)
    for detector in writer.detectors:
        detector.reset()
    writer.turn("continue", WAITING)
    assert said(writer) == []


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["I look at it. ", "word " * 30, "\n```\n", "\n~~~ py\nx = 1\n~~~\n", "``", "`", " " * 90]
        ),
        max_size=60,
    )
)
def test_the_beginning_of_an_announcement_is_that_of_the_whole_text_without_its_code(
    parts: list[str],
) -> None:
    text = "".join(parts)
    whole = folded(FENCED.sub("", text)) if "```" in text or "~~~" in text else folded(text)
    assert _beginning(text, MAX_ANNOUNCEMENT) == whole[:MAX_ANNOUNCEMENT]
