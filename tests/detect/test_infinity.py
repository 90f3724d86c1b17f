"""Preset ``infinity``: the tool guard's behaviour, one test per promise."""

from __future__ import annotations

import pytest

from loopguard_cli.core.events import SessionGone

from .sitting import ABORT, ALLOW, BLOCK, S, Sitting


@pytest.fixture
def sitting() -> Sitting:
    return Sitting("infinity")


def test_first_and_second_matching_call_run_and_the_third_is_rejected(sitting: Sitting) -> None:
    assert [sitting.bash("make") for _ in range(3)] == [ALLOW, ALLOW, BLOCK]
    finding = sitting.verdicts[-1].finding
    assert finding is not None
    assert (finding.rule, finding.count, finding.tool) == ("repeat-call", 3, "bash")
    assert finding.facts == {"threshold": 3, "window_seconds": 60.0}
    assert len(finding.events) == 3


def test_only_the_matching_call_is_blocked(sitting: Sitting) -> None:
    for _ in range(3):
        sitting.bash("make")
    assert sitting.bash("make test") is ALLOW
    assert sitting.call("read", {"path": "a"}) is ALLOW


def test_a_a_a_b_b_b_c(sitting: Sitting) -> None:
    said = [sitting.bash(command) for command in "aaabbbc"]
    assert said == [ALLOW, ALLOW, BLOCK, ALLOW, ALLOW, BLOCK, ALLOW]


def test_other_calls_between_make_no_difference(sitting: Sitting) -> None:
    said = [sitting.bash(command) for command in ["a", "x", "a", "y", "a"]]
    assert said[-1] is BLOCK


def test_calls_count_whether_they_succeed_or_fail(sitting: Sitting) -> None:
    assert [sitting.bash("a", ok=ok) for ok in (True, False, True)][-1] is BLOCK


def test_results_do_not_matter(sitting: Sitting) -> None:
    assert [sitting.bash("a", output=str(n)) for n in range(3)][-1] is BLOCK


def test_different_calls_with_the_same_result_are_not_blocked_together(sitting: Sitting) -> None:
    assert [sitting.bash(f"echo {n}", output="same") for n in range(6)] == [ALLOW] * 6


def test_the_window_expires_old_counts(sitting: Sitting) -> None:
    sitting.bash("a")
    sitting.bash("a")
    sitting.now += 61
    assert sitting.bash("a") is ALLOW
    assert sitting.bash("a") is ALLOW
    assert sitting.bash("a") is BLOCK


def test_the_window_does_not_expire_an_established_block(sitting: Sitting) -> None:
    for _ in range(3):
        sitting.bash("a")
    sitting.now += 3_600
    assert sitting.bash("a") is BLOCK


def test_a_user_message_and_idle_do_not_lift_a_block(sitting: Sitting) -> None:
    for _ in range(3):
        sitting.bash("a")
    sitting.idle()
    sitting.person()
    assert sitting.bash("a") is BLOCK


def test_the_block_stays_however_much_else_is_done(sitting: Sitting) -> None:
    for _ in range(3):
        sitting.bash("a")
    for n in range(40):
        sitting.bash(f"other {n}")
    assert sitting.bash("a") is BLOCK


def test_json_key_order_does_not_bypass_matching(sitting: Sitting) -> None:
    sitting.call("fetch", {"url": "u", "how": {"a": 1, "b": 2}})
    sitting.call("fetch", {"how": {"b": 2, "a": 1}, "url": "u"})
    assert sitting.call("fetch", {"url": "u", "how": {"b": 2, "a": 1}}) is BLOCK


def test_a_new_description_or_timeout_does_not_bypass_matching(sitting: Sitting) -> None:
    sitting.call("bash", {"command": "make", "description": "Build"})
    sitting.call("bash", {"command": "make", "description": "Build again", "timeout": 9})
    assert sitting.call("bash", {"command": "make", "timeout": 10}) is BLOCK


def test_command_strings_are_preserved_exactly(sitting: Sitting) -> None:
    assert [sitting.bash(text) for text in ("make", "make ", " make", "make;")] == [ALLOW] * 4


def test_calls_in_flight_count_so_of_three_parallel_ones_the_third_is_refused(sitting: Sitting) -> None:
    assert [sitting.ask("bash", {"command": "make"}) for _ in range(3)] == [ALLOW, ALLOW, BLOCK]


def test_sessions_are_isolated() -> None:
    one, other = Sitting("infinity"), Sitting("infinity")
    for _ in range(3):
        one.bash("a")
    assert other.bash("a") is ALLOW


