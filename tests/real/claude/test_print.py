"""Claude Code in print mode: loops, goals, the person's stop, and what it prints."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from tests.real.claude.world import (
    CUT_OFF,
    GOAL,
    TASK,
    ClaudeWorld,
    on_and_on,
    run,
    step,
)
from tests.real.test_goals import ACHIEVED, BLOCKED, CONTINUED, HANDED_OFF, answers, prompts

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Call, Fail, Reply, Say, Think, Turn, reply, say, turn

# --- loops --------------------------------------------------------------------------


@pytest.mark.story
def test_a_healthy_turn_passes_untouched(world: ClaudeWorld) -> None:
    world.model.behave([turn(reply(step("a")), reply(step("b")), reply(step("a")), say("All good."))])
    result = world.drive(stdin="It is urgent.\n")
    assert (result.code, result.out) == (0, "All good.\n"), result
    assert (world.count("a"), world.count("b")) == (2, 1)
    first, *others = world.model.chats()
    assert first.request.user == "Do the task.\nIt is urgent."
    assert len(others) == 3


@pytest.mark.story
def test_the_third_equal_call_is_not_executed_and_the_model_told_why(world: ClaudeWorld) -> None:
    calls = [reply(step("again"))] * 3
    world.model.behave([turn(*calls, reply(step("other")), say("Went another way."), match=TASK)])
    result = world.drive()
    assert (result.code, result.out) == (0, "Went another way.\n"), result
    assert (world.count("again"), world.count("other")) == (2, 1)
    assert "called 3 times with the same arguments" in world.model.chats()[3].request.results[-1]


@pytest.mark.story
def test_a_loop_of_prose_is_cut_off_while_it_streams_and_continued(world: ClaudeWorld) -> None:
    world.model.behave(
        [turn(on_and_on(), match=TASK), turn(reply(step("resumed")), say("It is built."), match=CUT_OFF)]
    )
    result = world.drive()
    assert (result.code, result.out) == (0, "It is built.\n"), result
    assert world.count("resumed") == 1
    assert [exchange.end for exchange in world.model.chats()][:2] == [End.CLIENT_CLOSED, End.COMPLETED]


def test_the_allowance_for_continuations_is_kept(world: ClaudeWorld) -> None:
    world.model.behave([turn(on_and_on())])
    result = world.drive()
    assert result.code == 80, result
    assert [exchange.end for exchange in world.model.chats()] == [End.CLIENT_CLOSED] * 3


def test_without_hooks_the_turn_is_aborted_before_the_call_runs_a_fourth_time(world: ClaudeWorld) -> None:
    world.model.behave(
        [turn(*[reply(step("again"))] * 9, match=TASK), turn(say("Stopped."), match="ANTI-LOOP")]
    )
    result = world.drive(agent=("--bare",))
    assert (result.code, result.out) == (0, "Stopped.\n"), result
    assert world.count("again") <= 3
    assert "no gate" in result.err


def test_without_hooks_a_hint_is_read_beside_the_next_result_and_begins_no_turn(world: ClaudeWorld) -> None:
    slow = run(str(world.script("build.sh", 'sleep 1; echo x >> "$TRACES/again"')))
    minds = turn(say("Went another way."), match="called 3 times")
    world.model.behave([minds, turn(*[reply(slow)] * 9, match=TASK)])
    weak = [f"guard.rules.{rule}=nudge" for rule in ("repeat-call", "consecutive-call", "call-frequency")]
    result = world.drive(*[word for rule in weak for word in ("--set", rule)], agent=("--bare",))
    assert (result.code, world.count("again")) == (0, 3), result
    *before, last = world.model.chats()
    assert last.request.mentions("called 3 times with the same arguments"), result
    assert len(before) == 3


UNHOOKED = {
    "a tool that it does not have": Call(tool="ListDirectory", args={"path": "."}),
    "arguments that cannot be": Call(tool="Read", args={"path": "."}),
}


@pytest.mark.parametrize("call", UNHOOKED.values(), ids=UNHOOKED)
def test_calls_that_no_hook_is_asked_about_cost_the_turn(world: ClaudeWorld, call: Call) -> None:
    on = turn(reply(step("other")), say("Went another way."), match="ANTI-LOOP")
    world.model.behave([on, turn(*[reply(call)] * 12, match=TASK)])
    result = world.drive()
    assert (result.code, result.out) == (0, "Went another way.\n"), result
    assert world.count("other") == 1


# --- what is printed ----------------------------------------------------------------


def test_json_is_one_object_however_often_the_run_was_continued(world: ClaudeWorld) -> None:
    world.model.behave([turn(on_and_on(), match=TASK), turn(say("It is built."), match=CUT_OFF)])
    result = world.drive(
        agent=(
            "--output-format",
            "json",
        )
    )
    assert json.loads(result.out)["result"] == "It is built."


HEALTHY = [
    turn(
        reply(Think(text="Let me see."), Say(text="First a look."), run("echo one; exit 3")),
        reply(step("a")),
        say("All good."),
    )
]
STREAM = ("--output-format", "stream-json", "--verbose")
FORMATS = {
    "text": (),
    "json": ("--output-format", "json"),
    "json of all": ("--output-format", "json", "--verbose"),
    "stream": STREAM,
    "stream of pieces": (*STREAM, "--include-partial-messages"),
    "stream with hooks": (*STREAM, "--include-hook-events"),
    "stream by halves": ("--output-format", "stream-json"),
}
_MADE_UP = re.compile(r"(id|ids|uuid|uuids|timestamp|_ms|Ms|socket_path)$")
"""Names of what differs from run to run."""
_OF_A_DRIVER = {"begun_message_ids", "capabilities", "mcp_servers", "model_usage_since_last_result", "tools"}
"""What Claude Code adds where a program drives it; our tools are among them."""


def printed(out: str) -> dict[str, Any]:
    """What was printed, flat, without what differs from run to run."""
    if not out.startswith(("{", "[")):
        return {"": out}
    lines = [json.loads(line) for line in out.splitlines()]
    messages = lines[0] if isinstance(lines[0], list) else lines
    # On a busy machine it may have to ask its provider twice, and says so.
    return dict(flat([message for message in messages if message.get("subtype") != "api_retry"], ""))


def flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name in value.keys() - _OF_A_DRIVER:
            if not _MADE_UP.search(name):
                yield from flat(value[name], f"{path}.{name}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from flat(item, f"{path}.{number}")
    else:
        yield path, value


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("behaviour", [HEALTHY, [turn(reply(Fail(status=400, message="no such model")))]])
def test_what_is_printed_is_what_claude_code_itself_prints(
    world: ClaudeWorld, form: str, behaviour: list[Turn]
) -> None:
    world.model.behave(behaviour)
    plain = world.run("claude", "-p", "Do the task.", *FORMATS[form])
    guarded = world.drive(agent=FORMATS[form])
    assert guarded.code == plain.code, guarded
    ours, theirs = printed(guarded.out), printed(plain.out)
    differing = {path: (ours.get(path), theirs.get(path)) for path in ours.keys() | theirs.keys()}
    assert {path: both for path, both in differing.items() if both[0] != both[1]} == {}
    assert plain.err in guarded.err


# --- tools ----------------------------------------------------------------------------------------


def test_the_model_decides_to_go_on_with_one_of_our_tools(world: ClaudeWorld) -> None:
    decision = {
        "decision": "continue",
        "observedResult": "The first two attempts were too early to see anything.",
        "rationale": "The service needs a moment until it has started.",
        "expectedInformation": "Whether the service has come up by now or not.",
        "nextTool": "Bash",
        "argsJson": json.dumps(step("again").args),
    }
    decide = Call(tool="mcp__loopguard__loop_decide", args=decision)
    world.model.behave([turn(*[reply(step("again"))] * 3, reply(decide), reply(step("again")))])
    result = world.drive()
    assert (result.code, world.count("again")) == (0, 3), result


def test_a_tool_of_ours_ends_the_goal(world: ClaudeWorld) -> None:
    done = Call(tool="mcp__loopguard__goal_complete", args={"summary": "12 of 12 tests pass"})
    world.model.behave(answers([say("One part is done.")], [reply(done), say("That was it.")]))
    result = world.drive(*GOAL)
    assert (result.code, len(prompts(world))) == (0, 2), result


# --- goals --------------------------------------------------------------------------

PARTS: dict[str, tuple[list[list[Reply]], list[str], int, list[str]]] = {
    "achieved": (
        [
            [reply(step("a")), say("One part is done.")],
            [reply(step("b")), say("The rest is done; now to verify.")],
            [say(ACHIEVED)],
        ],
        [],
        0,
        [CONTINUED, CONTINUED],
    ),
    "blocked": ([[say(BLOCKED)]], [], 81, []),
    "limit": (
        [[reply(step(name)), say(f"Part {name} is done.")] for name in "abc"],
        ["--max-turns", "1"],
        82,
        [CONTINUED, HANDED_OFF],
    ),
}


@pytest.mark.story
@pytest.mark.parametrize("ending", PARTS)
def test_a_goal_is_pursued_until_it_has_ended(world: ClaudeWorld, ending: str) -> None:
    behaviour, options, code, expected = PARTS[ending]
    world.model.behave(answers(*behaviour))
    result = world.drive(*GOAL, *options)
    assert result.code == code, result
    sent = [exchange.request.user for exchange in prompts(world)]
    assert sent[0] == "Do the task."
    assert [user.split("\n")[0] for user in sent[1:]] == expected


@pytest.mark.story
def test_after_an_interrupt_nothing_more_is_sent(world: ClaudeWorld) -> None:
    world.model.behave([turn(reply(Say(text="tick. tack. tock. ", pace=60.0)))])
    started = world.guard("claude", "-p", "Do the task.", options=GOAL)
    world.streaming()
    started.signal(signal.SIGINT)
    assert started.wait().code == 128 + signal.SIGINT
    (only,) = world.model.chats()
    assert only.end is End.CLIENT_CLOSED
