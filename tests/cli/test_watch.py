"""``loopguard status --watch``: frames of the right size, only changes written, plain lines into pipes."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.cli.looking import GOAL, GOAL_WENT_ON, LOOPED, live_run, record
from tests.cli.test_status import LIVE
from tests.pty.terminal import Terminal

from loopguard_cli.cli import look, watch
from loopguard_cli.cli.render.status import StatusView

GAUGES = [
    {"rule": "repeat-call", "used": 2, "limit": 3, "tool": "bash"},
    {"rule": "prose-irregular", "used": 9, "limit": 18},
]
BUSY = {
    "guard.status": {
        **LIVE["guard.status"],
        "caps": [{"name": "calls", "used": 40, "limit": 200}],
        "sessions": [
            {
                **LIVE["guard.status"]["sessions"][0],
                "call": {"tool": "bash", "key": "deadbeef00", "count": 2, "blocked": False, "age": 12.0},
                "gauges": GAUGES,
            }
        ],
    }
}


def console(width: int, height: int) -> tuple[Console, io.StringIO]:
    written = io.StringIO()
    return (
        Console(file=written, force_terminal=True, width=width, height=height, highlight=False, _environ={}),
        written,
    )


def frame(view: StatusView, width: int, height: int) -> list[str]:
    lines = watch.compose(console(width, height)[0], view, look.newest_entries())
    return ["".join(segment.text for segment in line) for line in lines]


@pytest.fixture
def busy(project: Path) -> StatusView:
    record(project, *LOOPED, GOAL, GOAL_WENT_ON)
    with live_run(project, "aaaa1111", BUSY):
        return look.look()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60), (60, 14), (40, 10), (20, 3)])
def test_a_frame_fills_the_screen_and_no_more(busy: StatusView, width: int, height: int) -> None:
    lines = frame(busy, width, height)
    assert len(lines) == height
    assert {len(line) for line in lines} == {width}


def test_everything_fits_on_the_smallest_usual_terminal(busy: StatusView) -> None:
    text = "\n".join(frame(busy, 80, 24))
    for shown in (
        "Run aaaa1111  opencode 1.18.33  running",
        "bash deadbeef, number 2",
        "running for 12 s",
        "repeat-call",
        "2 / 3",
        "prose-irregular",
        "9 / 18",
        "cap on calls",
        "40 / 200",
        "fix the tests",
        "1 / 7",
        "repeat-call -> block: bash was called",
        "guard.mode observe",
    ):
        assert shown in text
    assert "more lines" not in text


LONG = (
    "port the command line to the new parser, keep its output byte for byte the same, and let every test "
    "of the old one pass unchanged"
)


@pytest.mark.parametrize(("columns", "whole"), [(80, False), (100, False), (200, True)])
def test_an_objective_takes_the_width_that_is_there(busy: StatusView, columns: int, whole: bool) -> None:
    busy.goals[0].objective, busy.goals[0].session = LONG, "ses_1"
    (line,) = [line for line in frame(busy, columns, 30) if "Goal 1" in line]
    assert (LONG in line) == whole
    # What says how it stands is never pushed out, and no column is left empty by cutting.
    assert line.rstrip().endswith("active  ses_1")
    assert whole or len(line.rstrip()) == columns
    assert ("…" in line) != whole


def test_what_does_not_fit_is_counted_and_the_latest_stays(busy: StatusView) -> None:
    lines = frame(busy, 80, 14)
    assert any("more lines; make the window higher" in line for line in lines)
    assert "goal g1 auto-continue" in lines[-1]


@pytest.mark.usefixtures("project")
def test_without_a_run_it_says_how_to_start_one() -> None:
    assert "loopguard run -- opencode" in "\n".join(frame(look.look(), 80, 24))


def test_only_lines_that_changed_are_written(busy: StatusView) -> None:
    target, written = console(80, 24)
    first = watch.compose(target, busy, [])
    watch.paint(target, [], first)
    whole = len(written.getvalue())
    watch.paint(target, first, first)
    assert len(written.getvalue()) == whole
    busy.now += 1
    watch.paint(target, first, watch.compose(target, busy, []))
    change = written.getvalue()[whole:]
    assert change.count("\x1b[1;1H") == 1  # the clock in the first line
    assert len(change) < whole / 4


def _stop_after(monkeypatch: pytest.MonkeyPatch, rounds: int) -> None:
    left = [rounds]

    def sleep(_seconds: float) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(watch.time, "sleep", sleep)


def _views(busy: StatusView, calls: list[int]) -> Any:
    numbers = iter(calls)

    def next_view() -> StatusView:
        busy.runs[0].sessions[0].calls = next(numbers)
        busy.now += 1
        return busy

    return next_view


def test_a_pipe_gets_a_line_when_something_changed(
    busy: StatusView, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _stop_after(monkeypatch, 4)
    watch.watch(_views(busy, [1, 1, 2, 2]), list, as_json=False)
    told = capsys.readouterr().out.splitlines()
    assert sum("goal 1" in line for line in told) == 1, "what has not changed is not said again"
    lines = [line for line in told if "ses_1" in line]
    assert [line.partition("calls ")[2].split()[0] for line in lines] == ["1", "2"]
    assert "repeat-call 2/3" in lines[0]
    assert "\x1b" not in lines[0]


def test_json_comes_as_one_line_each(
    busy: StatusView, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _stop_after(monkeypatch, 2)
    watch.watch(_views(busy, [1, 2]), list, as_json=True)
    views = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [view["runs"][0]["sessions"][0]["calls"] for view in views] == [1, 2]


def test_on_a_terminal(project: Path) -> None:
    record(project, *LOOPED, GOAL, GOAL_WENT_ON)
    argv = [sys.executable, "-m", "loopguard_cli", "status", "--watch"]
    with (
        live_run(project, "aaaa1111", BUSY),
        Terminal(argv, cwd=project, env=os.environ, rows=24, columns=80) as terminal,
    ):
        terminal.wait_for("2 / 3")
        assert terminal.modes[1049]
        terminal.resize(40, 120)
        terminal.wait_for(lambda text: "─" * 120 in text)
        terminal.send("q")
        assert terminal.wait() == 0
        assert terminal.changed_modes == []


@pytest.mark.parametrize(("keys", "code"), [("\x03", 0), ("", 143)])
def test_any_end_leaves_the_terminal_as_it_was(project: Path, keys: str, code: int) -> None:
    argv = [sys.executable, "-m", "loopguard_cli", "status", "--watch"]
    with Terminal(argv, cwd=project, env=os.environ, rows=24, columns=80) as terminal:
        terminal.wait_for("loopguard run -- opencode")
        if keys:
            terminal.send(keys)
        else:
            terminal.process.terminate()
        assert terminal.wait() == code
        assert terminal.changed_modes == []


def test_without_colours_nothing_is_coloured(project: Path) -> None:
    argv = [sys.executable, "-m", "loopguard_cli", "status", "--watch"]
    with (
        live_run(project, "aaaa1111", BUSY),
        Terminal(argv, cwd=project, env={**os.environ, "NO_COLOR": "1"}, rows=24, columns=80) as terminal,
    ):
        terminal.wait_for("2 / 3")
        terminal.send("q")
        terminal.wait()
    assert b"\x1b[3" not in terminal.raw.replace(b"\x1b[3;1H", b"")
