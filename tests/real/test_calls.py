"""Repeated tool calls: what ran, seen by its side effects, and what the model read instead."""

from collections.abc import Iterator

import msgspec
import pytest
from tests.real.conftest import NewWorld
from tests.real.harness import Result, World, trace

from loopguard_cli.testing.script import Call, Reply, reply, say, turn

ALPHA = trace("a")
EXPLAINED = "Long enough to say what was seen and why."


def decide(call: Call, decision: str) -> Call:
    return Call(
        tool="loop_decide",
        args={
            "decision": decision,
            "observedResult": EXPLAINED,
            "rationale": EXPLAINED,
            "expectedInformation": EXPLAINED,
            "nextTool": call.tool,
            "argsJson": msgspec.json.encode(call.args).decode(),
        },
    )


CHECK = Call(
    tool="loop_check", args={"toolName": "bash", "argsJson": msgspec.json.encode(ALPHA.args).decode()}
)

REPLIES: dict[str, Reply] = {
    "a1": reply(ALPHA),
    "a2": reply(trace("a", description="Worded differently", timeout=60_000)),
    "a3": reply(Call(tool="bash", args=dict(reversed(ALPHA.args.items())))),
    "b1": reply(trace("b")),
    "b2": reply(trace("b")),
    "b3": reply(trace("b")),
    "c": reply(trace("c")),
    "three at once": reply(trace("d"), trace("d"), trace("d")),
    "check": reply(CHECK),
    "decide": reply(decide(ALPHA, "continue")),
    "a4": reply(ALPHA),
    "a5": reply(ALPHA),
    "a6": reply(ALPHA),
    "end": say("Nothing more to do."),
}


class Played(msgspec.Struct):
    world: World
    result: Result

    def read(self, name: str) -> tuple[str, ...]:
        """What the model read as the results of the reply with this name."""
        following = list(REPLIES).index(name) + 1
        return self.world.model.chats()[following].request.results


@pytest.fixture(scope="module")
def played(new_world: NewWorld) -> Iterator[Played]:
    with new_world([turn(*REPLIES.values())]) as world:
        yield Played(world, world.guard("opencode", "run", "try things").wait())


def refused(text: str) -> bool:
    return text.startswith("[ANTI-LOOP]")


def test_the_run_goes_on_to_its_end(played: Played) -> None:
    assert played.result.code == 0, played.result
    assert "Nothing more to do." in played.result.out
    assert len(played.world.model.chats()) == len(REPLIES)


def test_third_identical_call_is_not_run(played: Played) -> None:
    assert [refused(played.read(name)[0]) for name in ("a1", "a2", "a3")] == [False, False, True]
    assert [refused(played.read(name)[0]) for name in ("b1", "b2", "b3")] == [False, False, True]
    assert played.world.count("b") == 2


def test_other_calls_run(played: Played) -> None:
    assert played.world.count("c") == 1
    assert not refused(played.read("c")[0])


def test_of_three_parallel_calls_two_run(played: Played) -> None:
    assert played.world.count("d") == 2
    assert sorted(map(refused, played.read("three at once"))) == [False, False, True]


def test_the_model_is_told_what_and_what_now(played: Played) -> None:
    text = played.read("a3")[0]
    assert "bash" in text
    assert "3 times" in text
    assert "60 s" in text
    assert "loop_decide" in text


def test_a_check_grants_nothing_and_a_decision_one_fresh_cycle(played: Played) -> None:
    assert "blocked" in played.read("check")[0]
    assert [refused(played.read(name)[0]) for name in ("a4", "a5", "a6")] == [False, False, True]
    assert played.world.count("a") == 4


def test_the_person_is_told_without_the_arguments(played: Played) -> None:
    told = [line for line in played.result.err.splitlines() if line.startswith("loopguard: ")]
    assert sum("bash was called 3 times" in line for line in told) == 4
    assert not any("TRACES" in line for line in told)


def test_built_in_question_about_repetitions_never_stalls(played: Played) -> None:
    assert "doom_loop" not in played.result.err


STATUS_TOOL = """
import { appendFileSync } from "node:fs"
export default {
  description: "Tells whether a messenger is connected",
  args: {},
  async execute() {
    appendFileSync(process.env.TRACES + "/status", "x\\n")
    return "not connected"
  },
}
"""


def test_custom_tool_of_the_smoke_test(world: World) -> None:
    tools = world.project / ".opencode" / "tool"
    tools.mkdir(parents=True)
    (tools / "telegram_status.js").write_text(STATUS_TOOL)
    status, other = reply(Call(tool="telegram_status")), reply(Call(tool="glob", args={"pattern": "*.md"}))
    world.model.behave([turn(status, status, status, other, other, other, say("Tested."))])
    command = ("opencode", "run", "test the guard")
    assert world.guard(*command).wait().code == 0
    read = [exchange.request.results[0] for exchange in world.model.chats()[1:]]
    assert [refused(text) for text in read] == [False, False, True, False, False, True]
    assert world.count("status") == 2


def test_observing_only_reports(world: World) -> None:
    world.model.behave([turn(*[reply(ALPHA)] * 3, say("Done."))])
    result = world.guard("opencode", "run", "try", options=["--mode", "observe"]).wait()
    assert result.code == 0
    assert world.count("a") == 3
    assert "3 times" in result.err
    assert not any(e.request.mentions("[ANTI-LOOP]") for e in world.model.chats())


def test_a_child_session_has_counters_of_its_own(world: World) -> None:
    task = {"description": "sub job", "prompt": "the child work", "subagent_type": "general"}
    world.model.behave(
        [
            turn(*[reply(ALPHA)] * 3, say("Child is done."), match="the child work"),
            turn(
                *[reply(ALPHA)] * 2, reply(Call(tool="task", args=task)), reply(ALPHA), say("Parent is done.")
            ),
        ]
    )
    assert world.guard("opencode", "run", "delegate", options=["--preset", "infinity"]).wait().code == 0
    parent = world.model.chats()[0].session
    read = {True: list[bool](), False: list[bool]()}
    for exchange in world.model.chats():
        if exchange.request.results:
            read[exchange.session == parent].append(refused(exchange.request.results[0]))
    assert read[False] == [False, False, True], "the child's own third call"
    assert read[True] == [False, False, False, True], "the task ran; the parent's third call did not"
    assert world.count("a") == 4