def test_threshold_and_window_can_be_set() -> None:
    sitting = Sitting("infinity", "calls.repeat_threshold=2", "calls.repeat_window_seconds=10")
    assert [sitting.bash("a"), sitting.bash("a")] == [ALLOW, BLOCK]
    sitting.bash("b")
    sitting.now += 11
    assert sitting.bash("b") is ALLOW


@pytest.mark.parametrize(
    "tool", ["loop_check", "loop_decide", "loopguard_loop_check", "mcp__lg__loop_decide"]
)
def test_the_guards_own_tools_are_exempt(sitting: Sitting, tool: str) -> None:
    assert [sitting.call(tool, {"x": 1}) for _ in range(5)] == [ALLOW] * 5


def test_a_tool_that_only_sounds_alike_is_counted(sitting: Sitting) -> None:
    assert [sitting.call("myloop_check") for _ in range(3)][-1] is BLOCK


def test_smoke_test_of_the_guard(sitting: Sitting) -> None:
    """A status tool three times, then another tool three times, each on its own count."""
    assert [sitting.call("telegram_status") for _ in range(3)] == [ALLOW, ALLOW, BLOCK]
    assert [sitting.call("weather", {"town": "Oslo"}) for _ in range(3)] == [ALLOW, ALLOW, BLOCK]


def test_a_refused_call_leaves_no_outcome_behind(sitting: Sitting) -> None:
    for _ in range(3):
        sitting.bash("a")
    views = sitting.panel.calls(sitting.now)
    assert [(view.ok, view.blocked, view.count) for view in views] == [(True, True, 3)] * 2


def test_the_rule_never_aborts(sitting: Sitting) -> None:
    for _ in range(20):
        sitting.bash("a")
    assert {(finding.proposes, finding.limit) for finding in sitting.findings} == {(BLOCK, BLOCK)}


def test_a_refused_call_asked_for_again_and_again_ends_the_turn(sitting: Sitting) -> None:
    """Ours, on top of the preset: eight times again, not a hundred."""
    said = [sitting.bash("a") for _ in range(12)]
    assert said == [ALLOW, ALLOW, *[BLOCK] * 9, ABORT]


def test_how_often_it_may_be_asked_for_again_can_be_set() -> None:
    sitting = Sitting("infinity", "calls.blocked_retries=100")
    assert {sitting.bash("a") for _ in range(100)} == {ALLOW, BLOCK}


def test_a_person_may_have_it_tried_again(sitting: Sitting) -> None:
    for _ in range(10):
        sitting.bash("a")
    sitting.person()
    assert [sitting.bash("a") for _ in range(9)] == [BLOCK] * 9


def test_a_block_ends_when_the_session_is_discarded(sitting: Sitting) -> None:
    for _ in range(3):
        sitting.bash("a")
    sitting.feed(SessionGone(session=S))
    assert sitting.bash("a") is ALLOW


def test_counters_are_not_reset_by_a_recovery(sitting: Sitting) -> None:
    sitting.bash("a")
    sitting.bash("a")
    sitting.panel.resumed(sitting.now)
    assert sitting.bash("a") is BLOCK


@pytest.mark.parametrize("tool", ["bash", "shell", "powershell"])
def test_for_each_shell_the_description_is_left_out(sitting: Sitting, tool: str) -> None:
    said = [sitting.call(tool, {"command": "make", "description": f"try {n}"}) for n in range(3)]
    assert said[-1] is BLOCK


def test_for_other_tools_a_description_makes_another_call(sitting: Sitting) -> None:
    said = [sitting.call("task", {"prompt": "p", "description": f"try {n}"}) for n in range(3)]
    assert said == [ALLOW] * 3


def test_a_call_that_is_already_running_is_not_cut_off(sitting: Sitting) -> None:
    for name in ("one", "two", "three"):
        sitting.ask("bash", {"command": "make"}, call=name)
    assert max(verdict.action for verdict in sitting.verdicts) is BLOCK
    assert sitting.end("done", call="one") is ALLOW


def test_without_the_stream_guard_calls_are_guarded_all_the_same() -> None:
    sitting = Sitting("infinity", "text.enabled=false")
    for _ in range(9):
        sitting.say("Let me check whether the containers started. ")
    assert sitting.findings == []
    assert [sitting.bash("a") for _ in range(3)] == [ALLOW, ALLOW, BLOCK]
