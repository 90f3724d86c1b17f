"""``loopguard goal`` without a live run: what it writes, says and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopguard_cli.cli.app import command_tree
from loopguard_cli.errors import LoopguardError
from loopguard_cli.store.goals import stored_goals


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def goal(capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Runs ``loopguard goal …`` and returns what it printed."""

    def run(*arguments: str) -> str:
        command_tree().main(["goal", *arguments], prog_name="loopguard", standalone_mode=False)
        return capsys.readouterr().out

    return run


def test_a_goal_waits_for_the_next_run_and_says_so(goal, project: Path) -> None:  # type: ignore[no-untyped-def]
    out = goal("set", "make", "it", "pass", "--check", "make test", "--max-turns", "7")
    assert "make it pass" in out
    assert "waits for the next 'loopguard run'" in out
    waiting = stored_goals(project / ".loopguard").books()[""]  # type: ignore[index]
    assert waiting.focused is not None
    assert waiting.focused.active
    assert (waiting.focused.limits.turns, waiting.focused.checks[0].command) == (7, "make test")


def test_quotes_and_flags_inside_an_objective_stay_text(goal) -> None:  # type: ignore[no-untyped-def]
    objective = 'say "hi" --max-turns 3 \\ it\'s'
    goal("set", objective)
    assert json.loads(goal("status", "--json"))["data"]["objective"] == objective


def test_several_goals(goal) -> None:  # type: ignore[no-untyped-def]
    goal("set", "paint")
    goal("add", "saw")
    goal("focus", "1")
    listed = json.loads(goal("list", "--json"))["data"]["goals"]
    assert [(g["objective"], g["place"]) for g in listed] == [("paint", "focused"), ("saw", "background")]
    assert goal("list").splitlines()[1].startswith("1. [focused] paint")


def test_a_sequence_takes_one_goal_an_argument_and_flags_for_all(goal) -> None:  # type: ignore[no-untyped-def]
    goal("sequence", "saw the board", "glue it", "--max-turns", "4")
    data = json.loads(goal("status", "--json"))["data"]
    assert (data["objective"], data["turns"]["limit"]) == ("saw the board", 4)
    assert json.loads(goal("list", "--json"))["data"]["ordered"]


def test_pause_resume_edit_complete_and_history(goal) -> None:  # type: ignore[no-untyped-def]
    goal("set", "paint")
    goal("pause")
    goal("resume", "--max-minutes", "40")
    goal("edit", "paint", "the", "door")
    assert "achieved" in goal("complete", "it is red now")
    assert "it is red now" in goal("status")
    events = json.loads(goal("history", "--json"))["data"]["events"]
    assert [e["kind"] for e in events] == ["set", "paused", "resumed", "edited", "completed"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("set", "paint", "--max-turns", "many"), 2),
        (("set", "paint", "--budget", "3g", "--mode", "odd"), 2),
        (("edit", "paint"), 1),
        (("pause",), 1),
        (("focus", "3"), 1),
        (("block", "-"), 1),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(  # type: ignore[no-untyped-def]
    goal, project: Path, arguments: tuple[str, ...], code: int
) -> None:
    with pytest.raises(LoopguardError) as refused:
        goal(*arguments)
    assert refused.value.exit_code == code
    assert "\n" not in refused.value.message
    assert not any(book.goals for book in stored_goals(project / ".loopguard").books().values())


def test_a_refusal_says_what_to_do_next(goal) -> None:  # type: ignore[no-untyped-def]
    for words in (("edit", "paint"), ("complete", "done"), ("block", "no paint")):
        with pytest.raises(LoopguardError, match=r"'loopguard goal set'"):
            goal(*words)
    goal("set", "paint")
    with pytest.raises(LoopguardError, match=r"^There is no such goal \('loopguard goal list' shows them\)$"):
        goal("focus", "9")
    for words in (("edit",), ("set", ""), ("focus", "")):
        with pytest.raises(LoopguardError, match=rf"see 'loopguard goal {words[0]} --help'"):
            goal(*words)


def test_where_no_goals_of_the_plugin_are_it_says_where_it_looked(goal, project: Path) -> None:  # type: ignore[no-untyped-def]
    assert str(project / ".opencode" / "goals") in goal("import")


def test_looking_leaves_no_folder_behind(goal, project: Path) -> None:  # type: ignore[no-untyped-def]
    assert "No active goal. Set one: loopguard goal set" in goal("status")
    assert "No goals yet" in goal("list")
    assert not (project / ".loopguard").exists()


def test_goals_of_the_replaced_plugin_are_imported_paused(goal, project: Path) -> None:  # type: ignore[no-untyped-def]
    state = project / ".opencode" / "goals" / "state.json"
    state.parent.mkdir(parents=True)
    goals = [{"sessionID": "s1", "condition": "port it", "goalId": "g1"}, {"sessionID": "", "condition": "x"}]
    state.write_text(json.dumps({"version": 1, "goals": goals, "results": []}))
    assert goal("import").startswith("Imported: 1 goal, 0 results, 1 session.")
    assert "paused" in goal("status")
    assert state.exists()


def test_proof_and_limits_go_with_every_goal_of_a_sequence(goal, project: Path) -> None:  # type: ignore[no-untyped-def]
    goal("sequence", "saw", "glue", "--check", "make test", "--max-duration-ms", "90000", "--mode", "ordered")
    book = stored_goals(project / ".loopguard").books()[""]  # type: ignore[index]
    assert [g.objective for g in book.goals] == ["saw", "glue"]
    assert {(g.checks[0].command, g.limits.seconds, g.mode.value) for g in book.goals} == {
        ("make test", 90.0, "ordered")
    }


@pytest.mark.parametrize("verb", ["set", "add", "edit", "sequence", "focus", "resume", "complete", "block"])
def test_help_shows_an_example_that_is_understood(goal, verb: str) -> None:  # type: ignore[no-untyped-def]
    shown = goal(verb, "--help")
    assert f"  loopguard goal {verb}" in shown.partition("Examples:")[2]
