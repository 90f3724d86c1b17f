"""Goals in a run: what it starts from, whose they are, and what a lost lease does to a prompt."""

import json
from pathlib import Path

from loopguard_cli.agents.base import BridgeAddress
from loopguard_cli.agents.opencode.adapter import OpenCode
from loopguard_cli.agents.tools import GOAL_TOOLS
from loopguard_cli.core.effects import Prompt, Purpose, TakeLease
from loopguard_cli.core.events import LeaseSettled
from loopguard_cli.core.ids import EffectId, SessionId
from loopguard_cli.core.settings import Capabilities
from loopguard_cli.goal.model import Book
from loopguard_cli.goal.records import Kind, Snapshot, pack
from loopguard_cli.goal.settings import GoalSettings
from loopguard_cli.runtime.checks import Jobs
from loopguard_cli.runtime.goals import LOST, GoalKeeper
from loopguard_cli.runtime.perform import Performer
from loopguard_cli.runtime.reach.channels import Channels
from loopguard_cli.runtime.telling.notices import Notices
from loopguard_cli.store.ledger import Ledger

S = SessionId("ses_1")


class Bridges:
    def __init__(self) -> None:
        self.sent: list[object] = []

    def send(self, orders: object) -> None:
        self.sent += orders  # type: ignore[arg-type]


def keeper(path: Path, run: str) -> GoalKeeper:
    return GoalKeeper(
        path, run=run, settings=GoalSettings(), capabilities=Capabilities(prompt=True), salt=run
    )


def performer(goals: GoalKeeper, bridges: Bridges) -> Performer:
    post = lambda _: None  # noqa: E731
    adapter = OpenCode(("opencode",))
    adapter._peers[1] = None
    return Performer(
        adapter=adapter,
        channels=Channels(bridges, post),
        store=None,
        notices=Notices(screen=True),
        jobs=Jobs(post),
        reply=lambda _: False,
        goals=goals,
        environ={},
    )


def take(goals: GoalKeeper) -> LeaseSettled:
    return goals.take(TakeLease(session=S, effect=EffectId("e1"), asked=True), 1000.0)


def prompt(purpose: Purpose) -> Prompt:
    return Prompt(session=S, effect=EffectId("e2"), text="go on", purpose=purpose)


def test_of_two_runs_one_drives_a_session(tmp_path: Path) -> None:
    first, second = keeper(tmp_path, "r1"), keeper(tmp_path, "r2")
    assert take(first).ok
    refused = take(second)
    assert not refused.ok
    assert "another loopguard drives this session" in refused.error
    first.close()
    assert take(second).ok
    second.close()


def test_a_lease_brings_what_the_ledger_has(tmp_path: Path) -> None:
    with Ledger.open(tmp_path, run="r0") as ledger:
        ledger.append(pack(S, "", Kind.SNAPSHOT, Snapshot(at=1.0, book=Book())), sync=True)
    goals = keeper(tmp_path, "r1")
    assert goals.restore() == 0
    assert [record.session for record in take(goals).records] == [S]
    goals.close()


def test_a_prompt_without_the_lease_is_not_sent(tmp_path: Path) -> None:
    goals, bridges = keeper(tmp_path, "r1"), Bridges()
    perform = performer(goals, bridges)
    take(goals)
    assert perform(prompt(Purpose.CONTINUATION), 1000.0) == ()
    assert len(bridges.sent) == 1
    (lease,) = (tmp_path / "leases").glob("*.json")
    lease.write_text(json.dumps({**json.loads(lease.read_text()), "token": "another's"}))
    for purpose in (Purpose.CONTINUATION, Purpose.HANDOFF):
        (event,) = perform(prompt(purpose), 1000.0)
        assert isinstance(event, LeaseSettled)
        assert (event.session, event.ok, event.error) == (S, False, LOST)
    assert len(bridges.sent) == 1
    assert perform(prompt(Purpose.RECOVERY), 1000.0) == ()
    assert len(bridges.sent) == 2, "the guard needs no lease"
    goals.close()


def test_a_heartbeat_notices_that_the_lease_is_gone(tmp_path: Path) -> None:
    goals = keeper(tmp_path, "r1")
    take(goals)
    assert goals.beat() == []
    (lease,) = (tmp_path / "leases").glob("*.json")
    lease.write_text(json.dumps({**json.loads(lease.read_text()), "token": "another's"}))
    (event,) = goals.beat()
    assert isinstance(event, LeaseSettled)
    assert not event.ok
    assert goals.beat() == []
    goals.close()


def test_a_folder_that_cannot_be_used_does_not_end_the_run(tmp_path: Path) -> None:
    place = tmp_path / "file"
    goals = keeper(place, "r1")
    take(goals)
    goals.close()
    for file in sorted(place.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    place.rmdir()
    place.write_text("in the way")
    assert not take(goals).ok
    assert goals.beat() == []


def test_optional_arguments_of_tools_may_be_null_in_an_agent_that_requires_all() -> None:
    adapter = OpenCode(("opencode",), tools=GOAL_TOOLS)
    plan = adapter.launch({}, BridgeAddress(token="t", unix="/s"))
    boot = json.loads(plan.environment["LOOPGUARD_BRIDGE"])
    tools = {tool["name"]: tool["args"] for tool in boot["tools"]}
    assert tools["goal_set"]["objective"]["type"] == "string"
    assert tools["goal_set"]["maxTurns"]["type"] == ["integer", "null"]
    assert None in tools["goal_set"]["mode"]["enum"]
    (goal_set,) = [tool for tool in GOAL_TOOLS if tool.name == "goal_set"]
    given = {"objective": "", "maxTurns": 0, "checks": [], "success": "", "mode": None, "maxMinutes": 5}
    assert goal_set.given(given) == {"objective": "", "maxMinutes": 5}
