"""Preset ``pi``: its behaviour, one test per promise."""

from __future__ import annotations

import pytest

from loopguard_cli.core.events import SessionGone
from loopguard_cli.core.findings import Action
from loopguard_cli.core.settings import Mode

from .sitting import ABORT, ALLOW, WARN, S, Sitting


@pytest.fixture
def sitting() -> Sitting:
    return Sitting("pi")


def test_three_equal_calls_in_a_row_are_blocked_and_the_run_aborted(sitting: Sitting) -> None:
    assert [sitting.bash("a") for _ in range(3)] == [ALLOW, ALLOW, ABORT]
    assert sitting.rules() == {"consecutive-call"}


def test_another_call_between_breaks_the_row(sitting: Sitting) -> None:
    assert [sitting.bash(command) for command in "aaba"] == [ALLOW] * 4


def test_calls_are_compared_by_tool_and_arguments(sitting: Sitting) -> None:
    said = [sitting.call("read", {"path": path}) for path in ("a.ts", "b.ts", "c.ts", "d.ts")]
    assert said == [ALLOW] * 4


def test_outcomes_do_not_matter(sitting: Sitting) -> None:
    assert [sitting.bash("a", output=str(n)) for n in range(3)][-1] is ABORT


def test_a_b_three_times_is_a_cycle(sitting: Sitting) -> None:
    said = [sitting.bash(command) for command in "ababab"]
    assert said == [ALLOW] * 5 + [ABORT]
    assert sitting.rules() == {"call-cycle"}
    assert sitting.findings[0].facts["length"] == 2


def test_a_b_c_three_times_is_a_cycle(sitting: Sitting) -> None:
    assert [sitting.bash(command) for command in "abcabcabc"] == [ALLOW] * 8 + [ABORT]
    assert sitting.findings[0].facts["length"] == 3


def test_longer_cycles_are_left_alone(sitting: Sitting) -> None:
    # Each call comes three times within any ten, so the frequency rule is silent too.
    assert [sitting.bash(command) for command in "abcd" * 3] == [ALLOW] * 12


def test_four_in_a_ten_call_window_are_too_many(sitting: Sitting) -> None:
    said = [sitting.bash(command) for command in "axaybaczda"[:8] + "a"]
    assert said[-1] is ABORT
    assert sitting.rules() == {"call-frequency"}


def test_calls_beyond_the_window_do_not_count(sitting: Sitting) -> None:
    said = [sitting.bash(command) for command in "axya" + "bcdefg" + "a" + "hij" + "a"]
    assert said == [ALLOW] * len(said)


def test_the_same_error_three_times_in_a_row_aborts(sitting: Sitting) -> None:
    said = [sitting.bash(f"try {n}", "no such host", ok=False) for n in range(3)]
    assert said == [ALLOW, ALLOW, ABORT]
    assert sitting.rules() == {"repeat-error"}


def test_any_success_clears_the_errors(sitting: Sitting) -> None:
    said = [sitting.bash(f"try {n}", "no such host", ok=n == 2) for n in range(5)]
    assert said == [ALLOW] * 5


def test_another_error_begins_anew(sitting: Sitting) -> None:
    errors = ["no such host", "no such host", "timed out", "no such host", "no such host"]
    assert [sitting.bash(f"try {n}", text, ok=False) for n, text in enumerate(errors)] == [ALLOW] * 5


@pytest.mark.parametrize(
    "errors",
    [
        ["exit 1", "exit 22", "exit 303"],
        ["id 0b8f4e0e-1f7a-4b8e-9a55-0d6f3a1c2b4d", "id 11111111-2222-3333-4444-555555555555"] * 2,
        ["at 2026-01-02T03:04:05Z", "at 2027-11-12T13:14:15.678Z", "at 2026-01-02 03:04:05"],
        ["segfault at 0x7ffe0012", "segfault at 0xdeadbeef00", "segfault at 0x1234"],
    ],
)
def test_numbers_uuids_timestamps_and_pointers_share_an_error_key(
    sitting: Sitting, errors: list[str]
) -> None:
    assert [sitting.bash(f"try {n}", text, ok=False) for n, text in enumerate(errors[:3])][-1] is ABORT


def test_more_than_twelve_turns_warn_once_and_stop_nothing(sitting: Sitting) -> None:
    sitting.person()
    said = [sitting.step() for _ in range(20)]
    assert said == [ALLOW] * 12 + [WARN] + [ALLOW] * 7


def test_more_than_180_seconds_warn_once_and_stop_nothing(sitting: Sitting) -> None:
    sitting.person()
    assert sitting.panel.deadline() == 180.0
    assert list(sitting.panel.tick(179.9)) == []
    (finding,) = sitting.panel.tick(180.0)
    assert (finding.rule, finding.proposes) == ("pace-time", Action.WARN)
    assert sitting.panel.deadline() is None
    assert list(sitting.panel.tick(1_000.0)) == []


