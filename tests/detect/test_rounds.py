"""Preset ``balanced``: cycles, frequency, errors, variations, waiting, novelty, delegation."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from loopguard_cli.core.findings import Action

from .sitting import ABORT, ALLOW, BLOCK, NUDGE, Sitting


@pytest.fixture
def sitting() -> Sitting:
    return Sitting()


def first(said: Sequence[Action], what: Action) -> int:
    """Which call (from 1) brought ``what``; 0 if none did."""
    return said.index(what) + 1 if what in said else 0


# --- cycles ----------------------------------------------------------------------------------


@pytest.mark.parametrize("length", range(2, 9))
def test_three_rounds_of_any_length_up_to_eight_with_equal_outcomes(sitting: Sitting, length: int) -> None:
    said = [sitting.call("look", {"at": n % length}, f"sees {n % length}") for n in range(3 * length)]
    assert first(said, BLOCK) == 3 * length
    assert {finding.facts["length"] for finding in sitting.findings if finding.rule == "call-cycle"} == {
        length
    }


def test_a_cycle_whose_outcomes_change_is_progress(sitting: Sitting) -> None:
    said = [sitting.call("look", {"at": n % 2}, f"sees {'x' * n}") for n in range(12)]
    assert BLOCK not in said
    assert "call-cycle" not in sitting.rules()


def test_edits_that_undo_each_other_go_round(sitting: Sitting) -> None:
    said = [sitting.call("edit", {"file": "a", "to": n % 2}, f"changed to {n % 2}") for n in range(6)]
    assert first(said, BLOCK) == 6


def test_a_round_is_the_same_loop_wherever_it_is_entered() -> None:
    identities = set()
    for start in range(3):
        sitting = Sitting()
        for n in range(start, start + 9):
            sitting.call("look", {"at": n % 3}, f"sees {n % 3}")
        identities |= {finding.identity for finding in sitting.findings if finding.rule == "call-cycle"}
    assert len(identities) == 1


def test_a_batch_sent_again_goes_round(sitting: Sitting) -> None:
    commands = {"npm run typecheck": "failed: TS2345", "npm run lint": "clean", "npm test": "12 passed"}
    said = []
    for batch in range(3):
        for command in commands:
            sitting.now += 0.2
            said.append(sitting.ask("bash", {"command": command}, call=f"{command}/{batch}"))
        for command, output in commands.items():
            sitting.now += 0.5
            sitting.end(output, call=f"{command}/{batch}")
    assert said == [ALLOW] * 8 + [BLOCK]


def test_a_failing_call_with_other_arguments_goes_round_by_its_error(sitting: Sitting) -> None:
    said = []
    for n in range(5):
        said.append(sitting.call("read", {"path": "a.tsx"}, "<TextField />"))
        block = "<TextField\n" * (n + 1)
        said.append(
            sitting.call("replace", {"path": "a.tsx", "search": block}, f"{block} does not match", ok=False)
        )
    assert first(said, NUDGE) == 6
    assert first(said, BLOCK) == 8


def test_a_round_with_other_calls_strewn_in_is_a_nudge(sitting: Sitting) -> None:
    said = []
    for n in range(24):
        said.append(sitting.call("look", {"at": n % 6}, f"sees {n % 6}"))
        if n % 3 == 0:
            said.append(sitting.call("read", {"path": f"{n}"}, f"text {n}"))
    assert first(said, NUDGE)
    assert {finding.rule for finding in sitting.findings} == {"call-cycle"}
    assert sitting.findings[0].facts["noise"] > 0


def test_after_a_recovery_one_round_must_be_gone_through_anew(sitting: Sitting) -> None:
    for n in range(6):
        sitting.call("look", {"at": n % 2}, f"sees {n % 2}")
    sitting.panel.resumed(sitting.now)
    before = len(sitting.findings)
    assert sitting.call("look", {"at": 0}, "sees 0") is ALLOW
    assert len(sitting.findings) == before
    assert sitting.call("look", {"at": 1}, "sees 1") is BLOCK


# --- frequency -------------------------------------------------------------------------------


def test_reading_the_same_between_other_reads_is_a_nudge_then_a_block(sitting: Sitting) -> None:
    said = []
    for n in range(5):
        said.append(sitting.call("read", {"path": "a", "offset": 0}, "lines 0-200"))
        sitting.call("read", {"path": "a", "offset": 200 * (n + 1)}, f"lines {'x' * n}")
    assert said == [ALLOW, ALLOW, ALLOW, NUDGE, BLOCK]
    assert sitting.rules() == {"call-frequency"}


def test_looking_something_up_before_each_piece_of_work_is_fine(sitting: Sitting) -> None:
    said = []
    for n in range(8):
        said.append(sitting.call("recall", {"query": "naming"}, "snake_case"))
        sitting.call("write", {"path": f"{n}.py", "content": "x"}, "created")
    assert said == [ALLOW] * 8


# --- errors ----------------------------------------------------------------------------------


def test_one_error_from_varying_calls_is_a_nudge_then_an_abort(sitting: Sitting) -> None:
    said = [
        sitting.call("unknown", {"path": f"{name}.ts"}, "Model tried to call unavailable tool", ok=False)
        for name in ("one", "two", "three", "four", "five")
    ]
    assert said == [ALLOW, ALLOW, ALLOW, NUDGE, ABORT]
    assert sitting.rules() == {"repeat-error"}


def test_one_tool_failing_alike_nine_times_in_a_row_is_cut_off(sitting: Sitting) -> None:
    said = [
        sitting.call("click", {"ref": f"e{n}"}, f"reference e{n} is not on this page", ok=False)
        for n in range(9)
    ]
    assert said[3] is NUDGE
    assert ABORT not in said[:8]
    assert said[8] is ABORT


def test_errors_of_one_batch_count_once(sitting: Sitting) -> None:
    said = []
    for n in range(6):
        sitting.now += 0.4
        sitting.ask("bash", {"command": f"gh pr diff -- {'abcdef'[n]}.go"})
        said.append(sitting.end("accepts at most 1 argument, received 2", ok=False))
    assert said == [ALLOW] * 6


def test_an_error_that_says_nothing_is_not_the_same_error(sitting: Sitting) -> None:
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    assert [sitting.bash(f"grep {word} src", "exit 1", ok=False) for word in words] == [ALLOW] * 6


# --- variations ------------------------------------------------------------------------------


def test_another_range_and_always_the_same_answer(sitting: Sitting) -> None:
    said = [
        sitting.call("read_file", {"path": "big.ts", "offset": 50 * n}, "Showing lines 1-100 of 611")
        for n in range(7)
    ]
    assert first(said, NUDGE) == 5
    assert first(said, BLOCK) == 7


def test_the_parts_of_a_command_in_another_order(sitting: Sitting) -> None:
    orders = ["a|bb|cc|dd", "bb|a|cc|dd", "dd|cc|bb|a", "cc|a|dd|bb", "bb|cc|dd|a"]
    said = [sitting.call("grep", {"pattern": order}, "client.rs:88: let attempt") for order in orders]
    assert first(said, NUDGE) == 5


def test_paging_through_a_file_is_work(sitting: Sitting) -> None:
    said = [
        sitting.call("read_file", {"path": "a", "start": 40 * n}, f"{40 * n}: row {'abcdefghijkl'[n]}")
        for n in range(12)
    ]
    assert said == [ALLOW] * 12


def test_different_searches_with_one_answer_are_research(sitting: Sitting) -> None:
    queries = ["404 causes", "nginx alias", "soft gone", "permission denied", "react router", "cdn rules"]
    answer = "Results: Error 404 Not Found explained; Permission denied fixes"
    assert [sitting.call("web_search", {"query": query}, answer) for query in queries] == [ALLOW] * 6


def test_many_edits_with_one_answer_are_a_batch(sitting: Sitting) -> None:
    said = [
        sitting.call("replace", {"old": f'_("m{n}")', "new": f't("m{n}")'}, "1 replacement")
        for n in range(15)
    ]
    assert said == [ALLOW] * 15


def test_commands_that_do_nothing_coming_back(sitting: Sitting) -> None:
    commands = ["cat /dev/null", "cat /dev/null", "true", 'echo ""', "true", "cat /dev/null"]
    assert first([sitting.bash(command) for command in commands], NUDGE) == 5


def test_a_command_glued_to_itself(sitting: Sitting) -> None:
    piece = 'python3 -c "import m; print(m.check())"'
    said = [sitting.bash("; ".join([piece] * n), "False\n" * n) for n in range(1, 7)]
    assert first(said, NUDGE) == 4
    assert "growing-call" in sitting.rules()
    assert max(said) >= BLOCK


# --- waiting ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "args", "answer"),
    [
        ("bash", {"command": "sleep 180 && deployctl state web"}, "rolling out"),
        ("process", {"action": "poll", "sessionId": "k1"}, "still running"),
        ("task_list", {}, "a: doing, b: todo"),
        ("CheckStatus", {}, "job 12: queued"),
        ("bash", {"command": "gh run view 88"}, "in_progress"),
        ("get_answer", {"id": 7}, "still processing"),
    ],
)
def test_unchanged_polls_are_waiting_for_a_while(
    sitting: Sitting, tool: str, args: dict[str, object], answer: str
) -> None:
    said = []
    for _ in range(8):
        sitting.now += 20
        said.append(sitting.call(tool, args, answer))
    assert said == [ALLOW] * 8


def test_hurried_polls_are_a_nudge_then_refused(sitting: Sitting) -> None:
    said = [sitting.call("process", {"action": "log"}, "(no new output) still running") for _ in range(20)]
    assert first(said, NUDGE) == 10
    assert first(said, BLOCK) == 20


def test_asking_at_once_again_how_things_stand_is_not_waiting(sitting: Sitting) -> None:
    """The smoke test of the infinity guard: nothing is under way, and no time was let pass."""
    said = [sitting.call("telegram_status", {}, "not connected") for _ in range(3)]
    assert said == [ALLOW, ALLOW, BLOCK]


def test_asking_again_after_a_while_is_waiting(sitting: Sitting) -> None:
    said = []
    for _ in range(4):
        sitting.now += 5
        said.append(sitting.call("telegram_status", {}, "not connected"))
    assert said == [ALLOW] * 4


def test_growing_pauses_are_never_a_loop(sitting: Sitting) -> None:
    said = []
    for n in range(30):
        sitting.now += 3 * 1.2**n
        said.append(sitting.call("process", {"action": "poll"}, "still running"))
    assert set(said) == {ALLOW}


def test_news_from_another_call_begins_the_wait_anew(sitting: Sitting) -> None:
    said = []
    for n in range(30):
        said.append(sitting.call("wait", {"seconds": 3}, "waited"))
        if n % 5 == 0:
            sitting.call("scroll", {"down": True}, f"items {n}")
    assert set(said) == {ALLOW}


# --- the long view ---------------------------------------------------------------------------


def test_thirty_calls_without_anything_new_are_a_nudge(sitting: Sitting) -> None:
    orders = [0, 3, 1, 5, 2, 4, 6, 1, 0, 4, 2, 3, 6, 5, 0, 2, 6, 1, 4, 3, 5]
    said = []
    for n in range(60):
        at = orders[(n * n + n // 7) % len(orders)]
        said.append(sitting.call("think_aloud", {"at": at}, f"thought {at}"))
    assert NUDGE in said
    assert "no-novelty" in sitting.rules()


def test_eight_fruitless_changes_are_a_nudge(sitting: Sitting) -> None:
    said = []
    for n in range(9):
        sitting.call("edit", {"path": "a", "to": f"try {'x' * n}"}, "ok")
        said.append(sitting.bash("make test", "1 failed: test_a", ok=False))
    assert first(said, NUDGE) == 8
    assert sitting.rules() == {"fruitless-edits"}


def test_changes_that_pass_may_go_on_for_ever(sitting: Sitting) -> None:
    said = []
    for n in range(30):
        sitting.call("edit", {"path": f"{n}.tsx", "to": "x"}, "ok")
        said.append(sitting.bash("npm run lint", "no problems"))
    assert set(said) == {ALLOW}


def test_the_same_task_for_a_sub_agent_again_and_again(sitting: Sitting) -> None:
    said = [
        sitting.call("task", {"prompt": "find the bug in parse.rs"}, f"report {'in other words ' * n}")
        for n in range(4)
    ]
    assert said == [ALLOW, ALLOW, NUDGE, BLOCK]


def test_different_tasks_fanned_out_are_work(sitting: Sitting) -> None:
    names = ["parser", "lexer", "driver", "cache", "router", "store"]
    assert [sitting.call("task", {"prompt": f"review the {name}"}, "fine") for name in names] == [ALLOW] * 6
