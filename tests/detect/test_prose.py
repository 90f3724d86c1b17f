"""prose-block and prose-irregular, sentence by sentence as the infinity guard promises them."""

from __future__ import annotations

import pytest

from loopguard_cli.core.events import Channel
from loopguard_cli.core.findings import Action, Finding
from tests.detect.writing import Writer

CONTAINERS = (
    "Let me check whether the containers started. The compose file is valid; I will check their status. "
)
GERMAN = "Ich aktualisiere die .env. "
README = "Ich aktualisiere README.md. "

PRESETS = pytest.mark.parametrize("preset", ["infinity", "balanced"])


def prose(found: list[Finding]) -> list[str]:
    return [one.rule for one in found if one.rule.startswith("prose-")]


@PRESETS
@pytest.mark.parametrize(
    "text", [CONTAINERS, GERMAN, README, "Tests pass now. ", "让我检查容器。", "コンテナを確認します。"]
)
def test_the_third_copy_fires_and_not_the_second(preset: str, text: str) -> None:
    writer = Writer(preset)
    assert prose(writer.write(text, text)) == []
    assert prose(writer.write(text, " ")) == ["prose-block"]


@PRESETS
def test_it_proposes_to_abort_and_says_where_the_second_copy_begins(preset: str) -> None:
    writer = Writer(preset)
    start = "I begin with the compose file. "
    (finding,) = writer.write(start, *[CONTAINERS] * 3)
    assert finding.rule == "prose-block"
    assert finding.proposes is Action.ABORT
    assert (finding.message, finding.part) == ("m", "p")
    assert (start + CONTAINERS * 3)[: finding.keep_chars] == (start + CONTAINERS).rstrip()
    assert finding.facts == {"threshold": 3, "sentences": 2}
    assert finding.count == 3
    assert finding.events == (1, 2, 3)


@pytest.mark.parametrize("length", range(1, 9))
def test_blocks_of_one_to_eight_sentences(length: int) -> None:
    block = "".join(f"The step number {word} comes next. " for word in "abcdefgh"[:length])
    writer = Writer("infinity")
    writer.write(block * 3)
    assert writer.rules() == ["prose-block"]
    assert writer.findings[0].facts["sentences"] == length


def test_a_block_of_nine_sentences_is_too_long() -> None:
    block = "".join(f"The step number {word} comes next. " for word in "abcdefghi")
    writer = Writer("infinity")
    writer.write(block * 3)
    assert writer.rules() == []


def test_case_and_white_space_do_not_matter() -> None:
    writer = Writer("infinity")
    writer.write("I check the status now. ", "i CHECK the  status now.\n", "I check\tthe status NOW. ")
    assert writer.rules() == ["prose-block"]


@pytest.mark.parametrize("threshold", [3, 4, 10])
def test_the_threshold_counts_copies(threshold: int) -> None:
    writer = Writer("infinity", f"text.threshold={threshold}")
    writer.write(*[GERMAN] * (threshold - 1))
    assert writer.rules() == []
    writer.write(GERMAN)
    assert writer.rules() == ["prose-block"]


@pytest.mark.parametrize("short", ["Okay then. ", "Done. ", "Documentation complete. ", "Is it? "])
def test_short_words_repeated_are_no_block(short: str) -> None:
    writer = Writer("infinity")
    writer.write(short * 6)
    assert writer.rules() == []


def test_every_sentence_of_a_block_must_say_something() -> None:
    writer = Writer("infinity")
    writer.write("I check the status now. Okay. " * 4)
    assert writer.rules() == []


def test_two_copies_and_something_else_start_anew() -> None:
    writer = Writer("infinity")
    writer.write(GERMAN * 2, README, GERMAN * 2)
    assert writer.rules() == []


# --- irregular cycles ------------------------------------------------------------------------

