"""``loopguard mcp`` on a live run: the official client, a real control socket, a real hub with goals."""

from __future__ import annotations

import asyncio
import html
import json
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from loopguard_cli.core.effects import Record, Respond
from loopguard_cli.core.events import EffectSettled, Event, Status, StatusChanged, ToolAsked, UserSpoke
from loopguard_cli.core.ids import CallId, MessageId, RequestId, SessionId
from loopguard_cli.core.records import GuardChanged
from loopguard_cli.core.settings import Capabilities, GuardSettings
from loopguard_cli.goal.loop import Goals
from loopguard_cli.goal.settings import GoalSettings
from loopguard_cli.runtime.assemble import make_hub
from loopguard_cli.runtime.control import client as control
from loopguard_cli.runtime.control import mcp
from loopguard_cli.runtime.control.server import ControlServer
from loopguard_cli.store import runs

pytestmark = pytest.mark.slow

T = TypeVar("T")
S = SessionId("ses_1")
WORD = "the word of this run"
LOOP = {"command": "make test"}
ABLE = Capabilities(gate=True, abort=True, prompt=True)
DECISION = {
    "decision": "continue",
    "observedResult": "The suite failed because the service was still starting.",
    "rationale": "The service is up now, as its log says since a minute.",
    "expectedInformation": "Whether the suite passes with the service running.",
    "nextTool": "bash",
    "argsJson": json.dumps(LOOP),
}


class LiveRun:
    """A run without an agent: its socket, its hub, its entry in the register."""

    def __init__(self, runtime: Path) -> None:
        goals = Goals(GoalSettings(), capabilities=ABLE, salt="t")
        self.hub = make_hub(GuardSettings(), ABLE, goals=goals, salt="t")
        self.goals = goals
        self.records: list[Any] = []
        self._loop = asyncio.new_event_loop()
        self._server = ControlServer(self.post, tool_word=WORD)
        self._loop.run_until_complete(self._server.open(runtime / "sock"))
        self.entry = runs.this_run(
            run="r1", agent="test", project=runtime, state=runtime, socket=self._server.address, since=0.0
        )
        runs.register(self.entry)
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def post(self, events: Iterable[Event]) -> None:
        for event in events:
            for effect in self.hub.receive(event, time.time()):
                if isinstance(effect, Respond):
                    self._server.reply(effect)
                elif isinstance(effect, Record):
                    self.records.append(effect.record)
                    if effect.effect:
                        self.post([EffectSettled(session=effect.session, effect=effect.effect, ok=True)])

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._server.close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def surfaces(self) -> list[tuple[str, bool]]:
        return [(r.surface, r.accepted) for r in self.records if isinstance(r, GuardChanged)]


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveRun]:
    # Not below pytest's folder: its long names leave no room for the path of a socket.
    runtime = Path(tempfile.mkdtemp(prefix="lg-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    run = LiveRun(runtime)
    run.post([UserSpoke(session=S, message=MessageId("u1"), text="go")])
    run.post([StatusChanged(session=S, status=Status.BUSY)])
    for number in range(3):
        name = f"c{number}"
        asked = ToolAsked(session=S, request=RequestId(name), call=CallId(name), tool="bash", args=LOOP)
        run.post([asked])
    yield run
    run.close()
    shutil.rmtree(runtime)


def connected(
    live: LiveRun, use: Callable[[Any], Awaitable[T]], *, word: str = WORD, mode: str = "auto"
) -> T:
    """What ``use`` makes of a client of a new ``loopguard mcp``."""
    import anyio
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "loopguard_cli", "mcp", *([] if word else ["--run", "r1"])],
        env={
            "XDG_RUNTIME_DIR": str(Path(live.entry.socket).parent),
            **(mcp.environment("r1", word) if word else {}),
        },
    )

    async def main() -> T:
        async with Client(server, mode=mode) as client:
            return await use(client)

    return anyio.run(main)


async def call(client: Any, name: str, **args: Any) -> tuple[bool, str]:
    result = await client.call_tool(name, args)
    (content,) = result.content
    return not result.is_error, content.text


def envelope(text: str) -> dict[str, Any]:
    return json.loads(html.unescape(text))  # type: ignore[no-any-return]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_is_listed(live: LiveRun, mode: str) -> None:
    async def use(client: Any) -> dict[str, Any]:
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = connected(live, use, mode=mode)
    assert tools.keys() == mcp.TOOLS.keys()
    assert {"loop_check", "loop_decide", "goal_complete", "get_goal"} <= tools.keys()
    assert tools["goal_set"].input_schema["required"] == ["objective"]
    assert tools["loop_decide"].input_schema["required"] == list(DECISION)


