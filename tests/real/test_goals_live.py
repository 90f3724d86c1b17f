"""One goal after the other in one session of the real OpenCode, set from another terminal."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from tests.real.harness import World, trace
from tests.real.test_goals import ACHIEVED, BLOCKED, CONTINUED, HANDED_OFF, Step, answers
from tests.real.test_screen import READY, leave

from loopguard_cli.testing.opencode import configuration
from loopguard_cli.testing.script import Call, Reply, Say, Usage, reply, say

BARE = "All of it is done.\n[goal:complete]"
BIG = Usage(input=60_000, output=400)

Pursue = Callable[..., list[str]]


@pytest.fixture(scope="module")
def live(new_world: Callable[..., World]) -> Iterator[World]:
    with new_world(lambda _: say("Hello.")) as world:
        provider = configuration(world.model.url)["provider"]
        for model in provider["scripted"]["models"].values():
            model["cost"] = {"input": 100, "output": 100}
        world.configure(provider=provider)
        # What is said again and again here would be a loop.
        options = ["--mode", "off", "--set", "goal.cooldown_seconds=0.1"]
        tty = world.guard_screen("opencode", options=options)
        tty.wait_for(READY)
        tty.send("hello\r")
        tty.wait_for("Hello.")
        yield world
        leave(tty)


def goal(world: World) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(world.ask("goal", "status", "--json").out)["data"]
    return data


@pytest.fixture
def pursue(live: World) -> Iterator[Pursue]:
    """Sets a goal, waits until it stands as expected, and returns the user messages since."""

    def play(behave: Step, state: str, *flags: str) -> list[str]:
        before = len(live.model.chats())
        live.model.behave(behave)
        asked = live.ask("goal", "set", "make the tests pass", *flags)
        assert asked.code == 0, asked
        live.wait_until(lambda: goal(live)["state"] == state, 60)
        return list(dict.fromkeys(e.request.user for e in live.model.chats()[before:]))

    yield play
    live.ask("goal", "clear")


@pytest.mark.parametrize(
    ("replies", "why"),
    [
        (
            [say("I think it over, at some length."), say("Hm, I could begin."), say("Soon.")],
            "no_tool_calls",
        ),
        ([say("Hm.")] * 3, "no_progress"),
        ([reply(trace("a")), say(BARE)], "format_failures"),
    ],
    ids=["talk", "silence", "claims"],
)
def test_turns_that_lead_nowhere(live: World, pursue: Pursue, replies: Sequence[Reply], why: str) -> None:
    long = Usage(input=100, output=90)
    turns = [[Reply(steps=one.steps, usage=long)] for one in replies]
    if why == "no_progress":
        turns = [[one] for one in replies]
    if why == "format_failures":
        turns = [list(replies)]
    users = pursue(answers(*turns), "paused")
    assert goal(live)["stop_reason"] == why
    assert len(users) > 1
    assert all(user.startswith(CONTINUED) for user in users)


@pytest.mark.parametrize(
    ("limit", "usage", "answer", "state"),
    [
        (("--max-duration-ms", "2000"), None, ACHIEVED, "achieved"),
        (("--max-total-tokens", "50"), None, BLOCKED, "blocked"),
        (("--max-cost", "0.001"), None, ACHIEVED, "achieved"),
        (("--budget", "50k"), BIG, BLOCKED, "blocked"),
    ],
    ids=["time", "tokens", "cost", "budget"],
)
def test_the_answer_to_the_last_prompt_counts(
    pursue: Pursue, limit: tuple[str, ...], usage: Usage | None, answer: str, state: str
) -> None:
    step, part = reply(trace("a", command="sleep 2")), reply(Say(text="Part one is done."))
    if usage is not None:
        step, part = (Reply(steps=one.steps, usage=usage) for one in (step, part))
    users = pursue(answers([step, part], [say(answer)]), state, *limit)
    assert [user.startswith(HANDED_OFF) for user in users] == [False, True]


def test_a_bare_claim_is_refused_with_a_correction(pursue: Pursue) -> None:
    users = pursue(answers([reply(trace("a")), say(BARE)], [say(ACHIEVED)]), "achieved")
    assert "no evidence stood directly above it" in users[1]


def test_a_claim_that_a_check_refutes_is_refused_with_its_output(live: World, pursue: Pursue) -> None:
    repair = Call(tool="bash", args={"command": "touch fixed", "description": "Repairs"})
    behave = answers([say(ACHIEVED)], [reply(repair), say(f"Repaired it. {ACHIEVED}")])
    users = pursue(behave, "achieved", "--check", "echo looking for the file; test -e fixed")
    assert "refused by a check" in users[1]
    assert "looking for the file" in users[1]
    assert (live.project / "fixed").exists()
