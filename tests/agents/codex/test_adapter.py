"""What transcripts of the real agent do not show: races, refusals, and what must not be touched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from loopguard_cli.agents.base import (
    CHILD,
    Answer,
    BridgeAddress,
    HookCall,
    HookReply,
    Order,
    Pinged,
    Setup,
    ToClient,
)
from loopguard_cli.agents.codex import make
from loopguard_cli.agents.codex.server import INTERRUPTS
from loopguard_cli.agents.tools import GOAL_TOOLS, GUARD_TOOLS
from loopguard_cli.core.effects import Abort, AnswerGate, CancelEffect, Prompt, Purpose, ReadSession, RunAudit
from loopguard_cli.core.events import (
    AgentDisconnected,
    AuditFinished,
    EffectSettled,
    Event,
    Origin,
    PermissionAnswered,
    PermissionAsked,
    SessionRead,
    Status,
    ToolAsked,
    ToolFinished,
    ToolStarted,
    Unparsed,
    UserSpoke,
)
from loopguard_cli.core.ids import EffectId, RequestId, SessionId

THREAD = SessionId("thread-1")
TURN = "turn-1"
ADDRESS = BridgeAddress(token="", hook_command=("/bin/sh", "hook.sh"), folder="/run/lg")


class Played:
    """An adapter, spoken to as its server and its program would."""

    def __init__(self, *argv: str, interactive: bool = False) -> None:
        setup = Setup(
            argv=("codex", *argv),
            tools=(*GUARD_TOOLS, *GOAL_TOOLS),
            directory="/project",
            interactive=interactive,
        )
        self.adapter: Any = make(setup)
        self.plan = self.adapter.launch({}, ADDRESS)
        self.events: list[Event] = []
        self.sent: list[dict[str, Any]] = []
        self.replies: list[HookReply] = []
        self.shown: list[tuple[int, dict[str, Any]]] = []

    def take(self, answer: Answer | Iterable[Event]) -> None:
        if not isinstance(answer, Answer):
            answer = Answer(events=tuple(answer))
        self.events += answer.events
        for order in answer.orders:
            if isinstance(order, Order) and order.peer == CHILD:
                self.sent.append(order.message)
            elif isinstance(order, HookReply):
                self.replies.append(order)
            elif isinstance(order, ToClient):
                self.shown.append((order.client, order.message))

    def tell(self, method: str, **params: Any) -> None:
        self.take(self.adapter.heard({"method": method, "params": {"threadId": THREAD, **params}}))

    def item(self, when: str, **item: Any) -> None:
        self.tell(f"item/{when}", turnId=TURN, item=item)

    def answer(self, method: str, result: Any) -> None:
        """Answer the newest request of this method."""
        request = next(m for m in reversed(self.sent) if m.get("method") == method)
        self.take(self.adapter.heard({"id": request["id"], "result": result}))

    def carry_out(self, effect: Any) -> None:
        self.take(self.adapter.carry_out(effect))

    def asked(self, method: str) -> list[dict[str, Any]]:
        return [message["params"] for message in self.sent if message.get("method") == method]

    def found(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def hook(self, call: int, command: str, session: SessionId = THREAD) -> None:
        body = {
            "session_id": session,
            "cwd": "/project",
            "tool_name": "Bash",
            "tool_input": {"command": command},
            "tool_use_id": f"call-{call}",
        }
        self.take(self.adapter.called(HookCall(call=call, hook="gate", body=body)))


@pytest.fixture
def running() -> Played:
    """``codex exec`` in its first turn."""
    played = Played("exec", "--skip-git-repo-check", "go")
    played.take(played.adapter.began())
    played.answer("initialize", {"userAgent": "x/0.171.0 (y)"})
    played.answer("hooks/list", {"data": []})
    played.answer("thread/start", {"thread": {"id": THREAD, "cwd": "/project"}})
    played.take(played.adapter.typed(""))
    played.answer("turn/start", {"turn": {"id": TURN, "status": "inProgress"}})
    played.tell("turn/started", turn={"id": TURN, "status": "inProgress"})
    played.item("started", type="userMessage", id="u-1", clientId="person.1", content=[{"text": "go"}])
    return played


def command(played: Played, call: str, text: str = "ls", when: str = "started", **more: Any) -> None:
    shell = f"/bin/bash -lc '{text}'"
    played.item(
        when, type="commandExecution", id=call, command=shell, cwd="/project", processId=f"p-{call}", **more
    )


# --- the gate -----------------------------------------------------------------------------------


def test_hooks_that_are_not_trusted_stay_off_and_those_that_are_stay_on() -> None:
    played = Played("exec", "--skip-git-repo-check", "go")
    played.take(played.adapter.began())
    played.answer("initialize", {})
    hooks = [
        {"key": "bad", "enabled": True, "trustStatus": "untrusted"},
        {"key": "changed", "enabled": True, "trustStatus": "modified"},
        {"key": "good", "enabled": True, "trustStatus": "trusted"},
        {"key": "company", "enabled": True, "isManaged": True, "trustStatus": "managed"},
        {"key": "off", "enabled": False, "trustStatus": "untrusted"},
    ]
    played.answer("hooks/list", {"data": [{"hooks": hooks}]})
    (start,) = played.asked("thread/start")
    assert start["config"]["hooks"]["state"] == {"bad": {"enabled": False}, "changed": {"enabled": False}}
    assert "hook.sh gate" in start["config"]["hooks"]["PreToolUse"][0]["hooks"][0]["command"]


def test_a_refusal_says_why_and_ends_the_call(running: Played) -> None:
    running.hook(1, "ls")
    (asked,) = running.found(ToolAsked)
    assert (asked.tool, asked.args) == ("exec_command", {"cmd": "ls"})
    running.carry_out(AnswerGate(session=THREAD, request=asked.request, allow=False, text="because"))
    (reply,) = running.replies
    assert reply.body is not None
    assert reply.body["hookSpecificOutput"]["permissionDecisionReason"] == "because"
    (finished,) = running.found(ToolFinished)
    assert (finished.refused, finished.output) == (True, "because")


def test_a_call_is_told_as_its_hook_told_it(running: Played) -> None:
    running.hook(1, "ls -l 'a b'")
    running.carry_out(AnswerGate(session=THREAD, request=RequestId("gate.1"), allow=True))
    command(running, "call-1", "something a shell made of it")
    command(running, "call-1", when="completed", status="failed", exitCode=2, aggregatedOutput="no\n")
    (started,), (finished,) = running.found(ToolStarted), running.found(ToolFinished)
    assert started.args == finished.args == {"cmd": "ls -l 'a b'"}
    assert (finished.ok, finished.exit_code, finished.output) == (True, 2, "no\n")
    assert not running.found(AgentDisconnected)


def test_a_command_that_passed_without_our_hook_is_noticed_once(running: Played) -> None:
    command(running, "call-1")
    command(running, "call-2")
    assert len(running.found(AgentDisconnected)) == 1
    assert [event.args for event in running.found(ToolStarted)] == [{"cmd": "ls"}] * 2


def test_a_hook_whose_turn_is_interrupted_leaves_no_open_call(running: Played) -> None:
    running.hook(1, "ls")
    running.carry_out(Abort(session=THREAD, effect=EffectId("a")))
    running.take(running.adapter.hung_up(1))
    (finished,) = running.found(ToolFinished)
    assert finished.cancelled


def test_side_conversations_are_left_alone(running: Played) -> None:
    running.take(
        running.adapter.heard(
            {"method": "thread/started", "params": {"thread": {"id": "title", "ephemeral": True}}}
        )
    )
    before = len(running.events)
    running.hook(7, "ls", SessionId("title"))
    assert running.replies[-1].body is None
    assert len(running.events) == before


# --- where it may work --------------------------------------------------------------------------


def looked(played: Played, found: str) -> None:
    for message in [m for m in played.sent if m.get("method") == "fs/getMetadata"]:
        there = message["params"]["path"] == found
        outcome = {"result": {}} if there else {"error": {"code": -1, "message": "no such file"}}
        played.take(played.adapter.heard({"id": message["id"], **outcome}))


@pytest.mark.parametrize(
    ("repository", "opened"),
    [("/project/.git", 1), ("/.git", 1), ("", 0)],
)
def test_it_works_where_the_program_itself_would(repository: str, opened: int) -> None:
    played = Played("exec", "go")
    played.take(played.adapter.began())
    played.answer("initialize", {})
    played.answer("hooks/list", {"data": []})
    looked(played, repository)
    assert len(played.asked("thread/start")) == opened
    assert played.adapter.finished is not bool(opened)


# --- interrupting -------------------------------------------------------------------------------


def test_an_abort_ends_the_turn_and_only_the_commands_that_it_waits_for(running: Played) -> None:
    command(running, "server")
    running.tell("thread/tokenUsage/updated", tokenUsage={"last": {"inputTokens": 5, "totalTokens": 5}})
    command(running, "slow")
    running.carry_out(Abort(session=THREAD, effect=EffectId("a")))
    assert running.asked("turn/interrupt") == [{"threadId": THREAD, "turnId": TURN}]
    ended = running.asked("thread/backgroundTerminals/terminate")
    assert [params["processId"] for params in ended] == ["p-slow"]
    assert not running.found(EffectSettled)
    running.tell("turn/completed", turn={"id": TURN, "status": "interrupted"})
    assert [(e.effect, e.ok) for e in running.found(EffectSettled)] == [("a", True)]
    assert [(e.call, e.cancelled) for e in running.found(ToolFinished)] == [("slow", True)]


def test_an_abort_before_the_turn_has_begun_interrupts_it_as_soon_as_it_has() -> None:
    played = Played("exec", "--skip-git-repo-check", "go")
    played.take(played.adapter.began())
    played.answer("initialize", {})
    played.answer("hooks/list", {"data": []})
    played.answer("thread/start", {"thread": {"id": THREAD}})
    played.take(played.adapter.typed(""))
    played.carry_out(Abort(session=THREAD, effect=EffectId("a")))
    assert not played.asked("turn/interrupt")
    played.answer("turn/start", {"turn": {"id": TURN}})
    assert played.asked("turn/interrupt") == [{"threadId": THREAD, "turnId": TURN}]


def refuse(played: Played) -> None:
    """It knows no such turn."""
    error = {"code": -32600, "message": "no active turn to interrupt"}
    played.take(played.adapter.heard({"id": played.sent[-1]["id"], "error": error}))


def test_a_turn_that_the_agent_does_not_know_yet_is_told_again(running: Played) -> None:
    running.carry_out(Abort(session=THREAD, effect=EffectId("a")))
    for _ in range(3):
        refuse(running)
    assert len(running.asked("turn/interrupt")) == 4
    running.answer("turn/interrupt", {})
    assert len(running.asked("turn/interrupt")) == 4


def test_a_turn_that_the_agent_takes_long_to_know_is_told_again_when_it_speaks(running: Played) -> None:
    running.carry_out(Abort(session=THREAD, effect=EffectId("a")))
    for _ in range(INTERRUPTS):
        refuse(running)
    assert len(running.asked("turn/interrupt")) == INTERRUPTS
    for _ in range(2):
        running.tell("item/agentMessage/delta", turnId=TURN, itemId="m", delta="Still here.")
    assert len(running.asked("turn/interrupt")) == INTERRUPTS + 1


def test_a_late_answer_does_not_bring_a_finished_turn_back(running: Played) -> None:
    running.tell("turn/completed", turn={"id": TURN, "status": "completed"})
    running.carry_out(Prompt(session=THREAD, effect=EffectId("p"), text="on", purpose=Purpose.RECOVERY))
    running.tell("turn/started", turn={"id": "turn-2"})
    running.tell("turn/completed", turn={"id": "turn-2", "status": "completed"})
    running.answer("turn/start", {"turn": {"id": "turn-2"}})
    running.carry_out(ReadSession(session=THREAD, effect=EffectId("r")))
    assert running.found(SessionRead)[0].status is Status.IDLE


# --- prompts ------------------------------------------------------------------------------------


def test_a_hint_goes_into_the_running_turn_and_is_known_as_ours(running: Played) -> None:
    running.carry_out(Prompt(session=THREAD, effect=EffectId("n"), text="hint", purpose=Purpose.NUDGE))
    (steer,) = running.asked("turn/steer")
    assert (steer["expectedTurnId"], steer["input"][0]["text"]) == (TURN, "hint")
    running.item("started", type="userMessage", id="u-2", clientId="n", content=[{"text": "hint"}])
    assert [spoke.origin for spoke in running.found(UserSpoke)] == [Origin.PERSON, Origin.LOOPGUARD]


def test_no_prompt_while_a_turn_runs(running: Played) -> None:
    running.carry_out(Prompt(session=THREAD, effect=EffectId("p"), text="on", purpose=Purpose.RECOVERY))
    assert [(e.effect, e.ok) for e in running.found(EffectSettled)] == [("p", False)]
    assert len(running.asked("turn/start")) == 1


def test_the_agents_own_goal_is_neither_ours_nor_the_persons(running: Played) -> None:
    running.tell("thread/goal/updated", goal={"objective": "be good", "status": "active"})
    running.tell("turn/completed", turn={"id": TURN, "status": "completed"})
    continuation = Prompt(session=THREAD, effect=EffectId("p"), text="on", purpose=Purpose.CONTINUATION)
    running.carry_out(continuation)
    assert [(e.effect, e.ok) for e in running.found(EffectSettled)] == [("p", False)]
    running.tell("turn/started", turn={"id": "turn-2"})
    running.tell("item/agentMessage/delta", turnId="turn-2", itemId="m", delta="On.")
    assert running.found(UserSpoke)[-1].origin is Origin.HOST


def test_names_of_its_own_goal_tools_are_not_taken() -> None:
    names = {tool["name"] for tool in Played("exec", "--skip-git-repo-check", "go").adapter._tools.offered()}
    assert "goal_complete" in names
    assert names.isdisjoint({"get_goal", "create_goal", "update_goal"})


# --- the auditor --------------------------------------------------------------------------------

AUDIT = RunAudit(session=THREAD, effect=EffectId("audit"), prompt="Look.", timeout=60)


def auditing(played: Played) -> None:
    played.carry_out(AUDIT)
    played.answer("config/read", {"config": {"mcp_servers": {"mail": {"command": "x"}}}})
    played.answer("thread/start", {"thread": {"id": "side", "ephemeral": True}})
    thread = {"method": "thread/started", "params": {"thread": {"id": "side", "ephemeral": True}}}
    played.take(played.adapter.heard(thread))
    played.answer("turn/start", {"turn": {"id": "turn-a"}})


def test_an_auditor_reads_in_a_side_conversation_and_its_last_message_counts(running: Played) -> None:
    auditing(running)
    start = running.asked("thread/start")[-1]
    assert (start["sandbox"], start["approvalPolicy"], start["ephemeral"]) == ("read-only", "never", True)
    assert start["config"]["mcp_servers"] == {"mail": {"enabled": False}}
    before = len(running.events)
    for text in ("I look.", "[audit:approved]"):
        item = {"type": "agentMessage", "id": text, "text": text}
        running.tell("item/completed", threadId="side", turnId="turn-a", item=item)
    assert len(running.events) == before, "it is no part of the task"
    running.tell("turn/completed", threadId="side", turn={"id": "turn-a", "status": "completed"})
    assert running.events[before:] == [
        AuditFinished(session=THREAD, effect=AUDIT.effect, reply="[audit:approved]")
    ]


def test_an_audit_that_fails_says_so_and_one_that_is_not_wanted_is_interrupted(running: Played) -> None:
    auditing(running)
    failed = {"id": "turn-a", "status": "failed", "error": {"message": "no model"}}
    running.tell("turn/completed", threadId="side", turn=failed)
    assert running.found(AuditFinished)[0].error == "no model"
    auditing(running)
    running.carry_out(CancelEffect(session=THREAD, effect=AUDIT.effect))
    assert running.asked("turn/interrupt") == [{"threadId": "side", "turnId": "turn-a"}]
    assert len(running.found(AuditFinished)) == 1


def test_the_program_sees_nothing_of_an_audit(screen: Played) -> None:
    initialize(screen)
    screen.answer("hooks/list", {"data": []})
    shown = len(screen.shown)
    auditing(screen)
    screen.tell("turn/completed", threadId="side", turn={"id": "turn-a", "status": "completed"})
    assert len(screen.shown) == shown


# --- between the program and its server ---------------------------------------------------------


@pytest.fixture
def screen() -> Played:
    played = Played(interactive=True)
    played.take(played.adapter.joined(1))
    return played


def say(played: Played, client: int, **message: Any) -> None:
    played.take(played.adapter.said(client, message))


def initialize(played: Played) -> None:
    say(
        played,
        1,
        id="one",
        method="initialize",
        params={"capabilities": {"optOutNotificationMethods": ["turn/started", "x"]}},
    )
    played.answer("initialize", {"userAgent": "x/0.171.0 (y)"})
    say(played, 1, method="initialized")


def test_the_program_is_pointed_to_us_and_its_settings_to_the_server() -> None:
    plan = Played("-c", "a=1", "-m", "gpt", "fix it", interactive=True).plan
    assert plan.argv == ("codex", "--remote", "unix:///run/lg/codex", "-m", "gpt", "fix it")
    assert plan.server == ("codex", "-c", "a=1", "app-server")


def test_requests_keep_their_ids_whatever_their_type(screen: Played) -> None:
    initialize(screen)
    for name in (7, "7", "a.b"):
        say(screen, 1, id=name, method="model/list")
        screen.answer("model/list", {"data": []})
        assert screen.shown[-1] == (1, {"id": name, "result": {"data": []}})


def test_what_we_must_hear_is_not_switched_off(screen: Played) -> None:
    initialize(screen)
    (asked,) = screen.asked("initialize")
    assert asked["capabilities"]["optOutNotificationMethods"] == ["x"]
    assert asked["capabilities"]["experimentalApi"] is True


def test_threads_wait_for_the_list_of_hooks_and_get_our_hook_and_tools(screen: Played) -> None:
    initialize(screen)
    theirs = {"type": "namespace", "name": "codex_tui", "tools": []}
    params = {"config": {"x": 1}, "dynamicTools": [theirs]}
    say(screen, 1, id=1, method="thread/start", params=params)
    assert not screen.asked("thread/start")
    screen.answer("hooks/list", {"data": []})
    (start,) = screen.asked("thread/start")
    assert start["config"]["x"] == 1
    assert "PreToolUse" in start["config"]["hooks"]
    assert start["dynamicTools"][0] == theirs
    assert "loop_check" in [tool.get("name") for tool in start["dynamicTools"]]


def test_a_side_conversation_is_opened_as_the_program_wants_it(screen: Played) -> None:
    initialize(screen)
    screen.answer("hooks/list", {"data": []})
    params = {"ephemeral": True, "config": {"features.hooks": False}}
    say(screen, 1, id=1, method="thread/start", params=params)
    assert screen.asked("thread/start") == [params]


def test_questions_go_to_the_person_and_answers_to_the_server(screen: Played) -> None:
    initialize(screen)
    question = {"id": 0, "method": "item/commandExecution/requestApproval", "params": {"threadId": THREAD}}
    screen.take(screen.adapter.heard(question))
    assert screen.shown[-1] == (1, question)
    say(screen, 1, id=0, result={"decision": "accept"})
    assert screen.sent[-1] == {"id": 0, "result": {"decision": "accept"}}
    (asked,), (answered,) = screen.found(PermissionAsked), screen.found(PermissionAnswered)
    assert (asked.request, answered.allowed) == (answered.request, True)


def test_our_tools_are_called_by_us_and_those_of_the_program_by_it(screen: Played) -> None:
    initialize(screen)
    shown = len(screen.shown)
    ours = {"threadId": THREAD, "tool": "loop_check", "arguments": {}, "namespace": None}
    screen.take(screen.adapter.heard({"id": 1, "method": "item/tool/call", "params": ours}))
    assert len(screen.shown) == shown
    theirs = {**ours, "namespace": "codex_tui"}
    screen.take(screen.adapter.heard({"id": 2, "method": "item/tool/call", "params": theirs}))
    assert screen.shown[-1][1]["params"] == theirs


def test_a_second_client_learns_what_the_first_one_did(screen: Played) -> None:
    initialize(screen)
    screen.take(screen.adapter.joined(2))
    say(screen, 2, id=5, method="initialize", params={})
    assert screen.shown[-1] == (2, {"id": 5, "result": {"userAgent": "x/0.171.0 (y)"}})
    assert len(screen.asked("initialize")) == 1


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"method": []},
        {"method": {}, "id": []},
        {"method": "thread/start", "id": None, "params": []},
        {"method": "initialize", "params": {"capabilities": {"optOutNotificationMethods": [None, 1]}}},
        {"id": [], "result": 3},
        {"id": 0, "result": {"decision": {"acceptWithExecpolicyAmendment": {}}}},
    ],
)
def test_a_program_of_another_version_is_no_error(screen: Played, message: dict[str, Any]) -> None:
    initialize(screen)
    screen.answer("hooks/list", {"data": []})
    screen.take(screen.adapter.said(1, message))
    screen.take(screen.adapter.heard(message))


def test_what_is_not_known_is_counted_and_holds_nothing_up(running: Played) -> None:
    running.item("completed", type="brandNew", id="i1")
    running.tell("turn/brandNew")
    running.take(running.adapter.called(HookCall(call=9, hook="gate", body={"session": THREAD})))
    assert len(running.found(Unparsed)) == 3
    assert running.replies[-1] == HookReply(call=9)
    running.item("completed", type="plan", id="i2")
    running.tell("thread/name/updated", threadName="A title")
    running.tell("account/updated")
    assert len(running.found(Unparsed)) == 3


def test_the_warning_about_our_own_hook_is_not_shown(screen: Played) -> None:
    initialize(screen)
    shown = len(screen.shown)
    screen.tell("warning", message="`--dangerously-bypass-hook-trust` is enabled. Enabled hooks may run.")
    assert len(screen.shown) == shown
    screen.tell("warning", message="Something else.")
    assert len(screen.shown) == shown + 1


# --- whether it is there ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said", [{"result": {"data": [THREAD]}}, {"error": {"code": -32600, "message": "unknown variant"}}]
)
def test_whatever_it_answers_when_asked_whether_it_is_there_is_no_event(
    running: Played, said: dict[str, Any]
) -> None:
    agent = running.adapter
    assert isinstance(agent, Pinged)
    sent, events = len(running.sent), len(running.events)
    running.take(agent.ping())
    (asked,) = running.sent[sent:]
    running.take(running.adapter.heard({"id": asked["id"], **said}))
    assert (len(running.sent), len(running.events)) == (sent + 1, events)
