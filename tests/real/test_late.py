"""A supervisor that stands still for a while (a suspended machine, SIGSTOP) with the real OpenCode."""

from tests.real.harness import World, trace

from loopguard_cli.testing.conversation import Request
from loopguard_cli.testing.script import Reply, reply, say


def test_a_call_that_ran_without_an_answer_is_not_counted_as_blocked(world: World) -> None:
    """OpenCode waits five seconds at the gate; the refusal that comes then refuses nothing any more."""
    supervisors = []

    def behave(request: Request) -> Reply:
        ran = world.count("a")
        if ran == 2:
            supervisors.append(world.supervisor())
            supervisors[0].suspend()
        return reply(trace("a")) if ran < 3 and request.tools else say("Done.")

    world.model.behave(behave)
    started = world.guard("opencode", "run", "count")
    world.wait_until(lambda: world.count("a") == 3)
    supervisors[0].resume()
    result = started.wait()
    assert ", 0 blocked" in result.err
    assert "ran although refused" in world.ask("history", "--all").out
