"""Goals with the real ``opencode run``: started again until the goal has ended; the status says how."""

import re
from collections.abc import Callable, Sequence

import pytest
from tests.real.harness import Result, World, trace

from loopguard_cli.testing.conversation import Request
from loopguard_cli.testing.exchange import Exchange
from loopguard_cli.testing.script import Call, Reply, reply, say

CONTINUED = "<goal_continuation>"
HANDED_OFF = "<goal_handoff>"
AUDITED = "<goal_audit>"
ACHIEVED = "I ran the suite.\n[goal:evidence] 12 of 12 tests pass in the present state\n[goal:complete]"
BLOCKED = "I cannot go on: the repository asks for a password that only the user knows.\n[goal:blocked]"

Step = Callable[[Request], Reply]


def prompts(world: World) -> list[Exchange]:
    """The first request after each user message, in order."""
    found: dict[str, Exchange] = {}
    for exchange in world.model.chats():
        found.setdefault(exchange.request.user, exchange)
    return list(found.values())


def answers(*replies: Sequence[Reply]) -> Step:
    """One sequence of steps for each user message; a further message gets the last sequence again."""
    seen: list[str] = []
    steps: dict[str, int] = {}

    def behave(request: Request) -> Reply:
        if request.user not in seen:
            seen.append(request.user)
        turn = replies[min(seen.index(request.user), len(replies) - 1)]
        step = steps[request.user] = steps.get(request.user, -1) + 1
        return turn[min(step, len(turn) - 1)]

    return behave


def pursue(world: World, behave: Step, *options: str, more: Sequence[str] = ()) -> Result:
    world.model.behave(behave)
    quick = ["--set", "goal.cooldown_seconds=0.1", *more]
    command = ("opencode", "run", "start the work")
    return world.guard(*command, options=["--goal", "make the tests pass", *options, *quick]).wait()


def test_two_continuations_then_achieved(world: World) -> None:
    result = pursue(
        world,
        answers(
            [reply(trace("a")), say("One part is done.")],
            [reply(trace("b")), say("The last part is done; now to verify.")],
            [say(ACHIEVED)],
        ),
    )
    assert result.code == 0, result
    first, *continued = [exchange.request for exchange in prompts(world)]
    assert "start the work" in first.user
    assert len(continued) == 2
    assert all(request.user.startswith(CONTINUED) for request in continued)
    assert all("make the tests pass" in request.user for request in continued)
    assert len({exchange.session for exchange in world.model.chats()}) == 1
    assert [world.count(name) for name in "ab"] == [1, 1]
    assert "No goal" in world.ask("goal", "status").out or "achieved" in world.ask("goal", "status").out


def test_blocked(world: World) -> None:
    result = pursue(world, answers([say(BLOCKED)]))
    assert result.code == 81, result
    assert len(world.model.chats()) == 1


def test_the_limit_is_handed_off(world: World) -> None:
    steps = [[reply(trace(name)), say(f"Part {name} is done.")] for name in "abc"]
    result = pursue(world, answers(*steps), "--max-turns", "1")
    assert result.code == 82, result
    users = [exchange.request.user for exchange in prompts(world)]
    assert [user.split("\n")[0] for user in users[1:]] == [CONTINUED, HANDED_OFF]


def verifying(verdict: str) -> Step:
    """An auditor that tries to write, reads a file, and then says ``verdict``."""
    work = answers([say(ACHIEVED)])
    audit = answers(
        [
            reply(Call(tool="bash", args={"command": "touch tampered", "description": "Tampers"})),
            reply(Call(tool="read", args={"filePath": "README.md"})),
            say(f"The suite was looked at.\n{verdict}"),
        ]
    )
    return lambda request: audit(request) if AUDITED in request.user else work(request)


@pytest.mark.parametrize(("verdict", "code"), [("[audit:approved]", 0), ("[audit:rejected]", 83)])
def test_an_independent_auditor_may_only_read(world: World, verdict: str, code: int) -> None:
    (world.project / "README.md").write_text("what the auditor reads\n")
    result = pursue(world, verifying(verdict), more=["--set", "goal.audit=builtin"])
    assert result.code == code, result
    audits = [e for e in world.model.chats() if AUDITED in e.request.user]
    assert len({e.session for e in audits} | {world.model.chats()[0].session}) == 2, "another session"
    assert "make the tests pass" in audits[0].request.user
    assert audits[-1].request.mentions("what the auditor reads")
    assert not (world.project / "tampered").exists()
    listed = world.run("opencode", "session", "list").out
    assert len(re.findall(r"\bses_\w+", listed)) == 1, "the auditor leaves no session behind"


def test_without_a_message_the_goal_is_the_first_prompt(world: World) -> None:
    world.model.behave(answers([say(ACHIEVED)]))
    result = world.guard("opencode", "run", options=["--goal", "make the tests pass"]).wait()
    assert result.code == 0, result
    assert CONTINUED in prompts(world)[0].request.user


def test_an_impossible_goal_is_refused_before_the_agent_starts(world: World) -> None:
    result = world.guard("opencode", "run", "go", options=["--goal", "x", "--max-turns", "none"]).wait()
    assert result.code == 2, result
    assert world.model.chats() == []


def test_the_agent_claims_by_a_tool(world: World) -> None:
    """Arguments that the tool does not need come as null, because OpenCode requires all of them."""
    claim = Call(
        tool="goal_complete",
        args={"summary": "12 of 12 tests pass", "criteria": None, "checks": [], "changedFiles": None,
              "knownLimitations": None},
    )  # fmt: skip
    limits = {"maxTurns": None, "success": "", "checks": None, "mode": None}
    own = Call(tool="goal_set", args={"objective": "make the tests pass", **limits})
    world.model.behave(answers([reply(own), reply(claim), say("Done.")]))
    result = world.guard("opencode", "run", "set yourself a goal").wait()
    assert result.code == 0, result
    _, after_set, after_claim = (exchange.request for exchange in world.model.chats())
    assert '"ok":true' in after_set.messages[-1].text.replace(" ", "")
    assert '"ok":true' in after_claim.messages[-1].text.replace(" ", "")


def test_the_agents_own_shell_does_not_speak_for_the_person(world: World) -> None:
    """A budget is never raised by the agent."""
    raising = Call(
        tool="bash",
        args={"command": "python -m loopguard_cli goal edit --max-turns 99 2>&1", "description": "Asks"},
    )
    result = pursue(
        world, answers([reply(raising), say("Asked for more.")], [say(BLOCKED)]), "--max-turns", "3"
    )
    assert result.code == 81, result
    second = prompts(world)[1].request.user
    assert "Budget: 2 continuations" in second


def test_several_goals_one_after_the_other(world: World) -> None:
    objectives = ("build the parser", "write the tests", "ship it")
    assert world.ask("goal", "sequence", *objectives).code == 0
    world.model.behave(lambda request: say(f"{len(request.messages)} seen.\n{ACHIEVED}"))
    result = world.guard("opencode", "run", "begin", options=["--set", "goal.cooldown_seconds=0.1"]).wait()
    assert result.code == 0, result
    users = [exchange.request.user for exchange in prompts(world)]
    assert len(users) == 3
    assert all(objective in user for objective, user in zip(objectives[1:], users[1:], strict=True))


def test_a_program_that_cannot_be_prompted_gets_no_goal(world: World) -> None:
    result = world.guard("true", options=["--goal", "make the tests pass"]).wait()
    assert result.code == 2, result
    assert "State:" not in world.ask("goal", "status").out
