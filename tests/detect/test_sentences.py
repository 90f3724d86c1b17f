"""Where sentences begin and end, in which languages, and what is left out."""

from __future__ import annotations

import pytest

from loopguard_cli.detect.sentences import Line, Sentence, Splitter
from loopguard_cli.detect.substance import looks_like_code, substantial


def split(*pieces: str) -> list[Sentence]:
    splitter = Splitter()
    return [sentence for piece in pieces for sentence in splitter.feed(piece)]


def keys(*pieces: str) -> list[str]:
    return [sentence.key for sentence in split(*pieces) if sentence.line is not Line.CODE]


def test_a_sentence_is_complete_only_when_something_follows() -> None:
    assert keys("The build is green.") == []
    assert keys("The build is green. ") == ["the build is green."]
    assert keys("The build is green.\n") == ["the build is green."]


def test_the_end_of_the_part_completes_its_last_line() -> None:
    splitter = Splitter()
    assert splitter.feed("Now I run it. And then") != []
    assert [one.key for one in splitter.flush()] == ["and then"]
    assert splitter.flush() == []


@pytest.mark.parametrize(
    "sentence",
    [
        "I update README.md.",
        "I update the .env.",
        "I open src/app.test.ts and look.",
        "See https://example.com/a.b?c=1.2 for more.",
        "It needs version 1.18.33 of node.js now.",
        "The file .gitignore has a line.",
        "Compare it, e.g. with the other one.",
        "Ich prüfe z. B. den Container.",
        "That is what Dr. Smith vs. Jones says.",
    ],
)
def test_points_within_words_end_nothing(sentence: str) -> None:
    assert keys(f"{sentence} Next.\n") == [sentence.casefold(), "next."]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("让我检查容器。现在开始", "让我检查容器。"),
        ("確認しますか\uff1fはい", "確認しますか\uff1f"),
        ("Готово ли это? Да", "готово ли это?"),
        ("هل انتهى البناء؟ نعم", "هل انتهى البناء؟"),
        ("जाँच पूरी हुई। आगे", "जाँच पूरी हुई।"),
        ("Está listo… Sigo", "está listo…"),
        ('He said "it works." Then', 'he said "it works."'),
        ("**It is done.** Then", "**it is done.**"),
    ],
)
def test_sentences_end_in_any_language(text: str, first: str) -> None:
    assert keys(text) == [first]


def test_case_and_white_space_are_folded() -> None:
    assert keys("Look  at\tTHIS thing. \n") == ["look at this thing."]


def test_lines_end_sentences_and_lines_without_content_are_none() -> None:
    assert keys("one line\n\n---\n***\nanother\n") == ["one line", "another"]


def test_the_number_of_a_list_item_is_no_sentence() -> None:
    assert keys("1. Read the file\n2. Change it. Then run.\n") == [
        "1. read the file",
        "2. change it.",
        "then run.",
    ]


@pytest.mark.parametrize(
    "code",
    [
        "```py\nx = 1. \nprint(x)\n```\n",
        "~~~\nno sentence. here\n~~~\n",
        "````\n```\nstill code. yes\n```\n````\n",
        "- item:\n".replace("item:", "```") + "  nested. code\n  ```\n",
        "1. ```sh\n   run it. now\n   ```\n",
        "> quoted words. more of them\n",
        "- > quoted in a list. yes\n",
        "```\nnever closed. at all\n",
    ],
)
def test_code_and_quotes_are_left_out(code: str) -> None:
    assert [key for key in keys("Before it.\n", code) if key != "before it."] == []


def test_text_goes_on_behind_a_fence() -> None:
    assert keys("```\ncode here. x\n```\nBehind it.\n") == ["behind it."]


def test_a_longer_or_other_run_does_not_close_a_fence_early() -> None:
    assert keys("```\n~~~\ncode. x\n```\nout.\n") == ["out."]
    assert keys("````\n```\ncode. x\n````\nout.\n") == ["out."]


def test_inline_code_opens_no_fence() -> None:
    assert keys("```x``` is inline code.\nThis is text.\n") == ["```x``` is inline code.", "this is text."]


def test_it_is_known_what_is_code() -> None:
    splitter = Splitter()
    text = "text\n```\ncode\n```\ntext\n"
    splitter.feed(text)
    assert not splitter.in_code(2)
    assert splitter.in_code(text.index("code"))
    assert not splitter.in_code(text.rindex("text"))


def test_places_are_those_in_the_part() -> None:
    text = "First one here.  Second one there.\n  third line\n"
    assert [text[one.start : one.end] for one in split(text)] == [
        "First one here.",
        "Second one there.",
        "third line",
    ]


def test_only_other_code_than_before_is_mentioned() -> None:
    text = "```\na = 1\n```\n```py\na = 1\n```\n```\na = 2\n```\n"
    assert [(one.line, one.key) for one in split(text)] == [(Line.CODE, "a = 2\n")]


def test_a_transcript_is_code() -> None:
    assert [one.line for one in split(">>> f(1)\n1\n>>> f(2)\n")] == [Line.PROSE, Line.CODE]


def test_paragraphs_headings_and_tables_are_told_apart() -> None:
    sentences = split("# Title\n\ntext of it\n\n| a | b. c |\n")
    assert [one.line for one in sentences] == [Line.HEADING, Line.PROSE, Line.TABLE]
    assert [one.paragraph for one in sentences] == [0, 1, 2]


class Counting(Splitter):
    """Counts the characters it reads, again and again ones included."""

    read = 0

    def _read(self, text: str, event: int, *, final: bool) -> list[Sentence]:
        self.read += len(text)
        return super()._read(text, event, final=final)


PATTERNS = ["a. ", "x", "`", "1. ", ".", "*", "> ", "| a. ", "- ", "``` a. ", "e.g. ", "\t", "  \n", " . "]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_cost_of_a_piece_does_not_grow_with_what_came_before(pattern: str) -> None:
    short, long = Counting(), Counting()
    for _ in range(1_000):
        short.feed(pattern)
    for _ in range(10_000):
        long.feed(pattern)
    assert long.read <= 12 * short.read + 10_000


@pytest.mark.parametrize(
    "key",
    [
        "tests pass now.",
        "ich aktualisiere readme.md.",
        "ich aktualisiere die .env.",
        "让我检查容器。",
        "コンテナを確認します。",
        "컨테이너가 시작되었는지 확인합니다.",
        "กำลังตรวจสอบสถานะของคอนเทนเนอร์",
        "проверяю состояние контейнеров.",
        "downloading https://example.com/v1.2.3.tar.gz to disk now.",
    ],
)
def test_substantial_sentences(key: str) -> None:
    assert substantial(key)


@pytest.mark.parametrize(
    "key",
    [
        "ok.",
        "is it so?",
        "documentation complete.",
        "0x00, 0x00, 0x00, 0x00,",
        "ff ff ff ff ff ff ff ff",
        "1 2 3 4 5 6 7 8 9 10 11",
        "self.assert_equal(first, second)",
        "return a + b;",
        "if a is b and c == d {",
        '"limit_key": "max results",',
        "好的\uff01",
    ],
)
def test_short_or_wordless_or_coded_lines_are_not(key: str) -> None:
    assert not substantial(key)


def test_code_is_told_by_its_marks() -> None:
    assert not looks_like_code("we break out of it when `parent_err != nil` and `len(x) == 0`")
    assert not looks_like_code("(go).")
    assert looks_like_code("traceback (most recent call last):")
    assert looks_like_code("const x = { a: [1, 2] };")
    assert not looks_like_code("the file src/app.ts has 3 errors, i will fix them.")
