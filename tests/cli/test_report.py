from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from tests.cli.looking import ENDED, GOAL, GOAL_WENT_ON, LOOPED, STARTED, record
from tests.history.stories import Story
from tests.report.reading import Page

from loopguard_cli.cli.commands import report
from loopguard_cli.cli.render.recorded import report_of_run
from loopguard_cli.core.ids import SessionId
from loopguard_cli.core.records import AgentSeen
from loopguard_cli.errors import InputError, UsageError
from loopguard_cli.goal.records import Continued, pack
from loopguard_cli.goal.records import Kind as GoalEvent
from loopguard_cli.report import MARK, Kind
from loopguard_cli.store.lines import Entry
from loopguard_cli.store.reading import read_ledger


def command(name: str = "", **options: Any) -> None:
    report.command(name, **{"output": "out.html", **options})


def page(project: Path, name: str = "out.html") -> Page:
    return Page((project / name).read_text("utf-8"))


def session(folder: Path) -> Path:
    story = Story(Path.home() / ".pi/agent/sessions/p/x_5e55.jsonl", folder=str(folder)).person(
        "the secret task"
    )
    for _ in range(4):
        story.calls("bash", "the secret answer", command="ls")
    return story.says("done").write()


def test_a_run_is_told_from_the_ledger(project: Path) -> None:
    record(project, *LOOPED, ENDED)
    entries = [one for one in read_ledger(project / ".loopguard") if isinstance(one, Entry)]
    told = report_of_run(entries, "aaaa1111", project=str(project))
    assert told.title == "OpenCode run in project"
    assert (told.calls, told.blocked, told.aborted, told.continued) == (4, 1, 1, 1)
    assert (told.tokens, told.cost) == (12_345, 0.25)
    assert [(alarm.rule, alarm.action) for alarm in told.alarms] == [
        ("repeat-call", "block"),
        ("prose-block", "abort"),
    ]
    assert told.alarms[0].explanation == "bash was called 3 times with the same arguments within 60 s."
    assert [turn.who for turn in told.turns] == ["person", "loopguard"]
    kinds = [item.kind for turn in told.turns for item in turn.items]
    assert {Kind.CALL, Kind.BLOCK, Kind.ALARM, Kind.ABORT, Kind.CONTINUATION} <= set(kinds)
    first, second, *_ = [i for turn in told.turns for i in turn.items if i.kind is Kind.CALL]
    assert (first.ok, first.seconds, second.ok) == (True, 0.5, False)


def test_what_was_continued_for_a_goal_is_no_recovery_and_begins_a_turn(project: Path) -> None:
    started = pack(SessionId(""), "g1", GoalEvent.CONTINUED, Continued(at=1020.0, counted=False))
    record(project, *LOOPED, GOAL, started, GOAL_WENT_ON, GOAL_WENT_ON, ENDED)
    entries = [one for one in read_ledger(project / ".loopguard") if isinstance(one, Entry)]
    told = report_of_run(entries, "aaaa1111")
    # As its budget counts them: the prompt that starts a goal continues nothing yet.
    assert (told.continued, told.pursued) == (1, 2)
    assert [turn.who for turn in told.turns] == ["person", "loopguard", *["loopguard"] * 3]


def test_an_agent_that_closes_its_connection_is_no_turn_and_one_that_loses_it_is_told_of(
    project: Path,
) -> None:
    closed, lost = (AgentSeen(connected=False, agent="opencode", reason=reason) for reason in ("closed", ""))
    record(project, STARTED, closed, *LOOPED[1:], lost, closed, ENDED)
    entries = [one for one in read_ledger(project / ".loopguard") if isinstance(one, Entry)]
    told = report_of_run(entries, "aaaa1111")
    assert [turn.who for turn in told.turns] == ["person", "loopguard"]
    titles = [item.title for turn in told.turns for item in turn.items]
    assert titles.count("the connection to the agent ended") == 1


def test_goals_are_shown_against_their_budgets(project: Path) -> None:
    record(project, STARTED, GOAL, GOAL_WENT_ON, ENDED)
    command()
    shown = page(project).text
    assert "fix the tests" in shown
    assert "1 of 7" in shown


def test_a_goal_that_was_set_before_the_run_is_shown(project: Path) -> None:
    record(project, GOAL, run="cli-1", at=1000.0)
    record(project, STARTED, GOAL_WENT_ON, ENDED, at=1010.0)
    command()
    shown = page(project).text
    assert "fix the tests" in shown
    assert "1 of 7" in shown


def test_a_goal_that_was_set_after_the_run_is_not_shown(project: Path) -> None:
    record(project, STARTED, ENDED, at=1000.0)
    record(project, GOAL, run="cli-1", at=1010.0)
    command("aaaa")
    assert "fix the tests" not in page(project).text


def test_the_newest_run_or_the_one_that_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(project, *LOOPED, run="aaaa1111")
    record(project, STARTED, ENDED, run="bbbb2222", at=5000.0)
    command()
    assert "run bbbb2222" in page(project).text
    command("aaaa")
    assert "run aaaa1111" in page(project).text
    assert capsys.readouterr().out.split() == ["out.html", "out.html"]


def test_without_a_run_the_newest_session_of_the_folder(project: Path) -> None:
    session(project)
    command()
    assert "pi session in project" in page(project).text


def test_a_session_by_the_beginning_of_its_id(project: Path) -> None:
    path = session(Path("/elsewhere"))
    command("5e55")
    assert str(path) in page(project).text


def test_content_only_on_request_and_then_for_the_owner_alone(project: Path) -> None:
    path = session(project)
    command(str(path), output="plain.html")
    command(str(path), output="full.html", include_content=True)
    assert "secret" not in (project / "plain.html").read_text("utf-8")
    assert "the secret answer" in page(project, "full.html").text
    assert "blanked" in page(project, "full.html").text
    assert stat.S_IMODE((project / "full.html").stat().st_mode) == 0o600


def test_the_ledger_has_no_content_to_include(project: Path) -> None:
    record(project, *LOOPED)
    with pytest.raises(UsageError, match="no content"):
        command("aaaa", include_content=True)


def test_a_former_report_is_replaced_but_nothing_else(project: Path) -> None:
    path = session(project)
    command(str(path))
    command(str(path))
    (project / "out.html").write_text("mine")
    with pytest.raises(InputError, match="is no report"):
        command(str(path))
    assert (project / "out.html").read_text() == "mine"
    with pytest.raises(InputError, match="cannot write"):
        command(str(path), output="no/such/folder.html")
    assert sorted(one.name for one in project.iterdir()) == [".git", "out.html"]


def test_standard_output(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(str(session(project)), output="-")
    assert capsys.readouterr().out.startswith(MARK)


@pytest.mark.parametrize("started", [True, False])
def test_open_hands_the_file_to_the_browser(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, started: bool
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or started)
    command(str(session(project)), open_it=True)
    assert opened == [(project / "out.html").as_uri()]
    out, err = capsys.readouterr()
    assert out == "out.html\n"
    assert ("no browser could be started; open out.html" in err) is not started


@pytest.mark.usefixtures("project")
def test_nothing_of_that_name() -> None:
    with pytest.raises(InputError, match="nothing is called 'zzz'"):
        command("zzz")
    with pytest.raises(InputError, match="no run and no session"):
        command()
