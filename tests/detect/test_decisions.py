"""``loop_check`` and ``loop_decide``, by the table of the infinity guard."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard_cli.core.settings import Locale
from loopguard_cli.core.wording.decisions import CATALOGUES

from .sitting import ALLOW, BLOCK, Sitting

A = '{"command": "a"}'


@pytest.fixture(params=["infinity", "balanced"])
def blocked(request: pytest.FixtureRequest) -> Sitting:
    """``a`` was refused."""
    sitting = Sitting(request.param)
    assert [sitting.bash("a") for _ in range(3)][-1] is BLOCK
    return sitting


def test_check_reports_count_and_block_of_one_call_only() -> None:
    sitting = Sitting("infinity")
    sitting.bash("a")
    answer = sitting.check("bash", A)
    assert (answer["ok"], answer["code"], answer["count"], answer["threshold"]) == (True, "clear", 1, 3)
    assert sitting.check("bash", '{"command": "b"}')["count"] == 0


def test_check_never_grants(blocked: Sitting) -> None:
    for _ in range(3):
        answer = blocked.check("bash", A)
        assert (answer["code"], answer["blocked"]) == ("blocked", True)
    assert blocked.bash("a") is BLOCK


def test_check_does_not_count() -> None:
    sitting = Sitting("infinity")
    for _ in range(5):
        sitting.check("bash", A)
    assert [sitting.bash("a"), sitting.bash("a")] == [ALLOW, ALLOW]


def test_continue_starts_a_fresh_cycle_the_third_of_which_is_blocked_again(blocked: Sitting) -> None:
    assert blocked.decide("continue", "bash", A)["ok"]
    assert blocked.check("bash", A)["granted"]
    assert [blocked.bash("a") for _ in range(3)] == [ALLOW, ALLOW, BLOCK]


def test_the_first_execution_after_continue_counts_as_one() -> None:
    sitting = Sitting("infinity")
    for _ in range(3):
        sitting.bash("a")
    sitting.decide("continue", "bash", A)
    sitting.bash("a")
    answer = sitting.check("bash", A)
    assert (answer["count"], answer["blocked"], answer["granted"]) == (1, False, False)


def test_the_old_block_is_cleared_only_by_the_next_execution(blocked: Sitting) -> None:
    blocked.decide("continue", "bash", A)
    assert blocked.check("bash", A)["blocked"]


def test_continue_leaves_other_keys_untouched() -> None:
    sitting = Sitting("infinity")
    for command in "aaabbb":
        sitting.bash(command)
    sitting.decide("continue", "bash", A)
    sitting.bash("a")
    assert sitting.bash("b") is BLOCK


def test_unrelated_calls_do_not_consume_the_authorisation(blocked: Sitting) -> None:
    blocked.decide("continue", "bash", A)
    blocked.bash("x")
    blocked.call("read", {"path": "y"})
    assert blocked.bash("a") is ALLOW


def test_continue_is_for_exactly_the_named_key(blocked: Sitting) -> None:
    blocked.decide("continue", "bash", '{"command": "a "}')
    assert blocked.bash("a") is BLOCK


def test_the_named_key_may_differ_in_key_order_and_description(blocked: Sitting) -> None:
    blocked.decide("continue", "bash", '{"description": "again", "command": "a"}')
    assert blocked.bash("a") is ALLOW


def test_change_must_not_be_an_attempted_call(blocked: Sitting) -> None:
    blocked.bash("tried")
    for command in ("a", "tried"):
        answer = blocked.decide("change", "bash", f'{{"command": "{command}"}}')
        assert (answer["ok"], answer["code"]) == (False, "not_new")


def test_change_records_and_resets_nothing(blocked: Sitting) -> None:
    answer = blocked.decide("change", "bash", '{"command": "new"}')
    assert (answer["ok"], answer["decision"]) == (True, "change")
    assert blocked.bash("a") is BLOCK
    assert blocked.bash("new") is ALLOW


def test_stop_revokes_an_unused_authorisation_and_leaves_the_block(blocked: Sitting) -> None:
    blocked.decide("continue", "bash", A)
    answer = blocked.decide("stop")
    assert answer["ok"]
    assert not blocked.check("bash", A)["granted"]
    assert blocked.bash("a") is BLOCK
    assert blocked.bash("other") is ALLOW


def test_stop_concerns_the_last_blocked_call_only() -> None:
    sitting = Sitting("infinity")
    for command in "aaabbb":
        sitting.bash(command)
    sitting.decide("continue", "bash", A)
    sitting.decide("stop")
    assert sitting.bash("a") is ALLOW
    assert sitting.bash("b") is BLOCK


@pytest.mark.parametrize("field", ["observedResult", "rationale", "expectedInformation"])
@pytest.mark.parametrize("value", [None, "", "nineteen characters", " " * 40, 20, "x" * 19 + "  "])
@pytest.mark.parametrize("decision", ["continue", "change", "stop"])
def test_each_explanation_needs_twenty_characters(field: str, value: Any, decision: str) -> None:
    sitting = Sitting("infinity")
    answer = sitting.decide(decision, "bash", A, **{field: value})
    assert (answer["ok"], answer["code"]) == (False, "too_short")
    assert field in answer["text"]


def test_twenty_characters_are_enough() -> None:
    fields = dict.fromkeys(("observedResult", "rationale", "expectedInformation"), "x" * 20)
    assert Sitting("infinity").decide("continue", "bash", A, **fields)["ok"]


@pytest.mark.parametrize("decision", ["", "retry", "Continue", None, 1, ["continue"]])
def test_only_three_decisions_exist(decision: Any) -> None:
    answer = Sitting("infinity").decide("continue", "bash", A, decision=decision)
    assert (answer["ok"], answer["code"]) == (False, "bad_decision")


@pytest.mark.parametrize("text", ["", "[]", "1", "{", "null", "{'a': 1}", None, {"command": "a"}, "\ud800"])
def test_arguments_must_be_a_json_object_in_a_string(text: Any) -> None:
    sitting = Sitting("infinity")
    assert sitting.decide("continue", "bash", argsJson=text)["code"] == "bad_args"
    assert sitting.panel.check({"toolName": "bash", "argsJson": text}, 0)["code"] == "bad_args"


@pytest.mark.parametrize("tool", ["", "  ", None, 7])
def test_the_tool_must_be_named_except_to_stop(tool: Any) -> None:
    sitting = Sitting("infinity")
    assert sitting.decide("continue", nextTool=tool)["code"] == "no_tool"
    assert sitting.decide("change", nextTool=tool)["code"] == "no_tool"
    assert sitting.decide("stop", nextTool=tool)["ok"]


def test_both_languages_answer_the_same_codes_with_the_same_facts() -> None:
    english, korean = CATALOGUES[Locale.EN], CATALOGUES[Locale.KO]
    facts = {"tool": "T", "count": 2, "threshold": 3, "field": "F", "minimum": 20}
    assert english.keys() == korean.keys()
    for code in english:
        assert ("{tool}" in english[code]) == ("{tool}" in korean[code])
        assert english[code].format(**facts) != korean[code].format(**facts)


def test_answers_come_in_the_locale_of_the_settings() -> None:
    sitting = Sitting("infinity", "locale=ko")
    assert "기록" in sitting.decide("continue", "bash", A)["text"]


def test_looking_and_deciding_change_nothing_that_lifts_a_block() -> None:
    sitting = Sitting("balanced")
    said = [sitting.bash("make", "failed", ok=False) for _ in range(3)]
    sitting.call("loop_check", {"toolName": "bash"}, "blocked")
    sitting.call("loop_decide", {"decision": "continue"}, "observedResult must be longer")
    sitting.call("mcp__loopguard__loop_decide", {"decision": "change"}, "noted")
    assert [*said, sitting.bash("make", "failed", ok=False)] == [ALLOW, ALLOW, BLOCK, BLOCK]


def test_deciding_breaks_no_row() -> None:
    sitting = Sitting("balanced")
    said = []
    for n in range(3):
        said.append(sitting.bash("make", "done"))
        sitting.call("loop_check", {"toolName": "bash", "argsJson": f"{n}"}, "1 of 3")
    assert said == [ALLOW, ALLOW, BLOCK]
