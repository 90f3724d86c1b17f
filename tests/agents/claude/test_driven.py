"""Claude Code in print mode, played: what is sent to it, and what the person gets to see."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopguard_cli.agents.base import Answer, BridgeAddress, Order, Pinged, Setup, Show, Shown, Streams
from loopguard_cli.agents.claude import make
from loopguard_cli.agents.claude.driven import Driven
from loopguard_cli.agents.tools import GUARD_TOOLS
from loopguard_cli.core.effects import Abort, AnswerGate, Prompt, Purpose, Respond
from loopguard_cli.core.events import (
    AgentDisconnected,
    AgentError,
    Asked,
    EffectSettled,
    Event,
    Origin,
    ReplyFinished,
    Status,
    StatusChanged,
    Surface,
    ToolAsked,
    ToolFinished,
    ToolStarted,
    Unparsed,
    UserSpoke,
)
from loopguard_cli.core.ids import EffectId, SessionId

SESSION = SessionId("s1")


class Played:
    """An adapter, and what it answers."""

    def __init__(self, *argv: str) -> None:
        made = make(Setup(argv=("claude", "-p", *argv), interactive=False, tools=GUARD_TOOLS))
        assert isinstance(made, Driven)
        self.adapter = made
        self.plan = made.launch({}, BridgeAddress(token="t"))
        self.sent: list[dict[str, Any]] = []
        self.shown: list[Shown] = []
        self.events: list[Event] = []

    def take(self, answer: Answer) -> list[Event]:
        self.sent += [order.message for order in answer.orders if isinstance(order, Order)]
        self.shown += [order for order in answer.orders if isinstance(order, Shown)]
        self.events += answer.events
        return list(answer.events)

    def hears(self, kind: str, **fields: Any) -> list[Event]:
        return self.take(self.adapter.heard({"type": kind, "session_id": SESSION, **fields}))

    def asks(self, request: str, subtype: str, **fields: Any) -> list[Event]:
        """A control request of its."""
        asked = {"subtype": subtype, **fields}
        return self.take(
            self.adapter.heard({"type": "control_request", "request_id": request, "request": asked})
        )

    def hook(self, request: str, name: str, **body: Any) -> list[Event]:
        given = {"session_id": SESSION, "hook_event_name": name, **body}
        return self.asks(request, "hook_callback", callback_id=name, input=given)

    def wants(self, effect: Any) -> list[Event]:
        return self.take(self.adapter.carry_out(effect))

    def prompted(self, text: str = "") -> Played:
        """The first turn runs."""
        self.take(self.adapter.began())
        self.take(self.adapter.typed(text))
        return self.begun()

    def begun(self) -> Played:
        """The prompt that was sent last begins."""
        self.hears("command_lifecycle", command_uuid=self.sent[-1]["uuid"], state="started")
        return self

    def ends(self, reason: str = "completed", **fields: Any) -> list[Event]:
        given = {"subtype": "success", "is_error": False, "result": "Done.", "terminal_reason": reason}
        return self.hears("result", **{**given, **fields})

    def answer(self, request: str) -> Any:
        responses = [message["response"] for message in self.sent if message["type"] == "control_response"]
        (found,) = [response for response in responses if response["request_id"] == request]
        return found.get("response")

    def seen(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def waits(self) -> bool:
        return self.adapter.waiting

    @property
    def out(self) -> str:
        return "".join(shown.text for shown in self.shown if shown.kind is Show.OUT)


def prompt(effect: str = "e1") -> Prompt:
    return Prompt(session=SESSION, effect=EffectId(effect), text="Go on.", purpose=Purpose.CONTINUATION)


def settled(events: list[Event]) -> list[tuple[str, bool]]:
    return [(event.effect, event.ok) for event in events if isinstance(event, EffectSettled)]


# --- launching and prompting --------------------------------------------------------------------


def test_its_streams_are_ours_and_the_prompt_is_the_first_message() -> None:
    played = Played("--model", "opus", "do it").prompted("from a pipe")
    assert played.plan.streams is Streams.PIPED
    assert "do it" not in played.plan.argv
    assert played.plan.argv[-2:] == ("--model", "opus")
    initialize, message = played.sent
    assert "PreToolUse" in initialize["request"]["hooks"]
    assert message["message"]["content"] == "do it\nfrom a pipe"
    assert [event.text for event in played.seen(UserSpoke)] == ["do it\nfrom a pipe"]


def test_without_a_prompt_there_is_nothing_to_do() -> None:
    played = Played()
    played.take(played.adapter.typed(""))
    assert played.adapter.finished
    assert [event.code for event in played.adapter.exited(0) if hasattr(event, "code")] == [1]


def test_a_continuation_is_settled_when_its_turn_begins() -> None:
    played = Played("do it").prompted()
    assert settled(played.wants(prompt("early"))) == [("early", False)]
    played.ends()
    assert played.waits()
    assert settled(played.wants(prompt())) == []
    assert not played.waits()
    played.begun()
    assert settled(played.events)[-1] == ("e1", True)
    assert played.seen(UserSpoke)[-1].origin is Origin.LOOPGUARD


def test_a_turn_that_begins_by_itself_is_waited_for() -> None:
    played = Played("do it").prompted()
    tasks = [{"task_id": "a1", "task_type": "local_agent"}, {"task_id": "b1", "task_type": "local_bash"}]
    played.hears("system", subtype="background_tasks_changed", tasks=tasks)
    assert StatusChanged(session=SESSION, status=Status.IDLE) not in played.ends()
    assert not played.waits()
    played.hears("system", subtype="background_tasks_changed", tasks=tasks[1:])
    played.hears("system", subtype="init")
    assert not played.waits()
    played.ends()
    assert played.waits()


# --- gate, tools --------------------------------------------------------------------------------


def test_the_gate_is_a_hook_on_the_same_pipe() -> None:
    played = Played("do it").prompted()
    (asked,) = played.hook(
        "r1", "PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="c1"
    )
    assert isinstance(asked, ToolAsked)
    played.wants(AnswerGate(session=SESSION, request=asked.request, allow=False, text="no"))
    assert played.answer("r1")["hookSpecificOutput"]["permissionDecisionReason"] == "no"
    block = {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "no"}
    (finished,) = played.hears("user", message={"content": [block]})
    assert isinstance(finished, ToolFinished)
    assert finished.refused


def test_a_sub_agents_call_is_its_own_and_stopping_it_stops_only_it() -> None:
    played = Played("do it").prompted()
    *_, asked = played.hook("r1", "PreToolUse", tool_name="Bash", tool_use_id="c1", agent_id="a1")
    assert asked.session == "s1/a1"
    assert played.wants(Abort(session=SessionId("s1/a1"), effect=EffectId("stop"))) == []
    request = played.sent[-1]
    assert request["request"] == {"subtype": "stop_task", "task_id": "a1"}
    answered = {"subtype": "success", "request_id": request["request_id"]}
    assert settled(played.hears("control_response", response=answered)) == [("stop", True)]


def test_our_tools_are_served_on_the_same_pipe() -> None:
    played = Played("do it").prompted()
    call = {"name": "loop_check", "arguments": {"toolName": "Bash", "argsJson": "{}"}}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
    (asked,) = played.asks("r1", "mcp_message", server_name="loopguard", message=message)
    assert isinstance(asked, Asked)
    assert (asked.operation, asked.surface, asked.session) == ("guard.check", Surface.TOOL, SESSION)
    played.wants(Respond(session=SESSION, request=asked.request, ok=True, text="once"))
    served = played.answer("r1")["mcp_response"]
    assert (served["id"], served["result"]["content"][0]["text"]) == (7, "once")


def test_a_hint_is_read_beside_the_next_result() -> None:
    played = Played("do it").prompted()
    hint = Prompt(session=SESSION, effect=EffectId("hint"), text="Mind this.", purpose=Purpose.NUDGE)
    assert settled(played.wants(hint)) == []
    events = played.hook("r1", "PostToolUse", tool_name="Bash", tool_use_id="c1")
    assert played.answer("r1")["hookSpecificOutput"]["additionalContext"] == "Mind this."
    assert settled(events) == [("hint", True)]


def test_without_hooks_calls_are_read_from_the_stream() -> None:
    played = Played("--bare", "do it").prompted()
    assert not played.adapter.capabilities.gate
    block = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}
    events = played.hears("assistant", message={"id": "m1", "content": [block]})
    assert [event.tool for event in events if isinstance(event, ToolStarted)] == ["Bash"]


def bare(*, running: bool) -> Played:
    """A turn without hooks, with a hint for it; ``running``: while a call runs."""
    played = Played("--bare", "do it").prompted()
    if running:
        block = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}
        played.hears("assistant", message={"id": "m1", "content": [block]})
    hint = Prompt(session=SESSION, effect=EffectId("hint"), text="Mind this.", purpose=Purpose.NUDGE)
    assert settled(played.wants(hint)) == []
    return played


def test_without_hooks_a_hint_is_a_message_beside_the_result_of_the_call_that_runs() -> None:
    played = bare(running=True)
    message = played.sent[-1]
    assert (message["message"]["content"], message["priority"]) == ("Mind this.", "next")
    events = played.hears("command_lifecycle", command_uuid=message["uuid"], state="started")
    assert settled(events) == [("hint", True)]


def test_a_hint_that_nothing_will_read_is_called_back_and_begins_no_turn() -> None:
    played = bare(running=True)
    message = played.sent[-1]
    played.hears("user", message={"content": [{"type": "tool_result", "tool_use_id": "c1"}]})
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    played.hears("stream_event", event=end)
    wanted = {"subtype": "cancel_async_message", "message_uuid": message["uuid"]}
    assert played.sent[-1]["request"] == wanted
    events = played.hears("command_lifecycle", command_uuid=message["uuid"], state="cancelled")
    assert settled(events) == [("hint", False)]
    assert settled(played.ends()) == []


def test_an_interrupt_drops_hints_that_would_begin_a_turn() -> None:
    played = bare(running=True)
    played.wants(Abort(session=SESSION, effect=EffectId("abort")))
    assert played.sent[-1]["request"] == {"subtype": "interrupt", "cancel_queued": True}


def test_a_hint_while_no_call_runs_waits_for_one() -> None:
    played = bare(running=False)
    before = len(played.sent)
    assert settled(played.ends()) == [("hint", False)]
    assert len(played.sent) == before


def test_a_tool_that_ran_unasked_is_noticed() -> None:
    played = Played("do it").prompted()
    block = {"type": "tool_result", "tool_use_id": "c1", "content": "ran"}
    assert AgentDisconnected in [type(event) for event in played.hears("user", message={"content": [block]})]


def test_a_call_that_came_to_nothing_is_told_and_those_cancelled_with_it_are_not() -> None:
    played = Played().prompted("Do it.")
    uses = [{"type": "tool_use", "id": name, "name": "Nope", "input": {"a": 1}} for name in ("t1", "t2")]
    played.hears("assistant", message={"id": "m1", "content": uses})
    refused = {"t1": "Error: No such tool available: Nope", "t2": "Cancelled: parallel tool call errored"}
    for name, why in refused.items():
        text = f"<tool_use_error>{why}</tool_use_error>"
        result = {"type": "tool_result", "tool_use_id": name, "is_error": True, "content": text}
        played.hears("user", message={"content": [result]})
    told = [event for event in played.events if isinstance(event, ToolStarted | ToolFinished)]
    assert [(type(event), event.call, event.message) for event in told] == [
        (ToolStarted, "t1", "m1"),
        (ToolFinished, "t1", "m1"),
    ]


def test_what_is_not_known_is_refused_and_counted() -> None:
    played = Played("do it").prompted()
    assert [type(event) for event in played.asks("r1", "brand_new")] == [Unparsed]
    assert played.sent[-1]["response"]["subtype"] == "error"
    assert [type(event) for event in played.hears("brand_new")] == [Unparsed]
    played.hears("stream_event", event={"type": "message_start", "message": {"id": "m1"}})
    delta = {"type": "content_block_delta", "delta": {"type": "brand_new_delta", "brand_new": "x"}}
    for event in ({"type": "brand_new"}, delta):
        assert [type(event) for event in played.hears("stream_event", event=event)] == [Unparsed]
    for event in ({"type": "ping"}, {"type": "content_block_delta", "delta": {"type": "signature_delta"}}):
        assert played.hears("stream_event", event=event) == []


# --- ends of turns ------------------------------------------------------------------------------


def test_an_abort_is_settled_by_the_end_of_the_turn() -> None:
    played = Played("do it").prompted()
    played.hears("stream_event", event={"type": "message_start", "message": {"id": "m1"}})
    assert played.wants(Abort(session=SESSION, effect=EffectId("abort"))) == []
    assert played.sent[-1]["request"] == {"subtype": "interrupt"}
    events = played.ends("aborted_streaming", subtype="error_during_execution", is_error=True)
    assert settled(events) == [("abort", True)]
    assert [event.aborted for event in events if isinstance(event, ReplyFinished)] == [True]
    assert not played.seen(AgentError), "nothing has failed"


def test_an_error_of_the_provider_is_an_error_and_the_exit_status() -> None:
    played = Played("do it").prompted()
    played.ends("api_error", is_error=True, result="API Error: 400")
    assert [event.text for event in played.seen(AgentError)] == ["API Error: 400"]
    assert [event.code for event in played.adapter.exited(0) if hasattr(event, "code")] == [1]


# --- what is printed ----------------------------------------------------------------------------


def test_only_the_last_answer_is_printed_as_text() -> None:
    played = Played("do it").prompted()
    played.ends(result="Half of it.")
    played.wants(prompt())
    played.begun().ends(result="All of it.")
    assert played.out == ""
    played.take(played.adapter.concluded())
    assert played.out == "All of it.\n"


def test_json_and_verbose_json() -> None:
    for options, kinds in ((["--output-format", "json"], None), (["--output-format=json", "--verbose"], 2)):
        played = Played(*options, "do it").prompted()
        played.hears("assistant", message={"id": "m1", "content": []})
        played.ends()
        played.take(played.adapter.concluded())
        printed = json.loads(played.out)
        assert (printed["result"] == "Done.") if kinds is None else (len(printed) == kinds)


def test_a_stream_holds_partial_messages_only_if_they_were_asked_for() -> None:
    for options, expected in (([], ["result"]), (["--include-partial-messages"], ["stream_event", "result"])):
        played = Played("--output-format", "stream-json", "--verbose", *options, "do it").prompted()
        played.hears("stream_event", event={"type": "message_start", "message": {"id": "m1"}})
        played.ends()
        assert [json.loads(line)["type"] for line in played.out.splitlines()] == expected


def test_a_limit_of_turns_is_said_as_it_says_it() -> None:
    played = Played("--max-turns", "3", "do it").prompted()
    played.ends("max_turns", subtype="error_max_turns", is_error=True)
    played.take(played.adapter.concluded())
    assert played.out == "Error: Reached max turns (3)"


# --- whether it is there --------------------------------------------------------------------------


@pytest.mark.parametrize("subtype", ["success", "error"])
@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_whatever_it_answers_when_asked_whether_it_is_there_nobody_sees_it(form: str, subtype: str) -> None:
    played = Played("go", "--output-format", form, "--verbose").prompted()
    assert isinstance(played.adapter, Pinged)
    before = len(played.shown)
    assert played.take(played.adapter.ping()) == []
    asked = played.sent[-1]
    assert asked["type"] == "control_request"
    said = {"subtype": subtype, "request_id": asked["request_id"], "error": "unknown"}
    assert played.hears("control_response", response=said) == []
    assert played.shown[before:] == []
    played.take(played.adapter.concluded())
    assert asked["request_id"] not in "".join(shown.text for shown in played.shown)
