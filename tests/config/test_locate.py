from __future__ import annotations

import pytest

from loopguard_cli.config.locate import Span, line_of, statement

TEXT = '''\
# settings
[guard]
mode = "on"  # why

list = [
  "a",  # x = 3
  "b",
]
calls = { cycle_repeats = 3, other = 4 }
dotted.name = 1

[guard.text]
note = """
[guard.pace]
turns = 7
"""

[guard.pace]
turns = 9
'''


@pytest.mark.parametrize(
    ("path", "span"),
    [
        (("guard",), Span(1, 2)),
        (("guard", "mode"), Span(2, 3)),
        (("guard", "list"), Span(4, 8)),
        (("guard", "calls", "other"), Span(8, 9)),
        (("guard", "dotted", "name"), Span(9, 10)),
        (("guard", "text", "note"), Span(12, 16)),
        (("guard", "pace", "turns"), Span(18, 19)),
    ],
)
def test_finds_the_lines_of_a_statement_whatever_its_form(path: tuple[str, ...], span: Span) -> None:
    assert statement(TEXT, path) == span
    assert line_of(TEXT, path) == span.start + 1


@pytest.mark.parametrize("path", [("guard", "turns"), ("other",), ("guard", "mode", "deeper")])
def test_knows_what_is_not_there(path: tuple[str, ...]) -> None:
    assert statement(TEXT, path) is None


def test_a_file_without_a_final_line_end() -> None:
    assert statement("a = 1\nb = 2", ("b",)) == Span(1, 2)
