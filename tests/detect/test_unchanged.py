"""Preset ``balanced``: what is a repetition, and what is work."""

from __future__ import annotations

import pytest

from loopguard_cli.core.events import Origin
from loopguard_cli.core.settings import Locale
from loopguard_cli.core.wording import explain

from .sitting import ABORT, ALLOW, BLOCK, NOTE, NUDGE, Sitting


@pytest.fixture
def sitting() -> Sitting:
    return Sitting()


# --- repetition ------------------------------------------------------------------------------


def test_the_third_equal_call_with_equal_outcomes_is_refused(sitting: Sitting) -> None:
    assert [sitting.bash("python x.py", "7") for _ in range(3)] == [ALLOW, ALLOW, BLOCK]
    assert sitting.rules() == {"repeat-call"}


def test_what_it_has_cost_are_all_calls_also_those_that_are_not_kept() -> None:
    sitting = Sitting("balanced", "calls.repeat_threshold=40", "calls.repeat_window_seconds=1000")
    for _ in range(40):
        sitting.bash("python x.py", "7")
    latest = sitting.findings[-1]
    assert (latest.rule, latest.count, latest.cost.calls) == ("repeat-call", 40, 40)
    assert latest.cost.seconds == 39 * 3.0
    assert "40" in explain(latest, Locale.EN).rpartition("So far:")[2]


def test_outside_the_window_it_is_a_consecutive_call(sitting: Sitting) -> None:
    for _ in range(2):
        sitting.bash("python x.py", "7")
        sitting.now += 60
    assert sitting.bash("python x.py", "7") is BLOCK
    assert sitting.rules() == {"consecutive-call"}


def test_a_call_in_flight_counts_as_unchanged(sitting: Sitting) -> None:
    assert [sitting.ask("bash", {"command": "make"}) for _ in range(3)] == [ALLOW, ALLOW, BLOCK]


def test_equal_reads_sent_off_together_count_once(sitting: Sitting) -> None:
    assert [sitting.ask("read", {"path": "a"}) for _ in range(5)] == [ALLOW] * 5


def test_nobody_means_six_equal_reads_at_once(sitting: Sitting) -> None:
    assert [sitting.ask("read", {"path": "a"}) for _ in range(7)] == [ALLOW] * 5 + [BLOCK] * 2


@pytest.mark.parametrize("tool", ["debugger_step", "move", "game_walk"])
def test_stepping_on_is_no_repetition(sitting: Sitting, tool: str) -> None:
    assert [sitting.call(tool, {"by": "one"}, f"you are at {n}") for n in range(12)] == [ALLOW] * 12


def test_a_file_moved_again_and_again_is_no_step(sitting: Sitting) -> None:
    assert sitting.call("move_file", {"from": "a", "to": "b"}, "moved") is ALLOW
    assert sitting.call("move_file", {"from": "a", "to": "b"}, "moved") is ALLOW
    assert sitting.call("move_file", {"from": "a", "to": "b"}, "moved") is BLOCK


def test_a_share_that_moves_is_progress(sitting: Sitting) -> None:
    said = [sitting.bash("tail -n 1 build.log", f"[{9 * n}%] compiling part {n}") for n in range(10)]
    assert said == [ALLOW] * 10


def test_a_refused_call_stays_refused_while_nothing_changes(sitting: Sitting) -> None:
    for _ in range(3):
        sitting.bash("python x.py", "7")
    sitting.call("read", {"path": "a"}, "text")
    assert sitting.bash("python x.py", "7") is BLOCK


def test_a_refused_call_asked_for_again_and_again_ends_the_turn(sitting: Sitting) -> None:
    said = [sitting.bash("python x.py", "7") for _ in range(8)]
    assert said[:2] == [ALLOW, ALLOW]
    assert said[2:6] == [BLOCK] * 4
    assert said[6] is ABORT