def test_a_new_run_has_its_own_turns_and_time(sitting: Sitting) -> None:
    sitting.person()
    for _ in range(10):
        sitting.step()
    sitting.idle()
    assert sitting.panel.deadline() is None
    sitting.now = 1_000.0
    sitting.person()
    assert sitting.panel.deadline() == 1_180.0
    assert [sitting.step() for _ in range(12)] == [ALLOW] * 12


def test_counters_are_cleared_when_the_agent_has_settled(sitting: Sitting) -> None:
    sitting.bash("a")
    sitting.bash("a")
    sitting.idle()
    assert sitting.bash("a") is ALLOW


def test_observe_reports_and_never_blocks() -> None:
    sitting = Sitting("pi", "mode=observe")
    assert [sitting.bash("a") for _ in range(4)] == [ALLOW, ALLOW, WARN, WARN]


def test_off_does_nothing() -> None:
    sitting = Sitting("pi", "mode=off")
    assert sitting.settings.mode is Mode.OFF
    assert [sitting.bash("a") for _ in range(9)] == [ALLOW] * 9


def test_ignored_tools_are_not_counted() -> None:
    sitting = Sitting("pi", "calls.ignore_tools=sleep,wait")
    assert [sitting.call("sleep", {"seconds": 1}) for _ in range(9)] == [ALLOW] * 9


def test_a_tool_can_have_its_own_threshold() -> None:
    sitting = Sitting("pi", "calls.tool_thresholds.bash=2")
    assert [sitting.bash("a") for _ in range(2)] == [ALLOW, ABORT]
    assert [sitting.call("read", {"path": "a"}) for _ in range(2)] == [ALLOW, ALLOW]


@pytest.mark.parametrize(
    ("option", "calls", "fires_at"),
    [
        ("calls.consecutive_threshold=2", "aa", 2),
        ("calls.consecutive_threshold=4", "aaaa", 4),
        ("calls.cycle_repeats=2", "abab", 4),
        ("calls.frequency_threshold=3", "axaya", 5),
        ("calls.max_cycle_length=4", "abcd" * 3, 12),
    ],
)
def test_thresholds_can_be_set(option: str, calls: str, fires_at: int) -> None:
    sitting = Sitting("pi", option)
    said = [sitting.bash(command) for command in calls]
    assert said.index(ABORT) + 1 == fires_at


def test_reset_clears_the_run(sitting: Sitting) -> None:
    sitting.bash("a")
    sitting.bash("a")
    sitting.panel.reset()
    assert sitting.bash("a") is ALLOW


def test_long_but_productive_runs_are_never_interrupted(sitting: Sitting) -> None:
    said = {sitting.bash(f"step {n}", output=f"done {n}") for n in range(500)}
    assert said == {ALLOW}


def test_a_tool_may_be_allowed_more_than_others() -> None:
    sitting = Sitting("pi", "calls.tool_thresholds.read=5")
    assert [sitting.call("read", {"path": "a"}) for _ in range(5)] == [ALLOW] * 3 + [ABORT, ABORT]
    assert sitting.rules() == {"call-frequency", "consecutive-call"}


def test_a_stricter_setup_for_errors() -> None:
    sitting = Sitting("pi", "calls.error_threshold=2")
    assert [sitting.bash(f"try {n}", "no such host", ok=False) for n in range(2)] == [ALLOW, ABORT]


def test_errors_of_different_tools_share_a_row(sitting: Sitting) -> None:
    said = [sitting.call(tool, {"x": 1}, "no such host", ok=False) for tool in ("fetch", "bash", "search")]
    assert said[-1] is ABORT


def test_what_only_reads_like_a_failure_is_none(sitting: Sitting) -> None:
    said = [sitting.bash(f"try {n}", "Error: no such host", ok=True) for n in range(6)]
    assert said == [ALLOW] * 6


def test_counters_are_cleared_when_the_session_ends(sitting: Sitting) -> None:
    sitting.bash("a")
    sitting.bash("a")
    sitting.feed(SessionGone(session=S))
    assert sitting.bash("a") is ALLOW


def test_a_hard_stop_refuses_the_call_and_ends_the_run_without_continuing(sitting: Sitting) -> None:
    for _ in range(3):
        sitting.bash("a")
    assert sitting.verdicts[-1].action is ABORT
    assert not sitting.settings.recovery.enabled


def test_other_presets_have_no_soft_limits_unless_given() -> None:
    sitting = Sitting("balanced")
    sitting.person()
    assert {sitting.step() for _ in range(40)} == {ALLOW}
    assert sitting.panel.deadline() is None
