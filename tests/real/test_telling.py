"""What another terminal, the ledger and a recording tell about a run with the real OpenCode."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.real.conftest import NewWorld
from tests.real.harness import LOOPGUARD, Result, World, trace

from loopguard_cli.testing.script import Hold, Say, reply, turn

SECRET = "a task in confidence"


class Played(msgspec.Struct):
    world: World
    during: dict[str, Result]
    followed: str
    result: Result
    after: dict[str, Result]


COMMANDS = {
    "status": ("status", "--json"),
    "inspect": ("inspect", "--json"),
    "history": ("history", "--json"),
    "plain status": ("status",),
}


@pytest.fixture(scope="module")
def played(new_world: NewWorld) -> Iterator[Played]:
    """A call was refused; the model holds while the others are asked, and again after the end."""
    with new_world([turn(*[reply(trace("a"))] * 3, reply(Hold(name="go"), Say(text="Done.")))]) as world:
        record = world.root / "record.jsonl"
        started = world.guard("opencode", "run", SECRET, options=["--record", str(record)])
        world.model.wait_for(lambda seen: len(seen) == 4)
        during = {name: world.ask(*command) for name, command in COMMANDS.items()}
        follower = world.start(*LOOPGUARD, "history", "-f")
        follower.wait_for("repeat-call", stream="out")
        world.model.release("go")
        result = started.wait()
        follower.wait_for("run ended", stream="out")
        follower.close()
        after = {name: world.ask(*command) for name, command in COMMANDS.items()}
        after["replay"] = world.ask("replay", "--json", str(record))
        yield Played(world, during, follower.out, result, after)


def one(result: Result) -> Any:
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


def lines(result: Result) -> list[Any]:
    assert (result.code, result.err) == (0, "")
    return [json.loads(line) for line in result.out.splitlines()]


def test_a_summary_at_the_end(played: Played) -> None:
    last = played.result.err.splitlines()[-1]
    assert last.startswith("loopguard: ")
    assert "3 tool calls, 1 blocked" in last


def test_status_while_it_runs_and_after(played: Played) -> None:
    (running,) = one(played.during["status"])["runs"]
    over = one(played.after["status"])
    assert over["runs"] == []
    for run, live in ((running, True), (over["last_run"], False)):
        assert run["live"] is live
        assert run["loops"] == {"repeat-call": 1}
        (session,) = run["sessions"]
        assert (session["calls"], session["blocks"]) == (3, 1)
    assert played.during["plain status"].out.count("running") == 1
    assert "exit status 0" in played.after["plain status"].out


def test_inspect_while_it_runs_and_after(played: Played) -> None:
    for told in (played.during, played.after):
        calls = one(told["inspect"])["calls"]
        assert calls
        assert all((call["tool"], call["blocked"]) == ("bash", True) for call in calls)


def test_history_names_the_loop_and_its_proof(played: Played) -> None:
    for told in (played.during, played.after):
        (loop,) = [entry for entry in lines(told["history"]) if entry["type"] == "loop"]
        assert (loop["rule"], loop["verdict"], loop["count"]) == ("repeat-call", "block", 3)
        assert len(loop["events"]) == 3
    assert [entry["type"] for entry in lines(played.after["history"])][-1] == "run.ended"


def test_history_follows(played: Played) -> None:
    assert played.followed.index("repeat-call") < played.followed.index("run ended")


def test_the_ledger_holds_no_arguments_and_no_text(played: Played) -> None:
    folder = played.world.project / ".loopguard"
    assert folder.stat().st_mode & 0o777 == 0o700
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert any(file.name == "ledger.jsonl" for file in files)
    for file in files:
        assert file.stat().st_mode & 0o777 == 0o600
        content = file.read_text()
        assert "TRACES" not in content
        assert SECRET not in content


def test_replaying_the_record_finds_the_same(played: Played) -> None:
    (found,) = lines(played.after["replay"])
    (loop,) = [entry for entry in lines(played.after["history"]) if entry["type"] == "loop"]
    assert {name: found[name] for name in ("rule", "key", "tool", "count", "events", "session")} == {
        name: loop[name] for name in ("rule", "key", "tool", "count", "events", "session")
    }
    record = played.world.root / "record.jsonl"
    assert record.stat().st_mode & 0o777 == 0o600