def test_a_failing_call_is_refused_the_fourth_time_whatever_stands_between(sitting: Sitting) -> None:
    said = []
    for n in range(4):
        said.append(sitting.call("replace", {"old": "a", "new": "b"}, "0 occurrences found", ok=False))
        sitting.call("read", {"path": f"{n}.py"}, f"content {n}")
    assert said == [ALLOW, ALLOW, ALLOW, BLOCK]


def test_the_same_edit_again_is_refused_whatever_the_tool_says(sitting: Sitting) -> None:
    said = [sitting.call("insert", {"line": 3, "text": "x"}, f"file has {n} lines") for n in range(3)]
    assert said == [ALLOW, ALLOW, BLOCK]


# --- progress --------------------------------------------------------------------------------


def test_a_changed_outcome_is_progress(sitting: Sitting) -> None:
    said = [
        sitting.bash("python next.py", f"page {word}") for word in ("one", "two", "three", "four", "five")
    ]
    assert said == [ALLOW] * 5


def test_an_edit_in_between_makes_an_equal_call_new(sitting: Sitting) -> None:
    said = []
    for n in range(7):
        sitting.call("edit", {"path": "a.py", "old": str(n), "new": str(n + 1)}, "ok")
        said.append(sitting.bash("npm run lint", "no problems"))
    assert said == [ALLOW] * 7


def test_an_edit_lifts_a_block(sitting: Sitting) -> None:
    for _ in range(3):
        sitting.bash("make", "error: x", ok=False)
    sitting.call("edit", {"path": "a.c", "old": "x", "new": "y"}, "ok")
    assert sitting.bash("make", "error: x", ok=False) is ALLOW


def test_what_may_have_changed_something_earns_one_more_try(sitting: Sitting) -> None:
    for _ in range(3):
        sitting.bash("make", "error: x", ok=False)
    sitting.bash("python setup.py configure", "configured")
    assert sitting.bash("make", "error: x", ok=False) is ALLOW
    assert sitting.bash("make", "error: x", ok=False) is BLOCK


def test_another_outcome_lifts_a_block(sitting: Sitting) -> None:
    for _ in range(3):
        sitting.bash("make", "error: x", ok=False)
    sitting.bash("python setup.py configure", "configured")
    sitting.bash("make", "all is well")
    assert sitting.bash("make", "all is well") is ALLOW


def test_an_edit_that_was_made_before_changes_nothing(sitting: Sitting) -> None:
    said = []
    for _ in range(3):
        said.append(sitting.call("edit", {"path": "a", "old": "x", "new": "y"}, "ok"))
        said.append(sitting.bash("make", "error", ok=False))
    assert BLOCK in said


def test_a_failed_edit_changes_nothing(sitting: Sitting) -> None:
    sitting.bash("make", "error", ok=False)
    said = []
    for n in range(3):
        sitting.call("edit", {"path": "a", "old": str(n), "new": "y"}, "not found", ok=False)
        said.append(sitting.bash("make", "error", ok=False))
    assert said == [ALLOW, ALLOW, BLOCK]


def test_a_person_may_ask_for_the_same_again(sitting: Sitting) -> None:
    said = []
    for _ in range(5):
        sitting.person("check again")
        said.append(sitting.call("webfetch", {"url": "u"}, "no news"))
    assert said == [ALLOW] * 5


def test_our_own_prompts_and_a_parents_are_no_persons(sitting: Sitting) -> None:
    for origin in (Origin.LOOPGUARD, Origin.PARENT):
        sitting.bash("python x.py", "7")
        sitting.person(origin=origin)
    assert sitting.bash("python x.py", "7") is BLOCK


def test_a_call_after_a_long_pause_is_a_new_attempt(sitting: Sitting) -> None:
    said = []
    for _ in range(5):
        said.append(sitting.bash("git push", "could not resolve host", ok=False))
        sitting.now += 300
    assert said == [ALLOW] * 5