def test_the_guards_tools_speak_for_the_model(live: LiveRun) -> None:
    async def use(client: Any) -> list[tuple[bool, str]]:
        check = await call(client, "loop_check", toolName="bash", argsJson=json.dumps(LOOP))
        return [check, await call(client, "loop_decide", **DECISION)]

    (checked, said), (decided, _) = connected(live, use)
    assert checked
    assert "is blocked after 2 calls" in said
    assert decided
    assert live.surfaces() == [("tool", True)]


def test_without_the_word_a_process_inside_the_agent_only_reads(live: LiveRun) -> None:
    async def use(client: Any) -> list[tuple[bool, str]]:
        check = await call(client, "loop_check", toolName="bash", argsJson=json.dumps(LOOP))
        return [check, await call(client, "loop_decide", **DECISION)]

    for word in ("", "a guess"):
        (checked, _), (decided, why) = connected(live, use, word=word)
        assert (checked, decided) == (True, False)
        assert why
    assert live.surfaces() == [("inside", False)] * 2


def test_a_goal_from_beginning_to_end(live: LiveRun) -> None:
    async def use(client: Any) -> list[tuple[bool, dict[str, Any]]]:
        answers = []
        for name, args in (
            ("goal_complete", {"summary": "too early"}),
            ("goal_set", {"objective": "repair the build", "maxTurns": 3}),
            ("goal_status", {}),
            ("goal_pause", {}),
            ("goal_resume", {}),
            ("goal_block", {"blocker": ""}),
            ("goal_complete", {"summary": "make test: 12 passed"}),
        ):
            ok, text = await call(client, name, **args)
            answers.append((ok, envelope(text)))
        return answers

    answers = connected(live, use)
    assert [ok for ok, _ in answers] == [False, True, True, True, True, False, True]
    assert all(ok == told["ok"] and told["version"] == 1 for ok, told in answers)
    assert answers[0][1]["error"] == "no_active_goal"
    assert answers[5][1]["error"] == "missing_blocker"
    assert live.goals.book(S).archive[0].objective == "repair the build"


def test_the_older_names_answer_with_text(live: LiveRun) -> None:
    async def use(client: Any) -> list[tuple[bool, str]]:
        return [await call(client, "set_goal", objective="repair it"), await call(client, "get_goal")]

    for ok, text in connected(live, use):
        assert ok
        assert "repair it" in text


def test_an_agents_tool_cannot_undo_what_a_person_stopped(live: LiveRun) -> None:
    async def use(client: Any) -> tuple[bool, str]:
        await call(client, "goal_set", objective="repair it")
        stop = UserSpoke(session=S, message=MessageId("u2"), text="stop")
        live.post([stop])
        return await call(client, "goal_resume")

    ok, text = connected(live, use)
    assert not ok
    assert envelope(text)["error"] == "stopped_by_user"


def test_without_a_run_every_tool_says_so(live: LiveRun) -> None:
    runs.unregister("r1")

    async def use(client: Any) -> tuple[bool, str]:
        return await call(client, "goal_status")

    ok, text = connected(live, use)
    assert not ok
    assert "no live run" in text


def test_a_person_asking_as_a_tool_is_no_person(live: LiveRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopguard_cli.runtime.control.server.descends", lambda *_: False)
    assert control.ask(live.entry, "guard.mode", {"mode": "observe"}).ok
    refused = control.ask(live.entry, "guard.mode", {"mode": "off"}, tool_word="")
    assert (refused.ok, refused.code) == (False, "not_allowed")
    assert live.surfaces() == [("cli", True), ("tool", False)]


def test_the_word_opens_nothing_but_tools(live: LiveRun) -> None:
    refused = control.ask(live.entry, "guard.mode", {"mode": "off"}, tool_word=WORD)
    assert (refused.ok, refused.code) == (False, "not_allowed")
    raised = control.ask(
        live.entry, "goal.command", {"text": "set it --max-turns 99"}, session=S, tool_word=WORD
    )
    assert raised.ok
    assert live.goals.book(S).focused is not None
    edited = control.ask(
        live.entry, "goal.command", {"text": "edit --max-turns 999"}, session=S, tool_word=WORD
    )
    assert edited.code == "limit_raise_refused"
