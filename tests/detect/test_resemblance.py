"""Preset ``balanced``: what is the same call, the same failure and the same wait, and what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from loopguard_cli.core.findings import Action

from .sitting import ALLOW, BLOCK, NOTE, NUDGE, Sitting


@pytest.fixture
def sitting() -> Sitting:
    return Sitting()


Call = Callable[[Sitting, int], Action]


def said(sitting: Sitting, calls: Iterable[int], call: Call) -> list[Action]:
    return [call(sitting, n) for n in calls]


# --- one question, put in varying words ------------------------------------------------------

VARIATIONS: dict[str, Call] = {
    "a counter": lambda s, n: s.call("look_up", {"attempt": n, "name": "web"}, "nothing"),
    "a request's id": lambda s, n: s.call("find_reports", {"requestId": f"{n}f-{n}a", "kind": "x"}, "none"),
    "a reason": lambda s, n: s.call("read", {"path": "a", "reason": "because" + "x" * n}, "text"),
    "a moment": lambda s, n: s.bash(f"./report --at 2026-03-01T10:0{n}:00Z", "0 rows"),
    "a range": lambda s, n: s.call("read", {"path": "a", "view_range": [n, n + 40]}, "the first lines"),
    "a limit of a command": lambda s, n: s.bash(f"head -n {50 * n} run.log", "run failed"),
    "a retry's number": lambda s, n: s.call("look_up", {"what": f"attempt {n}: who calls main"}, "nobody"),
    "an address no cache knows": lambda s, n: s.call("fetch", {"url": f"https://a.io/x?q=1&_={n}7"}, "403"),
    "a retry in an address": lambda s, n: s.call("fetch", {"url": f"https://a.io/x?retry={n}"}, "403"),
    "saying something": lambda s, n: s.bash(f"echo going to write part {n}", f"going to write part {n}"),
    "doing nothing": lambda s, n: s.bash(("true", ":", "cat /dev/null | cat", "echo", "pwd")[n % 5]),
}


@pytest.mark.parametrize("kind", VARIATIONS)
def test_the_fifth_variation_of_one_call_with_one_answer_is_a_nudge(sitting: Sitting, kind: str) -> None:
    actions = said(sitting, range(1, 9), VARIATIONS[kind])
    assert actions[:5] == [ALLOW] * 4 + [NUDGE]
    assert max(actions) >= BLOCK
    assert sitting.rules() == {"same-outcome"}


OTHER_THINGS: dict[str, Call] = {
    "orders": lambda s, n: s.call("get_order", {"order_id": f"#{n}"}, '{"status": "delivered"}'),
    "pull requests": lambda s, n: s.bash(f"gh pr merge {n} --squash", "merged"),
    "repositories": lambda s, n: s.bash(f"cd repos/r{n} && git pull", "Already up to date."),
    "days": lambda s, n: s.call("search_flight", {"from": "OSL", "date": f"2026-05-1{n}"}, "[]"),
    "files": lambda s, n: s.call("read", {"path": f"shard_{n}.json"}, '{"rows": []}'),
    "random seeds": lambda s, n: s.bash(f"pytest -q --seed {n}", "40 passed"),
    "tasks of sub-agents": lambda s, n: s.call("task", {"prompt": f"Review chapter {n}"}, "fine"),
}


@pytest.mark.parametrize("kind", OTHER_THINGS)
def test_numbers_may_name_other_things(sitting: Sitting, kind: str) -> None:
    assert set(said(sitting, range(9), OTHER_THINGS[kind])) == {ALLOW}


def test_a_question_in_other_words_is_asked_in_vain(sitting: Sitting) -> None:
    queries = [
        "send mail tool", "tool email send", "mail action send", "email tool send action",
        "send action mail", "tool mail email", "email action", "send email mail tool",
    ]  # fmt: skip
    actions = [sitting.call("search_tools", {"query": query}, "No tools.") for query in queries]
    assert NUDGE in actions


def test_searches_for_other_things_are_not_one_question(sitting: Sitting) -> None:
    names = ("load_rows", "open_page", "Limit", "parse", "TokenBucket", "merge_all", "flush", "owner")
    assert {sitting.call("grep", {"pattern": name, "path": "src"}, "No matches") for name in names} == {ALLOW}


def test_two_calls_in_turn_with_another_reason_each_time_go_round(sitting: Sitting) -> None:
    actions = []
    for n in range(4):
        actions.append(sitting.call("read", {"path": "a", "reason": f"r{n}"}, "empty"))
        actions.append(sitting.call("grep", {"pattern": "x", "reason": f"s{n}"}, "No matches"))
    assert actions[5] is NUDGE
    assert sitting.rules() == {"call-cycle"}


def test_agents_that_hand_a_task_to_and_fro(sitting: Sitting) -> None:
    actions = []
    for n in range(4):
        for agent in ("planner", "coder"):
            args = {"agent": agent, "reason": f"needs {'more ' * n}"}
            actions.append(sitting.call("handoff_to_agent", args, f"{agent} says {'well ' * n}"))
    assert NUDGE in actions


def test_thoughts_between_are_no_part_of_a_round(sitting: Sitting) -> None:
    actions = []
    for n in range(3):
        actions.append(sitting.call("book", {"seat": 4}, "Error: it does not add up", ok=False))
        actions.append(sitting.call("think", {"thought": f"Because of {n}"}))
    assert "call-cycle" not in sitting.rules()


# --- failures --------------------------------------------------------------------------------

FAILURES: dict[str, Call] = {
    "an edit that misses": lambda s, n: s.call(
        "edit", {"path": "a", "old": f"{n}x"}, "Text not found in file."
    ),
    "a status at the end": lambda s, n: s.bash(f"docker ps {'-a ' * n}", "daemon is down\n[exit code 1]"),
    "a status at the head": lambda s, n: s.bash(f"docker info {'-f ' * n}", "Exit code: 2\ndaemon is down"),
    "its first word": lambda s, n: s.call("grep", {"pattern": "(" + "a" * n}, "Error: unclosed group"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_that_only_the_answer_tells_counts(sitting: Sitting, kind: str) -> None:
    actions = said(sitting, range(6), FAILURES[kind])
    assert NUDGE in actions
    assert "repeat-error" in sitting.rules()


def test_what_is_printed_about_errors_is_no_failure(sitting: Sitting) -> None:
    texts = ("Error 404 explained", "pages about exit code 1 and others")
    for n in range(12):
        assert (
            sitting.call("web_search", {"query": f"{'not found ' * n}"}, f"Results: {texts[n % 2]}") is ALLOW
        )
        assert sitting.bash(f"cat errors.md page{n}", f"Error codes, page {'i' * n}") is ALLOW


def test_a_tool_that_does_not_exist_under_ever_new_names(sitting: Sitting) -> None:
    names = ("web_serach", "websearch_tool", "internet_search", "search_online", "web_find")
    actions = [
        sitting.call(name, {"q": "x" * at}, f"There is no tool named '{name}'.", ok=False)
        for at, name in enumerate(names)
    ]
    assert NUDGE in actions


# --- other worlds ----------------------------------------------------------------------------


def test_a_step_with_another_outcome_makes_an_equal_check_new(sitting: Sitting) -> None:
    actions = []
    for n in range(8):
        actions.append(sitting.bash("make test", "FAIL"))
        actions.append(sitting.bash("git bisect bad", f"revisions left: {'x' * n}"))
    assert set(actions) == {ALLOW}


def test_pictures_between_clicks_may_look_alike_in_text(sitting: Sitting) -> None:
    actions = []
    for n in range(9):
        actions.append(sitting.call("browser_click", {"ref": f"e{n}"}, "clicked"))
        actions.append(sitting.call("browser_take_screenshot", {}, "Took a screenshot."))
    assert set(actions) == {ALLOW}


@pytest.mark.parametrize("command", ["cd /repo/web", "date"])
def test_asides_may_come_back(sitting: Sitting, command: str) -> None:
    actions = []
    for n in range(8):
        actions.append(sitting.bash(command, f"10:0{n}:00" if command == "date" else ""))
        actions.append(sitting.call("read", {"path": f"f{n}"}, f"text {'x' * n}"))
    assert set(actions) == {ALLOW}


def test_a_call_that_answers_now_so_now_so_is_no_round(sitting: Sitting) -> None:
    actions = [sitting.bash("go test ./...", "ok" if n % 2 else "FAIL", ok=bool(n % 2)) for n in range(8)]
    assert set(actions) == {ALLOW}


def test_one_task_for_several_sub_agents_at_once(sitting: Sitting) -> None:
    names = [f"t{n}" for n in range(5)]
    assert {sitting.ask("task", {"prompt": "Propose a design"}, call=name) for name in names} == {ALLOW}


# --- waiting ---------------------------------------------------------------------------------


def test_trying_again_after_a_pause_is_waiting(sitting: Sitting) -> None:
    actions = []
    for pause in (2, 5, 15, 40, 60):
        actions.append(sitting.call("fetch", {"url": "u"}, "HTTP 429", ok=False))
        actions.append(sitting.bash(f"sleep {pause}"))
        sitting.now += pause
    assert set(actions) == {ALLOW}


def test_trying_again_after_equal_pauses_is_asked_about_late(sitting: Sitting) -> None:
    actions = []
    for _ in range(24):
        actions.append(sitting.call("fetch", {"url": "u"}, "HTTP 429", ok=False))
        actions.append(sitting.bash("sleep 2"))
    assert set(actions[:18]) == {ALLOW}
    assert max(actions) >= NUDGE


def test_nothing_typed_into_a_terminal_is_a_wait(sitting: Sitting) -> None:
    actions = [sitting.call("execute_bash", {"command": ""}, "(no new output)") for _ in range(9)]
    assert set(actions) == {ALLOW}


def test_polls_that_carry_an_id_of_their_own_are_polls_of_one_thing(sitting: Sitting) -> None:
    actions = [sitting.call("get_job", {"job": 7, "requestId": f"r{n}"}, "running") for n in range(25)]
    assert NUDGE in actions


# --- insertions ------------------------------------------------------------------------------


def test_the_same_line_added_again_and_again(sitting: Sitting) -> None:
    command = "echo 'x = 1' >> notes && cat notes"
    actions = [sitting.bash(command, "x = 1\n" * n) for n in range(1, 9)]
    assert actions[:4] == [ALLOW] * 3 + [NUDGE]
    assert set(actions[4:]) <= {NOTE, NUDGE, BLOCK}
    assert BLOCK in actions


def test_a_time_on_every_line_does_not_make_an_output_new(sitting: Sitting) -> None:
    lines = [f"service {n} is up" for n in range(90)]
    actions = [
        sitting.bash("docker logs web", "\n".join(f"2026-03-01T10:00:{n:02}Z {line}" for line in lines))
        for n in range(24)
    ]
    assert NUDGE in actions


def test_one_new_line_among_many_with_times_is_news(sitting: Sitting) -> None:
    actions = []
    for n in range(24):
        lines = [f"2026-03-01T10:00:{n:02}Z service {at} is up" for at in range(90)]
        lines[80] = f"2026-03-01T10:00:{n:02}Z request {'x' * n}"
        actions.append(sitting.bash("cat web.log", "\n".join(lines)))
    assert set(actions) == {ALLOW}


@pytest.mark.parametrize("tool", ["read_terminal", "BashOutput", "get_terminal_output", "mcp__ci__get_build"])
def test_looking_at_what_a_command_prints_is_a_wait(sitting: Sitting, tool: str) -> None:
    assert {sitting.call(tool, {"id": 3}, f"{n} of 60 done") for n in range(12)} == {ALLOW}


@pytest.mark.parametrize("tool", ["task_tracker", "TaskUpdate", "TaskCreate", "update_todos"])
def test_keeping_a_list_of_tasks_is_no_delegation(sitting: Sitting, tool: str) -> None:
    states = ("open", "doing", "done")
    actions = [
        sitting.call(tool, {"task": "Review", "state": state, "n": n}, "ok")
        for n, state in enumerate(states * 2)
    ]
    assert set(actions) == {ALLOW}


def test_commands_in_other_words_that_all_print_the_same(sitting: Sitting) -> None:
    usage = "usage: deploy [--env ENV]\n  --env ENV  where to deploy to"
    commands = ("deploy --help", "./deploy --help", "deploy help", "deploy --help 2>&1", "help deploy")
    again = ("deploy -h", "./deploy help", "deploy --help")
    assert NUDGE in [sitting.bash(command, usage) for command in (*commands, *again)]


def test_one_command_in_many_places_is_work(sitting: Sitting) -> None:
    names = ("api", "web", "jobs", "mail", "auth", "docs", "cli", "sdk", "ops")
    said = "All 14 checks passed and no problems were found."
    assert {sitting.bash(f"npm run lint --prefix packages/{name}", said) for name in names} == {ALLOW}


@pytest.mark.parametrize("tool", ["write_stdin", "functions.write_stdin", "send_input"])
def test_writing_nothing_to_a_running_program_asks_for_its_output(sitting: Sitting, tool: str) -> None:
    asked = {"session_id": 33, "chars": ""}
    for _ in range(8):
        assert sitting.call(tool, asked, "Process running with session ID 33") is ALLOW
        sitting.now += 10
    said = [sitting.call(tool, {"session_id": 33, "chars": "y\n"}, "y: not a choice") for _ in range(3)]
    assert said == [ALLOW, ALLOW, BLOCK]
