from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopguard_cli.cli import live
from loopguard_cli.cli.commands import check, decide, mode, mute, reset
from loopguard_cli.core.settings import Mode
from loopguard_cli.errors import UsageError
from loopguard_cli.runtime.control import client as control
from loopguard_cli.runtime.control.client import Answer
from loopguard_cli.store import runs

Start = Callable[..., None]
Question = tuple[str, str, dict[str, Any], str]
"""Run, operation, arguments, session."""


@pytest.fixture
def start(project: Path) -> Start:
    """Registers this process as a live run of a project."""

    def register(run: str, folder: Path = project) -> None:
        state = folder / ".loopguard"
        entry = runs.this_run(
            run=run, agent="opencode", project=folder, state=state, socket="/none", since=time.time()
        )
        runs.register(entry)

    return register


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Question]:
    """What was asked of which run; every answer is yes."""
    seen: list[Question] = []

    def ask(
        run: runs.LiveRun, operation: str, arguments: dict[str, Any], *, session: str, timeout: float
    ) -> Answer:
        assert timeout > 0
        seen.append((run.run, operation, arguments, session))
        return Answer(ok=True, text="done", data={"n": 1})

    monkeypatch.setattr(control, "ask", ask)
    return seen


def test_the_only_run_of_the_folder_is_meant(start: Start, tmp_path: Path) -> None:
    start("aaaa1111")
    start("bbbb2222", tmp_path / "other")
    assert live.choose().run == "aaaa1111"


def test_without_a_run_here_it_says_what_to_do(start: Start, tmp_path: Path) -> None:
    start("bbbb2222", tmp_path / "other")
    with pytest.raises(live.NoLiveRun, match=r"start one with 'loopguard run', or name one with --run"):
        live.choose()


def test_a_run_is_named_by_the_beginning_of_its_id_from_anywhere(start: Start, tmp_path: Path) -> None:
    start("aaaa1111")
    start("bbbb2222", tmp_path / "other")
    assert live.choose("bb").run == "bbbb2222"
    with pytest.raises(live.NoLiveRun, match="no live run 'cc'"):
        live.choose("cc")


def test_several_runs_are_listed_to_choose_from(start: Start) -> None:
    start("aaaa1111")
    start("aaaa2222")
    for wanted in ("", "aaaa"):
        with pytest.raises(UsageError, match=r"2 live runs: aaaa1111 \(opencode\), aaaa2222"):
            live.choose(wanted)


def test_each_command_asks_its_operation(start: Start, asked: list[Question]) -> None:
    start("aaaa1111")
    mode.command(Mode.OBSERVE)
    reset.command(session="ses_1")
    mute.command()
    mute.command(mute.Switch.OFF, session="ses_1")
    check.command("bash", '{"command": "make"}')
    decide.command(decide.Decision.STOP, observed="o", rationale="r", expected="e")
    assert [entry[1:] for entry in asked] == [
        ("guard.mode", {"mode": "observe"}, ""),
        ("guard.reset", {}, "ses_1"),
        ("guard.mute", {"on": True}, ""),
        ("guard.mute", {"on": False}, "ses_1"),
        ("guard.check", {"toolName": "bash", "argsJson": '{"command": "make"}'}, ""),
        (
            "guard.decide",
            {
                "decision": "stop",
                "observedResult": "o",
                "rationale": "r",
                "expectedInformation": "e",
                "nextTool": "",
                "argsJson": "{}",
            },
            "",
        ),
    ]


@pytest.mark.parametrize("text", ["make", "[1]", ""])
def test_arguments_that_are_no_object_are_a_mistake_wherever_one_is(text: str) -> None:
    with pytest.raises(UsageError, match="no JSON object"):
        check.command("bash", text)
    with pytest.raises(UsageError, match="no JSON object"):
        decide.command(decide.Decision.STOP, arguments=text)


@pytest.mark.usefixtures("asked")
def test_the_answer_is_printed_as_text_or_json(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    start("aaaa1111")
    reset.command()
    assert capsys.readouterr().out == "done\n"
    reset.command(as_json=True)
    assert '"text": "done"' in capsys.readouterr().out


def test_a_refusal_is_an_error_with_the_reason(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    start("aaaa1111")
    no = Answer(ok=False, code="not_allowed")
    monkeypatch.setattr(control, "ask", lambda *_, **__: no)
    with pytest.raises(live.Refused, match="not_allowed"):
        reset.command()