def test_cancelled_calls_say_nothing(sitting: Sitting) -> None:
    said = []
    for _ in range(6):
        sitting.ask("edit", {"path": "a", "old": "x", "new": "y"})
        said.append(sitting.end("<tool_use_error>Sibling tool call errored</tool_use_error>", ok=False))
        sitting.call("read", {"path": "a"}, f"{len(said)} lines")
    assert said == [ALLOW] * 6


def test_pages_may_be_turned(sitting: Sitting) -> None:
    months = ["June", "July", "August", "September", "October", "November"]
    said = [sitting.call("click", {"name": "Next month"}, f"success; calendar shows {m}") for m in months]
    assert said == [ALLOW] * 6


def test_a_click_whose_answer_says_nothing_has_more_patience(sitting: Sitting) -> None:
    assert [sitting.call("click", {"name": "Next"}, "success") for _ in range(6)] == [ALLOW] * 5 + [BLOCK]


# --- neither equal nor new -------------------------------------------------------------------


def test_a_counter_in_the_answer_of_a_read_is_a_nudge_then_a_block(sitting: Sitting) -> None:
    said = [
        sitting.call("read_file", {"path": "a"}, f"mod a;\n(read {n} times this session)")
        for n in range(1, 6)
    ]
    assert said == [ALLOW, ALLOW, NUDGE, NOTE, BLOCK]


def test_ids_and_process_numbers_do_not_make_an_outcome_new(sitting: Sitting) -> None:
    outputs = [f"started (session {name}, pid {n})" for n, name in enumerate(("a-b", "c-d", "e-f"), 4_000)]
    assert [sitting.bash("./start.sh", output) for output in outputs] == [ALLOW, ALLOW, NUDGE]


def test_numbers_that_go_up_slowly_are_progress(sitting: Sitting) -> None:
    said = []
    for n in range(1, 8):
        sitting.ask("execute_command", {"command": "./import.sh --resume"})
        sitting.now += 25
        said.append(sitting.end(f"imported {n}000 of 7000"))
    assert said == [ALLOW] * 7


def test_word_for_word_the_same_text_before_the_same_call_is_a_nudge(sitting: Sitting) -> None:
    said = []
    for n in range(4):
        sitting.say("Now I will show the window again.")
        said.append(sitting.bash("python plot.py", f"{'ab' * n} figure {'x' * n}"))
    assert said == [ALLOW, ALLOW, ALLOW, NUDGE]


def test_per_tool_thresholds_and_ignored_tools_hold_here_too() -> None:
    sitting = Sitting("balanced", "calls.tool_thresholds.bash=4", "calls.ignore_tools=probe")
    assert [sitting.bash("a", "x") for _ in range(4)] == [ALLOW, ALLOW, ALLOW, BLOCK]
    assert [sitting.call("probe", {}, "x") for _ in range(20)] == [ALLOW] * 20


@pytest.mark.parametrize("limit", [2, 5, 50, 300])
def test_any_threshold_is_kept_exactly(limit: int) -> None:
    sitting = Sitting("balanced", f"calls.repeat_threshold={limit}", "rules.no-novelty=off")
    said = [sitting.bash("python x.py", "7") for _ in range(limit)]
    assert said.index(BLOCK) == limit - 1
    assert sitting.findings[-1].count == limit


def test_after_a_recovery_the_blocked_call_is_still_known(sitting: Sitting) -> None:
    for _ in range(3):
        sitting.bash("python x.py", "7")
    sitting.panel.resumed(sitting.now)
    assert sitting.call("read", {"path": "x.py"}, "print(7)") is ALLOW
    assert sitting.bash("python x.py", "7") is BLOCK


def test_a_granted_cycle_is_a_fresh_one_among_other_short_commands(sitting: Sitting) -> None:
    """Commands that write and say nothing are not each other's variations for a letter's sake."""
    for name in "aaabbbc":
        sitting.bash(f"echo ran >> {name}")
    sitting.decide("continue", "bash", '{"command":"echo ran >> a"}')
    assert [sitting.bash("echo ran >> a") for _ in range(3)] == [ALLOW, ALLOW, BLOCK]
    assert sitting.rules() == {"repeat-call"}
