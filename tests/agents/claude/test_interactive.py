"""An interactive Claude Code, played: which hook is answered when, and by what a prompt goes in."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from loopguard_cli.agents.base import Answer, BridgeAddress, HookCall, HookReply, Keys, Setup, Streams
from loopguard_cli.agents.claude import make
from loopguard_cli.agents.claude.interactive import CAP, Interactive
from loopguard_cli.agents.tools import GUARD_TOOLS, LOOP_GUARD, goal_command
from loopguard_cli.core.effects import (
    Abort,
    AnswerGate,
    CancelEffect,
    Prompt,
    Purpose,
    Respond,
    SetContext,
    Tell,
)
from loopguard_cli.core.events import (
    AgentConnected,
    AgentDisconnected,
    AgentError,
    Asked,
    EffectSettled,
    Event,
    Origin,
    ReplyStarted,
    Status,
    StatusChanged,
    Surface,
    TextDelta,
    ToolAsked,
    ToolFinished,
    Unparsed,
    UserSpoke,
)
from loopguard_cli.core.ids import EffectId, SessionId

SESSION = SessionId("s1")
PATH = "/transcripts/s1.jsonl"
ADDRESS = BridgeAddress(
    token="t", hooks="http://127.0.0.1:9/word/", hook_command=("/bin/sh", "hook.sh"), folder="/run/x"
)


class Played:
    """An adapter, and what it answers."""

    def __init__(self, *argv: str, environ: dict[str, str] | None = None) -> None:
        setup = Setup(argv=("claude", *argv), tools=GUARD_TOOLS, commands=(LOOP_GUARD, goal_command()))
        made = make(setup)
        assert isinstance(made, Interactive)
        self.adapter = made
        self.plan = made.launch(environ or {}, ADDRESS)
        self.replies: dict[int, HookReply] = {}
        self.keys: list[bytes] = []
        self.events: list[Event] = []
        self._calls = count(1)

    def take(self, answer: Answer) -> list[Event]:
        for order in answer.orders:
            if isinstance(order, HookReply):
                assert order.call not in self.replies, "answered twice"
                self.replies[order.call] = order
            elif isinstance(order, Keys):
                self.keys.append(order.data)
        self.events += answer.events
        return list(answer.events)

    def hook(self, name: str, **body: Any) -> int:
        call = next(self._calls)
        given = {"session_id": SESSION, "transcript_path": PATH, "hook_event_name": name, **body}
        self.take(self.adapter.called(HookCall(call=call, hook=name, body=given)))
        return call

    def considered(self, call: int) -> None:
        self.take(self.adapter.considered(call))

    def wants(self, effect: Any) -> list[Event]:
        return self.take(self.adapter.carry_out(effect))

    def writes(self, *lines: dict[str, Any]) -> list[Event]:
        data = b"".join(json.dumps({"sessionId": SESSION, **line}).encode() + b"\n" for line in lines)
        return self.take(self.adapter.appended(PATH, data))

    def started(self) -> Played:
        self.hook("SessionStart")
        return self

    def body(self, call: int) -> Any:
        return self.replies[call].body

    def seen(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def prompt(text: str = "Go on.", effect: str = "e1") -> Prompt:
    return Prompt(session=SESSION, effect=EffectId(effect), text=text, purpose=Purpose.CONTINUATION)


def said(text: str, reason: str | None = "end_turn", message: str = "m1") -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "assistant", "message": {"id": message, "content": content, "stop_reason": reason}}


def feedback(body: Any) -> str:
    return str(body["hookSpecificOutput"]["additionalContext"])


# --- launching ----------------------------------------------------------------------------------


def test_the_command_line_stays_and_a_plugin_is_added() -> None:
    plan = Played("--settings", "mine.json", "hello").plan
    assert plan.argv == ("claude", "--plugin-dir", "/run/x/plugin", "--settings", "mine.json", "hello")
    assert plan.streams is Streams.TERMINAL
    hooks = json.loads(plan.files["plugin/hooks/hooks.json"])["hooks"]
    (entry,) = hooks["PreToolUse"][0]["hooks"]
    assert entry["url"] == "http://127.0.0.1:9/word/PreToolUse"
    assert "onFailure" not in entry, "it fails open"
    called_often = [
        hook["type"]
        for name, groups in hooks.items()
        for hook in groups[0]["hooks"][:1]
        if name != "SessionStart"
    ]
    assert set(called_often) == {"http"}, "no process is started for a call"
    assert [h["type"] for h in hooks["SessionStart"][0]["hooks"]] == ["command", "command"]
    assert b'"loopguard: set, show or steer' in plan.files["plugin/commands/goal.md"]
    assert not any("word" in word for word in plan.argv), "the word that lets in is in no command line"


def test_unanswered_calls_are_refused_only_where_the_person_chose_that() -> None:
    made = make(Setup(argv=("claude",), fail_closed=True))
    hooks = json.loads(made.launch({}, ADDRESS).files["plugin/hooks/hooks.json"])["hooks"]
    closed = [name for name, groups in hooks.items() if "onFailure" in str(groups)]
    assert closed == ["PreToolUse"]
    assert hooks["PreToolUse"][0]["hooks"][0]["onFailure"] == "block"


def test_what_has_another_shape_is_counted_and_holds_nothing_up() -> None:
    played = Played().started()
    called = [
        played.hook("PreToolUse", tool_name="Bash", tool={"id": "c1"}),
        played.hook("PostToolUse", session_id="", tool_name="Bash"),
    ]
    played.writes({"type": "brand-new", "message": {"content": "What is this?"}})
    played.writes({"type": "assistant", "message": {"content": [{"type": "text", "text": "Nameless."}]}})
    assert [played.body(call) for call in called] == [None, None]
    assert len(played.seen(Unparsed)) == 4
    played.writes({"type": "ai-title", "title": "Something about the program"})
    assert len(played.seen(Unparsed)) == 4


def test_an_opening_stands_where_no_option_takes_it() -> None:
    played = Played("--allowedTools", "Bash")
    played.adapter.opening = "start"
    assert played.adapter.launch({}, ADDRESS).argv[:2] == ("claude", "start")


@pytest.mark.parametrize("option", ["--bare", "--safe-mode"])
def test_without_hooks_it_is_said_that_nothing_is_guarded(option: str) -> None:
    plan = Played(option).plan
    assert plan.argv == ("claude", option)
    assert not plan.bridged
    assert "UNGUARDED" in plan.remarks[0]


def test_a_process_that_ends_by_itself_has_no_waiting_hooks() -> None:
    plan = Played("-p", "--input-format", "stream-json").plan
    assert plan.streams is Streams.INHERITED
    assert b"asyncRewake" not in plan.files["plugin/hooks/hooks.json"]


# --- the gate -----------------------------------------------------------------------------------


def test_the_gate_waits_and_its_refusal_says_why() -> None:
    played = Played().started()
    assert played.seen(AgentConnected)
    call = played.hook("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="c1")
    (asked,) = played.seen(ToolAsked)
    assert call not in played.replies
    played.wants(AnswerGate(session=SESSION, request=asked.request, allow=False, text="no"))
    output = played.body(call)["hookSpecificOutput"]
    assert (output["permissionDecision"], output["permissionDecisionReason"]) == ("deny", "no")
    (finished,) = played.writes(
        {
            "type": "user",
            "message": {
                "content": [{"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "no"}]
            },
        }
    )
    assert isinstance(finished, ToolFinished)
    assert finished.refused


def test_a_call_that_was_allowed_asks_whatever_claude_code_asks_itself() -> None:
    played = Played().started()
    call = played.hook("PreToolUse", tool_name="Bash", tool_input={}, tool_use_id="c1")
    (asked,) = played.seen(ToolAsked)
    played.wants(AnswerGate(session=SESSION, request=asked.request, allow=True))
    assert played.body(call) is None


def test_our_own_tools_may_always_run_and_are_no_calls_of_the_task() -> None:
    played = Played().started()
    name = "mcp__plugin_loopguard_loopguard__loop_check"
    call = played.hook("PreToolUse", tool_name=name, tool_input={}, tool_use_id="c1")
    assert played.body(call)["hookSpecificOutput"]["permissionDecision"] == "allow"
    assert not played.seen(ToolAsked)


def test_a_tool_that_ran_unasked_is_noticed_once() -> None:
    played = Played().started()
    block = {"type": "tool_result", "tool_use_id": "c9", "content": "ran"}
    line = {"type": "user", "message": {"content": [block]}}
    played.writes(line, line)
    assert len(played.seen(AgentDisconnected)) == 1


def test_what_a_call_returned_is_known_before_the_next_one_is_asked() -> None:
    played = Played().started()
    played.hook("PreToolUse", tool_name="Bash", tool_input={}, tool_use_id="c1")
    played.hook(
        "PostToolUse", tool_name="Bash", tool_use_id="c1", tool_response={"stdout": "out", "stderr": ""}
    )
    played.hook("PreToolUse", tool_name="Bash", tool_input={}, tool_use_id="c2")
    played.hook("PostToolUseFailure", tool_name="Bash", tool_use_id="c2", error="Exit code 3\nbad")
    assert [(e.ok, e.output, e.exit_code) for e in played.seen(ToolFinished)] == [
        (True, "out", 0),
        (False, "Exit code 3\nbad", 3),
    ]


def test_a_call_belongs_to_the_turn_though_its_message_is_written_down_later() -> None:
    played = Played().started()
    played.hook("UserPromptSubmit", prompt="task", prompt_id="p1")
    played.hook("PreToolUse", tool_name="Bash", tool_input={}, tool_use_id="c1")
    played.writes(said("Look: ", "tool_use"))
    order = [type(event) for event in played.events if isinstance(event, ReplyStarted | ToolAsked)]
    assert order == [ReplyStarted, ToolAsked, ReplyStarted]
    assert {event.answers for event in played.seen(ReplyStarted)} == {"p1"}


# --- prompts ------------------------------------------------------------------------------------


def test_a_prompt_at_the_end_of_a_turn_is_the_answer_of_the_stop_hook() -> None:
    played = Played().started()
    played.hook("UserPromptSubmit", prompt="task", prompt_id="p1")
    stop = played.hook("Stop", prompt_id="p1", last_assistant_message="Half of it.")
    assert stop not in played.replies
    settled = played.wants(prompt())
    assert feedback(played.body(stop)) == "Go on."
    assert isinstance(settled[0], EffectSettled)
    assert settled[0].ok
    spoke = played.seen(UserSpoke)
    assert [event.origin for event in spoke] == [Origin.PERSON, Origin.LOOPGUARD]
    assert spoke[1].effect == "e1"
    played.considered(stop)


def test_a_turn_that_nothing_comes_of_ends() -> None:
    played = Played().started()
    stop = played.hook("Stop", last_assistant_message="Done.")
    played.considered(stop)
    assert played.body(stop) is None
    assert played.seen(StatusChanged)[-1].status is Status.IDLE


def test_a_later_prompt_is_pushed_by_the_hook_that_waits_and_comes_back_as_ours() -> None:
    played = Played().started()
    waiter = played.hook("wait")
    played.wants(prompt("<goal>Go on with it.</goal>"))
    assert (played.replies[waiter].code, played.replies[waiter].text) == (2, "<goal>Go on with it.</goal>")
    text = "<task-notification>x</task-notification> &lt;goal&gt;Go on with it.&lt;/goal&gt;"
    played.hook("UserPromptSubmit", prompt=text, prompt_id="p2")
    assert [event.origin for event in played.seen(UserSpoke)] == [Origin.LOOPGUARD]
    assert [event.effect for event in played.seen(EffectSettled)] == ["e1"]


def test_a_report_of_a_sub_agent_is_nobodys_word() -> None:
    played = Played().started()
    played.hook("UserPromptSubmit", prompt="<task-notification>done</task-notification>", prompt_id="p2")
    assert [event.origin for event in played.seen(UserSpoke)] == [Origin.HOST]


def test_one_waiting_hook_is_enough() -> None:
    played = Played().started()
    first, second = played.hook("wait"), played.hook("wait")
    assert (played.replies[first].code, second in played.replies) == (0, False)


def test_without_a_waiting_hook_a_prompt_waits_for_one_unless_it_is_called_back() -> None:
    played = Played().started()
    played.hook("Stop")
    played.considered(2)
    played.wants(prompt("first", "e1"))
    played.wants(prompt("second", "e2"))
    played.wants(CancelEffect(effect=EffectId("e1")))
    waiter = played.hook("wait")
    assert played.replies[waiter].text == "second"


def test_the_cap_on_answers_of_the_stop_hook_is_never_reached() -> None:
    played = Played(environ={CAP: "3"}).started()
    played.hook("wait")
    ways = []
    for number in range(5):
        stop = played.hook("Stop", last_assistant_message=f"{number}")
        played.wants(prompt(f"Go on {number}.", f"e{number}"))
        played.considered(stop)
        ways.append(played.body(stop) is not None)
        if not ways[-1]:
            played.hook("UserPromptSubmit", prompt=f"Go on {number}.", prompt_id=f"p{number}")
            played.hook("wait")
    assert ways == [True, True, False, True, True]


def test_a_tool_call_starts_the_count_anew() -> None:
    played = Played(environ={CAP: "3"}).started()
    for number in range(4):
        stop = played.hook("Stop")
        played.wants(prompt(effect=f"e{number}"))
        assert played.body(stop) is not None
        played.hook("PreToolUse", tool_name="Bash", tool_input={}, tool_use_id=f"c{number}")


def test_a_prompt_is_refused_while_a_turn_runs() -> None:
    played = Played().started()
    played.hook("UserPromptSubmit", prompt="task", prompt_id="p1")
    (settled,) = played.wants(prompt())
    assert isinstance(settled, EffectSettled)
    assert not settled.ok


def test_what_was_never_taken_is_settled_when_the_agent_is_gone() -> None:
    played = Played().started()
    played.wants(prompt())
    settled = [event for event in played.adapter.exited(0) if isinstance(event, EffectSettled)]
    assert [(event.effect, event.ok) for event in settled] == [("e1", False)]


# --- text ---------------------------------------------------------------------------------------


def texts(played: Played) -> list[str]:
    return [event.delta for event in played.seen(TextDelta)]


def test_the_last_text_is_told_once_whoever_has_it_first() -> None:
    late, early = Played().started(), Played().started()
    for played in (late, early):
        played.hook("UserPromptSubmit", prompt="task", prompt_id="p1")
    stop = late.hook("Stop", prompt_id="p1", last_assistant_message="Done.")
    late.considered(stop)
    late.writes({"type": "user", "promptId": "p1", "message": {"content": "task"}}, said("Done."))
    early.writes(said("Done."))
    early.hook("Stop", prompt_id="p1", last_assistant_message="Done.")
    assert texts(late) == texts(early) == ["Done."]


def test_the_next_turn_is_read_again() -> None:
    played = Played().started()
    played.hook("UserPromptSubmit", prompt="task", prompt_id="p1")
    played.hook("Stop", prompt_id="p1", last_assistant_message="Done.")
    played.writes(said("Done."), {"type": "system", "subtype": "stop_hook_summary"})
    played.writes(said("Look: ", "tool_use", "m2"))
    assert texts(played) == ["Done.", "Look: "]


def test_text_that_a_person_cut_off_is_no_finding_any_more() -> None:
    played = Played().started()
    played.hook("UserPromptSubmit", prompt="task", prompt_id="p1")
    interrupted = {
        "type": "user",
        "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]},
    }
    played.writes(said("Over and over", None), interrupted)
    assert texts(played) == []
    assert [event.aborted for event in played.seen(AgentError)] == [True]
    assert played.seen(StatusChanged)[-1].status is Status.IDLE


# --- aborting -----------------------------------------------------------------------------------


def abort(played: Played) -> list[Event]:
    return played.wants(Abort(session=SESSION, effect=EffectId("abort")))


def test_an_abort_is_escape_and_settled_by_the_transcript() -> None:
    played = Played().started()
    played.hook("UserPromptSubmit", prompt="task", prompt_id="p1")
    assert abort(played) == []
    assert played.keys == [b"\x1b"]
    text = "[Request interrupted by user for tool use]"
    played.writes({"type": "user", "message": {"content": [{"type": "text", "text": text}]}})
    assert [event.effect for event in played.seen(EffectSettled)] == ["abort"]


def test_no_key_is_typed_when_the_turn_is_over_or_ends_by_itself() -> None:
    idle, ending = Played().started(), Played().started()
    ending.hook("UserPromptSubmit", prompt="task", prompt_id="p1")
    ending.writes(said("Over and over", "end_turn"))
    assert [type(event) for event in abort(idle)] == [EffectSettled]
    assert abort(ending) == []
    ending.hook("Stop", prompt_id="p1", last_assistant_message="Over and over")
    assert [event.effect for event in ending.seen(EffectSettled)] == ["abort"]
    assert idle.keys == ending.keys == []


# --- the person ---------------------------------------------------------------------------------


def test_a_slash_command_is_answered_and_never_reaches_the_model() -> None:
    played = Played().started()
    call = played.hook("UserPromptSubmit", prompt="/loopguard:goal make it work", prompt_id="p1")
    (asked,) = played.seen(Asked)
    assert (asked.operation, asked.arguments, asked.surface) == (
        "goal.command",
        {"text": "make it work"},
        Surface.SLASH,
    )
    assert not played.seen(UserSpoke)
    played.wants(Respond(session=SESSION, request=asked.request, ok=True, text="Goal set."))
    assert played.body(call) == {"decision": "block", "reason": "Goal set."}


def test_claude_codes_own_goal_command_is_its_own() -> None:
    played = Played().started()
    played.hook("UserPromptSubmit", prompt="/goal make it work", prompt_id="p1")
    assert not played.seen(Asked)


def test_notices_are_shown_by_the_next_hook_that_is_answered() -> None:
    played = Played().started()
    played.wants(Tell(text="Mind this."))
    call = played.hook("UserPromptSubmit", prompt="task", prompt_id="p1")
    assert played.body(call)["systemMessage"] == "loopguard: Mind this."
    assert played.body(played.hook("SubagentStart")) is None


def test_standing_text_goes_with_a_prompt_until_it_was_read() -> None:
    played = Played().started()
    played.wants(SetContext(session=SESSION, system="The goal."))
    first = played.hook("UserPromptSubmit", prompt="task", prompt_id="p1")
    second = played.hook("UserPromptSubmit", prompt="more", prompt_id="p2")
    assert feedback(played.body(first)) == "The goal."
    assert played.body(second) is None


def test_a_summary_in_the_middle_of_a_turn_is_no_end_of_it() -> None:
    played = Played().started()
    played.hook("UserPromptSubmit", prompt="Go on.")
    before = len(played.seen(StatusChanged))
    played.hook("SessionStart", source="compact")
    assert len(played.seen(StatusChanged)) == before
    played.hook("SessionStart", source="clear")
    assert played.seen(StatusChanged)[-1].status is Status.IDLE
