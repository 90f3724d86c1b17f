"""``codex exec``: loops, goals, the person's stop, and what it prints."""

from __future__ import annotations

import json
import re
import signal
from typing import Any

import pytest
from tests.real.codex.world import CUT_OFF, WAITING, CodexWorld, run, trace
from tests.real.harness import Result

from loopguard_cli.testing.exchange import End
from loopguard_cli.testing.script import Call, Fail, Hold, Reply, Say, Think, reply, say, turn

EXEC = ("codex", "exec", "--skip-git-repo-check")
TASK = "Do the task."


CUT_OFF_CALL = r"(?m)^\[ANTI-LOOP"


def drive(world: CodexWorld, *options: str, agent: tuple[str, ...] = (), prompt: str = TASK) -> Result:
    return world.guard(*EXEC, *agent, prompt, options=options).wait()


# --- what it prints -----------------------------------------------------------------------------

HEALTHY = [
    turn(
        reply(Think(text="Let me see."), Say(text="First a look."), run("echo one; exit 3")),
        reply(trace("a")),
        say("All good."),
    )
]


def lines(out: str) -> list[dict[str, Any]]:
    """JSON lines without what differs from run to run."""
    found = [json.loads(line) for line in out.splitlines()]
    return [{**line, "thread_id": ""} if "thread_id" in line else line for line in found]


def test_json_lines_are_those_of_the_agent_itself(world: CodexWorld) -> None:
    world.model.behave(HEALTHY)
    plain = world.run(*EXEC, "--json", TASK)
    guarded = drive(world, agent=("--json",))
    assert (guarded.code, plain.code) == (0, 0), guarded
    assert lines(guarded.out) == lines(plain.out)
    assert world.count("a") == 2


def test_text_is_that_of_the_agent_itself(world: CodexWorld) -> None:
    world.model.behave(HEALTHY)
    plain = world.run(*EXEC, TASK, stdin="More about it.")
    guarded = world.guard(*EXEC, TASK, stdin="More about it.").wait()
    assert guarded.out == plain.out == "All good.\n", guarded
    ours = [line for line in _settled(guarded.err) if not line.startswith("loopguard: ")]
    theirs = [line for line in _settled(plain.err) if line not in _UNKNOWN]
    assert ours == theirs
    assert "<stdin>\nMore about it.\n</stdin>" in world.model.chats()[-1].request.user


_UNKNOWN = {"Reading additional input from stdin...", "reasoning summaries: none"}
"""What the server does not tell."""


def _settled(err: str) -> list[str]:
    text = re.sub(r"session id: .*", "session id:", err)
    text = re.sub(r" in [\d.]+m?s:", " in 0ms:", text)
    return [line for line in text.splitlines() if not line.startswith(("WARNING: proceeding", "warning:"))]


def test_the_last_message_and_its_shape_go_where_they_were_asked_to(world: CodexWorld) -> None:
    world.model.behave([turn(say('{"done": true}'))])
    (world.project / "shape.json").write_text('{"type": "object", "properties": {}}')
    result = drive(world, agent=("-o", "last.txt", "--output-schema", "shape.json"))
    assert result.code == 0, result
    assert (world.project / "last.txt").read_text() == '{"done": true}'


def test_a_session_is_resumed(world: CodexWorld) -> None:
    world.model.behave([turn(say("Noted."))])
    first = lines(drive(world, agent=("--json",)).out)
    assert first[0]["type"] == "thread.started"
    result = world.guard(*EXEC, "resume", "--last", "And now?").wait()
    assert result.out == "Noted.\n", result
    newest = world.model.chats()[-1].request
    assert newest.user == "And now?"
    assert newest.mentions(TASK)


def test_outside_of_a_repository_it_must_be_told_to_work_as_the_agent_itself_must(world: CodexWorld) -> None:
    command = ("codex", "exec", TASK)
    plain, guarded = world.run(*command), world.guard(*command).wait()
    assert (guarded.code, plain.code) == (1, 1), guarded
    assert guarded.err.splitlines()[0] == plain.err.splitlines()[-1]
    (world.project / ".git").mkdir()
    assert world.guard(*command).wait().out == "Done.\n"


