"""How near the rules are to their thresholds, for somebody who watches."""

from __future__ import annotations

import pytest

from tests.detect.sitting import Sitting


def gauges(sitting: Sitting) -> dict[str, tuple[float, float, str]]:
    found = sitting.panel.gauges(sitting.now)
    return {gauge.rule: (gauge.used, gauge.limit, gauge.tool) for gauge in found}


@pytest.mark.parametrize("preset", ["balanced", "infinity", "pi"])
def test_a_fresh_session_is_near_nothing(preset: str) -> None:
    assert gauges(Sitting(preset, "pace.turns=0", "pace.seconds=0")) == {}


def test_equal_calls_count_towards_the_refusal() -> None:
    for preset, rule in (
        ("balanced", "repeat-call"),
        ("infinity", "repeat-call"),
        ("pi", "consecutive-call"),
    ):
        sitting = Sitting(preset)
        sitting.bash("make", "3 failed")
        assert gauges(sitting)[rule] == (1, 3, "bash")
        sitting.bash("make", "3 failed")
        assert gauges(sitting)[rule] == (2, 3, "bash")


def test_a_threshold_of_the_tools_own_is_shown() -> None:
    sitting = Sitting("infinity", "calls.tool_thresholds.bash=7")
    sitting.bash("make")
    assert gauges(sitting)["repeat-call"] == (1, 7, "bash")


def test_a_changed_outcome_and_an_edit_begin_anew() -> None:
    sitting = Sitting()
    sitting.bash("make", "3 failed")
    sitting.bash("make", "something else entirely went wrong here")
    assert gauges(sitting)["repeat-call"][0] == 1
    sitting.call("edit", {"filePath": "a.py", "oldString": "a", "newString": "b"}, "ok")
    sitting.bash("make", "something else entirely went wrong here")
    assert gauges(sitting)["repeat-call"][0] == 1


def test_counts_of_the_window_expire() -> None:
    sitting = Sitting("infinity")
    sitting.bash("make")
    sitting.now += 61
    assert "repeat-call" not in gauges(sitting)


def test_errors_and_the_window_of_calls() -> None:
    sitting = Sitting("pi")
    for number in range(2):
        sitting.bash(f"cat {number}", "no such file or directory", ok=False)
    assert gauges(sitting)["repeat-error"] == (2, 3, "bash")
    assert gauges(sitting)["call-frequency"] == (1, 4, "bash")
    sitting.bash("ls", "fine")
    assert "repeat-error" not in gauges(sitting)


def test_repeated_sentences() -> None:
    sitting = Sitting("infinity")
    sitting.say("Let me look at the log of the build now. " * 2 + "And")
    assert gauges(sitting)["prose-block"] == (2, 3, "")
    assert gauges(sitting)["prose-irregular"] == (2, 18, "")


def test_pace() -> None:
    sitting = Sitting("balanced", "pace.turns=5", "pace.seconds=100")
    sitting.person("go")
    sitting.step()
    sitting.now += 30
    assert gauges(sitting) == {"pace-turns": (1, 5, ""), "pace-time": (30, 100, "")}


@pytest.mark.parametrize("preset", ["balanced", "infinity", "pi"])
def test_looking_changes_nothing(preset: str) -> None:
    watched, alone = Sitting(preset), Sitting(preset)
    for sitting in (watched, alone):
        for number in range(12):
            sitting.bash(["make", "ls", "make"][number % 3], "3 failed" if number % 4 else "ok")
            if sitting is watched:
                assert gauges(sitting) == gauges(sitting)
            sitting.say("Let me look at the log of the build now. ")
    assert watched.findings == alone.findings
    assert watched.findings
