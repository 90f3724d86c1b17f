from __future__ import annotations

import sys

import pytest

from loopguard_cli.cli.render import page
from loopguard_cli.cli.render.page import Bar, Cell, Table, Tone, line

TABLE = Table(
    ("name", ">calls", "used"),
    [
        (Cell("日本", Tone.BAD), Cell("7"), Bar(3, 10, "3 / 10")),
        (Cell("[bold]x[/]"), Cell("12"), Bar(5, 0, "5")),
    ],
)


def pretend_terminal(patch: pytest.MonkeyPatch, term: str = "xterm-256color") -> None:
    patch.setattr(sys.stdout, "isatty", lambda: True)
    patch.setenv("TERM", term)
    patch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        patch.delenv(name, raising=False)


def test_piped_it_is_plain_aligned_text(capsys: pytest.CaptureFixture[str]) -> None:
    page.show([line(Cell("Title", Tone.STRONG), " and more"), TABLE, line()])
    assert capsys.readouterr().out.splitlines() == [
        "Title and more",
        "name        calls  used",
        "日本            7  3 / 10",
        "[bold]x[/]     12  5",
        "",
    ]


def test_piped_long_text_is_not_cut(capsys: pytest.CaptureFixture[str]) -> None:
    page.show([line("x" * 1000)])
    assert capsys.readouterr().out == "x" * 1000 + "\n"


def test_a_terminal_gets_colours_and_bars(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend_terminal(monkeypatch)
    page.show([TABLE])
    out = capsys.readouterr().out
    assert "\x1b[1;31m日本" in out
    assert "━" in out
    assert "[bold]x[/]" in out


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pretend_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    page.show([TABLE])
    out = capsys.readouterr().out
    assert "31m" not in out
    assert "━" in out


def test_a_dumb_terminal_gets_plain_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend_terminal(monkeypatch, term="dumb")
    page.show([TABLE])
    assert "\x1b" not in capsys.readouterr().out