# --- loops --------------------------------------------------------------------------------------


@pytest.mark.story
def test_the_third_equal_call_is_refused_and_told_why(world: CodexWorld) -> None:
    replies = [*[reply(trace("again"))] * 3, reply(trace("other")), say("Went another way.")]
    world.model.behave([turn(*replies)])
    result = drive(world)
    assert (result.code, result.out) == (0, "Went another way.\n"), result
    assert (world.count("again"), world.count("other")) == (2, 1)
    (told,) = world.model.chats()[3].request.results
    assert "called 3 times with the same arguments" in told


def test_calls_of_a_tool_that_it_does_not_have_cost_the_turn(world: CodexWorld) -> None:
    """Neither a hook nor an item of the thread tells of them."""
    unknown = reply(Call(tool="no_such_tool", args={"path": "."}))
    on = turn(reply(trace("other")), say("Went another way."), match=CUT_OFF_CALL)
    world.model.behave([on, turn(*[unknown] * 30)])
    result = drive(world)
    assert (result.code, result.out) == (0, "Went another way.\n"), result
    assert world.count("other") == 1


def test_the_model_decides_to_go_on_with_one_of_our_tools(world: CodexWorld) -> None:
    decision = {
        "decision": "continue",
        "observedResult": "The first two attempts were too early to see anything.",
        "rationale": "The service needs a moment until it has started.",
        "expectedInformation": "Whether the service has come up by now or not.",
        "nextTool": "exec_command",
        "argsJson": json.dumps(trace("again").args),
    }
    decide = Call(tool="loop_decide", args=decision)
    world.model.behave([turn(*[reply(trace("again"))] * 3, reply(decide), reply(trace("again")))])
    result = drive(world)
    assert (result.code, world.count("again")) == (0, 3), result


@pytest.mark.story
def test_a_loop_of_prose_is_cut_off_while_it_streams_and_the_task_goes_on(world: CodexWorld) -> None:
    on_and_on = reply(Say(text=WAITING, times=None, pace=0.02))
    world.model.behave([turn(reply(trace("on")), say("Went on."), match=CUT_OFF), turn(on_and_on)])
    result = drive(world)
    assert (result.code, result.out) == (0, "Went on.\n"), result
    assert world.model.chats()[0].end is End.CLIENT_CLOSED
    assert world.count("on") == 1


def test_at_most_two_continuations_then_stopped(world: CodexWorld) -> None:
    world.model.behave([turn(reply(Say(text=WAITING, times=None, pace=0.02)))])
    result = drive(world)
    assert result.code == 80, result
    assert [chat.end for chat in world.model.chats()] == [End.CLIENT_CLOSED] * 3


# --- hooks --------------------------------------------------------------------------------------


def test_hooks_that_the_person_trusts_run_beside_ours(world: CodexWorld) -> None:
    world.hook(world.codex_home)
    world.trust_hooks()
    world.model.behave([turn(*[reply(trace("again"))] * 3, say("Went another way."))])
    result = drive(world)
    assert (result.code, world.count("again"), world.count("hook")) == (0, 2, 3), result


def test_hooks_that_are_switched_off_are_noticed_and_the_turn_is_cut_off_instead(world: CodexWorld) -> None:
    world.model.behave([turn(say("Stopped."), match=CUT_OFF), turn(*[reply(trace("again"))] * 9)])
    result = drive(world, agent=("-c", "features.hooks=false"))
    assert (result.code, result.out) == (0, "Stopped.\n"), result
    assert world.count("again") <= 3
    assert "NOT GUARDED" in result.err
    assert "exec_command ran without our hook being asked" in result.err


# --- goals --------------------------------------------------------------------------------------

ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"
BLOCKED = "I cannot go on: the repository asks for a password that only the user knows.\n[goal:blocked]"