EDITS = [
    f"I will now update the file {name}. "
    for name in (
        "a.py",
        "b.py",
        "c.py",
        "d.py",
        "e.py",
        "f.py",
        "g.py",
        "h.py",
        "i.py",
        "j.py",
        "k.py",
        "l.py",
    )
]


def irregular(kinds: int, often: int, repeated: int) -> str:
    """``repeated`` sentences of ``kinds`` kinds, the first ``often`` times, without a regular block."""
    rest = [EDITS[1 + at % (kinds - 1)] for at in range(repeated - often)]
    text: list[str] = []
    for at in range(often):
        text.append(EDITS[0])
        share = rest[at * len(rest) // often : (at + 1) * len(rest) // often]
        text += share if at % 2 else share[::-1]
    return "".join(text)


@PRESETS
def test_an_irregular_cycle_fires(preset: str) -> None:
    writer = Writer(preset)
    text = irregular(6, 5, 18)
    assert prose(writer.write(text, EDITS[0])) == ["prose-irregular"]
    finding = next(one for one in writer.findings if one.rule == "prose-irregular")
    assert finding.proposes is Action.ABORT
    assert finding.facts["repeated"] >= 18
    assert finding.facts["distinct"] <= 12
    assert text[: finding.keep_chars].rstrip() == EDITS[0].rstrip()


def test_the_main_sentence_must_occur_often_enough() -> None:
    """Threshold + 2: five times by default."""
    writer = Writer("infinity", "text.threshold=5")
    writer.write(irregular(6, 5, 18))
    assert writer.rules() == []


def test_seventeen_repeated_sentences_are_not_enough() -> None:
    writer = Writer("infinity")
    writer.write(irregular(5, 5, 17))
    assert writer.rules() == []
    writer.write(EDITS[2])
    assert writer.rules() == ["prose-irregular"]


def test_thirteen_distinct_sentences_are_too_many() -> None:
    once = "".join(f"Only once do I say {word} here. " for word in "abcdefgh")
    writer = Writer("infinity")
    writer.write(once, irregular(6, 5, 18)[: -len(EDITS[0])])
    assert writer.rules() == []


def test_the_latest_sentence_must_be_a_repeated_one() -> None:
    writer = Writer("infinity")
    writer.write(irregular(6, 5, 17), "This one is entirely new. ")
    assert writer.rules() == []
    writer.write("This one is entirely new. ")
    assert writer.rules() == ["prose-irregular"]


# --- what feeds the rules --------------------------------------------------------------------


@PRESETS
def test_snapshots_replace_and_repeated_delivery_does_not_count(preset: str) -> None:
    writer = Writer(preset)
    for _ in range(5):
        writer.show(GERMAN * 2)
    writer.write(GERMAN.rstrip())
    for _ in range(5):
        writer.show((GERMAN * 3).rstrip())
    assert prose(writer.findings) == []
    assert prose(writer.show(GERMAN * 3)) == ["prose-block"]


def test_a_snapshot_that_contradicts_is_what_counts() -> None:
    writer = Writer("infinity")
    writer.write(GERMAN * 2)
    writer.show("Something else entirely was written. ")
    writer.write(GERMAN)
    assert writer.rules() == []
    writer.write(GERMAN, GERMAN)
    assert writer.rules() == ["prose-block"]


def test_finished_parts_do_not_count() -> None:
    writer = Writer("infinity")
    writer.show(GERMAN * 4, ended=True)
    assert writer.rules() == []


def test_the_last_sentence_ends_with_its_part() -> None:
    """Nothing need follow the third copy."""
    writer = Writer("infinity")
    writer.write((GERMAN * 3).rstrip())
    assert writer.rules() == []
    writer.show((GERMAN * 3).rstrip(), ended=True)
    assert writer.rules() == ["prose-block"]
    again = Writer("infinity")
    again.write((GERMAN * 3).rstrip())
    again.finish()
    assert again.rules() == ["prose-block"]


def test_synthetic_text_does_not_count() -> None:
    writer = Writer("infinity")
    writer.show(GERMAN * 4, synthetic=True)
    assert writer.rules() == []


@PRESETS
def test_reasoning_and_user_text_do_not_count(preset: str) -> None:
    writer = Writer(preset)
    writer.write(*[GERMAN] * 4, channel=Channel.REASONING)
    for _ in range(4):
        writer.prompt(GERMAN)
    assert prose(writer.findings) == []


@pytest.mark.parametrize("around", ["```\n{}\n```\n", "~~~text\n{}\n~~~\n", "> {}\n"])
def test_code_and_quotes_do_not_count(around: str) -> None:
    writer = Writer("infinity")
    writer.write(around.format(GERMAN * 4))
    assert writer.rules() == []


def test_a_fence_between_copies_does_not_separate_them() -> None:
    writer = Writer("infinity")
    writer.write(f"{GERMAN}\n```\nA=1\n```\n" * 3)
    assert writer.rules() == ["prose-block"]


def test_what_announces_ever_other_code_is_not_repeated_for_nothing() -> None:
    writer = Writer("infinity")
    writer.write("".join(f"Run the following command now:\n```\nstep {at}\n```\n" for at in range(9)))
    assert writer.rules() == []


def test_a_tool_call_begins_a_new_window() -> None:
    writer = Writer("infinity")
    for at in range(6):
        writer.write(GERMAN * 2, message=f"m{at}")
        writer.use("edit")
    assert writer.rules() == []


def test_a_tool_call_within_a_message_begins_a_new_window() -> None:
    writer = Writer("infinity")
    for at in range(6):
        writer.write(GERMAN.rstrip(), part=f"p{at}")
        writer.use("edit")
    assert writer.rules() == []


def test_parts_of_one_message_are_read_together() -> None:
    writer = Writer("infinity")
    for at in range(4):
        writer.write(GERMAN.rstrip(), part=f"p{at}")
    assert writer.rules() == ["prose-block"]


def test_messages_are_read_apart() -> None:
    writer = Writer("infinity")
    for at in range(4):
        writer.write(GERMAN, message=f"m{at}")
    assert writer.rules() == []


def test_one_loop_is_reported_once_per_message() -> None:
    writer = Writer("infinity")
    writer.write(*[GERMAN] * 40)
    assert writer.rules() == ["prose-block"]
    writer.write(*[GERMAN] * 40, message="m2")
    assert writer.rules() == ["prose-block", "prose-block"]
    assert writer.findings[0].identity == writer.findings[1].identity


def test_a_cycle_is_the_same_loop_wherever_it_is_entered() -> None:
    first, second = CONTAINERS.split(". ")[0] + ". ", CONTAINERS.split(". ", 1)[1]
    one, other = Writer("infinity"), Writer("infinity")
    one.write((first + second) * 3)
    other.write((second + first) * 3)
    assert one.findings[0].identity == other.findings[0].identity


def test_evidence_is_bounded() -> None:
    block = "".join(f"The step number {word} comes next. " for word in "abcdefgh")
    writer = Writer("infinity", "text.threshold=10")
    writer.write(*[f"{sentence}. " for sentence in (block * 10).split(". ") if sentence])
    (finding,) = writer.findings
    assert len(finding.events) == 32


def test_switched_off() -> None:
    writer = Writer("balanced", "text.enabled=false")
    writer.write(CONTAINERS * 5)
    assert writer.rules() == []


def test_the_pi_preset_has_no_rules_about_prose() -> None:
    writer = Writer("pi")
    writer.write(CONTAINERS * 5)
    assert writer.rules() == []


@pytest.mark.parametrize(
    "row", ["| yes | no | maybe |\n", "self.assert_equal(first, second)\n", "ff ff ff ff ff ff ff\n"]
)
def test_rows_of_tables_code_and_data_are_no_sentences(row: str) -> None:
    writer = Writer("infinity")
    writer.write(row * 8)
    assert writer.rules() == []