def pursue(world: CodexWorld, *replies: Reply, options: tuple[str, ...] = ()) -> Result:
    """A goal; the replies are given one per user message."""
    world.model.behave(lambda _: replies[min(len(world.users()), len(replies)) - 1])
    quick = ("--set", "goal.cooldown_seconds=0.1")
    return drive(world, "--goal", "make the tests pass", *quick, *options)


@pytest.mark.story
def test_a_goal_is_continued_until_it_is_achieved(world: CodexWorld) -> None:
    result = pursue(world, say("One part is done."), say("Another part is done."), say(ACHIEVED))
    assert result.code == 0, result
    first, *continued = world.users()
    assert TASK in first
    assert [user.split("\n")[0] for user in continued] == ["<goal_continuation>"] * 2


@pytest.mark.story
def test_a_goal_that_is_blocked_ends_the_run(world: CodexWorld) -> None:
    result = pursue(world, say(BLOCKED))
    assert (result.code, len(world.model.chats())) == (81, 1), result


@pytest.mark.story
def test_a_goal_ends_at_its_limit_with_one_last_prompt(world: CodexWorld) -> None:
    result = pursue(world, say("Part a."), say("Part b."), say("Part c."), options=("--max-turns", "1"))
    assert result.code == 82, result
    continued = [user.split("\n")[0] for user in world.users()[1:]]
    assert continued == ["<goal_continuation>", "<goal_handoff>"]


@pytest.mark.parametrize(("verdict", "code"), [("[audit:approved]", 0), ("[audit:rejected]", 83)])
def test_an_independent_auditor_may_only_read(world: CodexWorld, verdict: str, code: int) -> None:
    (world.project / "README.md").write_text("what the auditor reads\n")
    server = world.script("mcp.sh", f"echo x >> {world.traces}/mcp; exec cat")
    with (world.codex_home / "config.toml").open("a") as config:
        config.write(f'[mcp_servers.person]\ncommand = "{server}"\n')
    audit = turn(
        reply(run(f"echo x > {world.project}/tampered")),
        reply(run("cat README.md")),
        say(f"The suite was looked at.\n{verdict}"),
        match="<goal_audit>",
    )
    world.model.behave([audit, turn(say(ACHIEVED))])
    options = ("--goal", "make the tests pass", "--set", "goal.audit=builtin", "--max-turns", "1")
    result = drive(world, *options, "--set", "goal.cooldown_seconds=0.1")
    assert result.code == code, result
    audits = [chat for chat in world.model.chats() if "<goal_audit>" in chat.request.user]
    assert audits[-1].request.mentions("what the auditor reads")
    assert not (world.project / "tampered").exists()
    assert world.count("mcp") == 1, "the task's own, and none for the auditor"


# --- the person ---------------------------------------------------------------------------------


@pytest.mark.story
def test_an_interrupt_ends_the_run_and_nothing_more_is_sent(world: CodexWorld) -> None:
    world.model.behave([turn(reply(Say(text="Beginning. "), Hold()))])
    started = world.guard(*EXEC, TASK, options=("--goal", "make the tests pass"))
    world.model.wait_for(lambda chats: next((chat for chat in chats if chat.text), None))
    started.signal(signal.SIGINT)
    result = started.wait()
    assert result.code == 130, result
    assert len(world.model.chats()) == 1


def test_an_interrupt_ends_the_command_that_the_turn_waits_for(world: CodexWorld) -> None:
    world.model.behave([turn(reply(run("exec sleep 300", yield_time_ms=30_000)))])
    started = world.guard(*EXEC, TASK)
    world.wait_until(lambda: bool(world.named("sleep")))
    started.signal(signal.SIGINT)
    assert started.wait().code == 130
    assert not world.named("sleep")
    assert len(world.model.chats()) == 1


def test_a_failing_model_is_told_as_the_agent_tells_it(world: CodexWorld) -> None:
    world.model.behave([turn(reply(Fail(status=400, message="no such model")))])
    plain, guarded = world.run(*EXEC, "--json", TASK), drive(world, agent=("--json",))
    assert (guarded.code, plain.code) == (1, 1), guarded
    assert lines(guarded.out) == lines(plain.out)
    assert lines(guarded.out)[-1]["type"] == "turn.failed"
